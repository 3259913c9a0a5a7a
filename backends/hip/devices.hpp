// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "backends/gpu/device_table.hpp"
#include "backends/hip/runtime.hpp"
#include "hip/launch.hpp"

namespace detgemm::hip {

inline Result<DeviceFacts> current_device() { return gpu::current_device<Hip>(); }

/// The chip whose kernels run on the device, or a sentence that names the one it has.
Result<Chip> chip_of(const DeviceFacts& device);

/// A chip's kernels on a device, in the order of kernel_names.
using Functions = std::vector<Function>;

/// The kernels of the current device `ordinal`, which is a `chip`. They are loaded once per
/// context, and not while a stream is being captured.
Result<std::shared_ptr<const Functions>> kernels_of(int ordinal, Chip chip);

/// Enqueues a launch on the current device `ordinal`. If the runtime says that the kernels are no
/// longer valid, they are loaded again, once, and the launch is repeated.
///
/// HIP does not number contexts. A hipDeviceReset therefore shows in nothing but this error, and
/// plans that were made before it keep working by way of it. A launch that is refused with such an
/// error has done nothing, so repeating it is safe. While the stream is being captured nothing can
/// be loaded, and the error is returned.
Status launch(int ordinal, Chip chip, const Launch& what, StreamHandle stream);

}  // namespace detgemm::hip

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/hip/runtime.hpp"
#include "hip/launch.hpp"

namespace detgemm::hip {

/// A failed call as a Status; forgets the runtime's record of it, which is no later call's affair.
Status failed(std::string_view what, Error error);

/// ok, or why no HIP device can be used here: no runtime, no device.
Status runtime_status();

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  std::string architecture;  ///< as the runtime names it: "gfx942:sramecc+:xnack-"
  int units = 0;             ///< compute units
  std::size_t memory = 0;

  /// "gfx942"
  std::string processor() const { return architecture.substr(0, architecture.find(':')); }
};

Result<DeviceFacts> facts_of(int ordinal);
/// Of the calling thread's current device.
Result<DeviceFacts> current_device();

/// The chip whose kernels run on the device, or a sentence that names the one it has.
Result<Chip> chip_of(const DeviceFacts& device);

/// The kernels of the current device, in the order of kernel_names; loaded once for each device of
/// a process. Not to be called during a capture.
Result<const std::vector<Function>*> kernels_of(const DeviceFacts& device);

}  // namespace detgemm::hip

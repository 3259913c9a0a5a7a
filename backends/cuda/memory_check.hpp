// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "detgemm/gemm_spec.hpp"

namespace detgemm::cuda {

/// ok, or which argument of a run is not where a plan of `device` can use it: another current
/// device, a stream of another device, an array in another device's memory or the host's. Only
/// what the spec reads or writes is looked at. Costs one query of the driver each; neither
/// synchronises nor disturbs a capture.
Status check_place(const GemmSpec& spec, const Operands& operands, cudaStream_t stream, int device);

/// The same for one array, which the sentence calls `what`.
Status check_array_place(std::string_view what, const void* data, int device);

}  // namespace detgemm::cuda

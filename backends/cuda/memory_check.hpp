// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "backends/cuda/runtime.hpp"
#include "backends/gpu/address_rules.hpp"

namespace detgemm::cuda {

/// ok, or which argument of a run is not where a plan of `device` can use it; see
/// backends/gpu/address_rules.hpp.
inline Status check_place(const GemmSpec& spec, const Operands& operands, cudaStream_t stream,
                          int device) {
  if (Status s = gpu::check_stream<Cuda>(stream, device); !s) return s;
  if (Status s = gpu::check_factors<Cuda>(spec, operands, device); !s) return s;
  return gpu::check_outputs<Cuda>(spec, operands, device);
}

/// The same for one array, which the sentence calls `what`.
inline Status check_array_place(std::string_view what, const void* data, int device) {
  return gpu::check_array<Cuda>(what, data, device);
}

}  // namespace detgemm::cuda

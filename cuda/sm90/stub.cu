// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "cuda/launch.hpp"

/// Stands where the kernels will: everything is refused, nothing is launched.
namespace detgemm::cuda {

std::span<const std::string_view> sm90_chain_kernels() {
  static constexpr std::array<std::string_view, 1> names{"stub"};
  return names;
}

std::string sm90_describe(const GemmArguments&, DType, const LaunchOptions&) { return "stub"; }

cudaError_t sm90_prepare() { return cudaErrorNotSupported; }

cudaError_t sm90_chain(const GemmArguments&, DType, const LaunchOptions&) {
  return cudaErrorNotSupported;
}

}  // namespace detgemm::cuda

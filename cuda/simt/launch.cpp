// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/launch.hpp"

#include <array>

#include "cuda/simt/choose.hpp"
#include "cuda/simt/kernels.hpp"

namespace detgemm::cuda {
namespace {

using namespace simt;

const void* find(DType input, int tile, bool a_along, bool b_along) {
  if (input == DType::bf16) return kernel_of_type<DType::bf16>(tile);
  if (input == DType::fp16) return kernel_of_type<DType::fp16>(tile);
  if (tile >= kLargeTiles) return kernel_of_type<DType::fp32>(tile);
  if (a_along) return b_along ? large_kernel<true, true>(tile) : large_kernel<true, false>(tile);
  return b_along ? large_kernel<false, true>(tile) : large_kernel<false, false>(tile);
}

}  // namespace

std::span<const std::string> simt_kernels() {
  static const auto names = [] {
    std::array<std::string, kTiles.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = name(kTiles[i]);
    return all;
  }();
  return names;
}

std::string simt_describe(const GemmArguments& g, DType input, const LaunchOptions& options) {
  const Decision d = choose(g, input, options.sms, options.forced);
  return d.ok ? "simt/" + name(kTiles[static_cast<std::size_t>(d.tile)]) : "none";
}

cudaError_t simt_prepare() {
  for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
    for (int tile = 0; tile < kTileCount; ++tile) {
      for (int ways = 0; ways < 4; ++ways) {
        const void* kernel = find(input, tile, ways % 2 != 0, ways / 2 != 0);
        if (kernel == nullptr) continue;
        const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostShared);
        if (error != cudaSuccess) return error;
      }
    }
  }
  return cudaSuccess;
}

cudaError_t simt_gemm(const GemmArguments& g, DType input, const LaunchOptions& options) {
  if (g.m == 0 || g.n == 0) return cudaSuccess;
  const Decision d = choose(g, input, options.sms, options.forced);
  if (!d.ok) return cudaErrorNotSupported;
  Params params = make_params(g, input, d);
  void* list[] = {&params};
  return cudaLaunchKernel(
      find(input, d.tile, params.a.along, params.b.along), dim3(static_cast<unsigned>(d.grid)),
      dim3(static_cast<unsigned>(kTiles[static_cast<std::size_t>(d.tile)].threads())), list,
      static_cast<std::size_t>(d.shared_bytes), options.stream);
}

}  // namespace detgemm::cuda

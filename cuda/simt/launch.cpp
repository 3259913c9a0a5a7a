// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <iterator>

#include "cuda/simt/choose.hpp"
#include "cuda/simt/kernels.hpp"

namespace detgemm::cuda::simt {
namespace {

const void* find(DType input, int tile, bool a_along, bool b_along) {
  if (input == DType::bf16) return kernel_of_type<DType::bf16>(tile);
  if (input == DType::fp16) return kernel_of_type<DType::fp16>(tile);
  if (kTiles[static_cast<std::size_t>(tile)].lines) {
    constexpr const void* (*kParts[])(int) = {line_kernel<0>, line_kernel<1>, line_kernel<2>};
    static_assert(std::size(kParts) == kLineParts, "Every part is listed.");
    return kParts[tile % kLineParts](tile);
  }
  if (tile >= kLargeTiles) return kernel_of_type<DType::fp32>(tile);
  if (a_along) return b_along ? large_kernel<true, true>(tile) : large_kernel<true, false>(tile);
  return b_along ? large_kernel<false, true>(tile) : large_kernel<false, false>(tile);
}

}  // namespace

std::span<const KernelInfo> kernels() {
  static const auto all = [] {
    std::vector<KernelInfo> list;
    for (const Tile& t : kTiles) {
      list.push_back({name(t), Family::simt, static_cast<int>(list.size())});
    }
    return list;
  }();
  return all;
}

std::string name(const Decision& d) {
  return "simt/" + name(kTiles[static_cast<std::size_t>(d.kernel)]) + (d.swapped ? "/swapped" : "");
}

std::vector<Decision> compiled(Family) {
  std::vector<Decision> all;
  Decision d;
  for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
    d.input = input;
    for (d.kernel = 0; d.kernel < kTileCount; ++d.kernel) {
      for (const int majors : {0, 1, 2, 3}) {
        d.x_mn = majors % 2 != 0;
        d.y_mn = majors / 2 != 0;
        all.push_back(d);
      }
    }
  }
  return all;
}

Kernel kernel_of(const Decision& d) {
  const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
  return {find(d.input, d.kernel, !d.x_mn, !d.y_mn), t.threads(), kMaxShared};
}

cudaError_t launch(const Kernel& kernel, const Decision& d, const Call& call) {
  Kernel with = kernel;  // as much shared memory as this problem needs
  with.shared_bytes = d.shared_bytes;
  Params params = make_params(call.g(), d);
  void* arguments[] = {&params};
  return cuda::launch(with, d.grid, {call.options.stream, false}, arguments);
}

}  // namespace detgemm::cuda::simt

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/mma/choose.hpp"
#include "cuda/mma/kernels.hpp"

namespace detgemm::cuda::mma {
namespace {

template <DType T>
const void* find_for(int tile, bool leaves) {
  return leaves ? kernel_of_type<T, true>(tile) : kernel_of_type<T, false>(tile);
}
const void* find(DType input, int tile, bool leaves) {
  if (input == DType::tf32) return find_for<DType::tf32>(tile, leaves);
  return input == DType::bf16 ? find_for<DType::bf16>(tile, leaves)
                              : find_for<DType::fp16>(tile, leaves);
}

}  // namespace

std::span<const KernelInfo> kernels() {
  static const auto all = [] {
    std::vector<KernelInfo> list;
    for (const Tile& t : kTiles) {
      list.push_back({name(t), Family::mma, static_cast<int>(list.size())});
    }
    return list;
  }();
  return all;
}

std::string name(const Decision& d) {
  return name(kTiles[static_cast<std::size_t>(d.kernel)]) + (d.leaves ? "/leaves" : "");
}

std::vector<Decision> compiled(Family family) {
  std::vector<Decision> all;
  Decision d;
  d.family = family;
  for (const DType input : {DType::bf16, DType::fp16, DType::tf32}) {
    d.input = input;
    for (d.kernel = 0; d.kernel < kTileCount; ++d.kernel) {
      const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
      if (input == DType::tf32 && !t.tf32) continue;
      d.leaves = false;
      all.push_back(d);
      d.leaves = true;
      if (t.leaves) all.push_back(d);
    }
  }
  return all;
}

Kernel kernel_of(const Decision& d) {
  const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
  return {find(d.input, d.kernel, d.leaves), t.threads(), t.ring_bytes()};
}

cudaError_t launch(const Kernel& kernel, const Decision& d, const Call& call) {
  Params params = make_params(call.g(), d, call.workspace);
  void* arguments[] = {&params};
  return cuda::launch(kernel, d.grid, call.portable_queue(), arguments);
}

}  // namespace detgemm::cuda::mma

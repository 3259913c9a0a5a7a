// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/mma/choose.hpp"
#include "cuda/mma/kernels.hpp"

namespace detgemm::cuda::mma {
namespace {

template <DType T>
const void* find_for(const Decision& d) {
  if (is_along(d)) {
    return d.leaves ? kernel_of_type<T, true, true>(d.kernel)
                    : kernel_of_type<T, false, true>(d.kernel);
  }
  return d.leaves ? kernel_of_type<T, true, false>(d.kernel)
                  : kernel_of_type<T, false, false>(d.kernel);
}
const void* find(const Decision& d) {
  if (d.input == DType::tf32) return find_for<DType::tf32>(d);
  return d.input == DType::bf16 ? find_for<DType::bf16>(d) : find_for<DType::fp16>(d);
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
    for (const int bits : {0, 1, 2, 3}) {
      d.input = input;
      d.leaves = bits % 2 != 0;
      d.x_mn = bits / 2 != 0;
      for (d.kernel = 0; d.kernel < kTileCount; ++d.kernel) {
        const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
        if (has_kernel(t, input, d.leaves, is_along(d))) all.push_back(d);
      }
    }
  }
  return all;
}

Kernel kernel_of(const Decision& d) {
  const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
  return {find(d), t.threads(), shared_for(t, 1)};
}

cudaError_t launch(const Kernel& kernel, const Decision& d, const Call& call) {
  const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
  const Queue queue = call.portable_queue();
  Kernel with = kernel;
  with.shared_bytes = t.ring_bytes();
  if (queue.overlap) {
    // CTAs that begin while an earlier launch ends would gather where it left room.
    const int each = (d.grid + call.options.sms - 1) / call.options.sms;
    with.shared_bytes = shared_for(t, each);
  }
  Params params = make_params(call.g(), d, call.workspace);
  void* arguments[] = {&params};
  return cuda::launch(with, d.grid, queue, arguments);
}

}  // namespace detgemm::cuda::mma

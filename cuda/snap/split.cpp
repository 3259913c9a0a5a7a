// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/snap/split.hpp"

#include <algorithm>

#include "cuda/snap/snap.hpp"

namespace detgemm::cuda::snap {
namespace {

/// Bytes that can be loaded at a time in lines whose neighbours are `apart` bytes from each other.
int bytes_at_a_time(std::uintptr_t at, std::uintptr_t apart, int one) {
  for (const int bytes : {16, 8, 4}) {
    if ((at | apart) % static_cast<unsigned>(bytes) == 0) return bytes;
  }
  return one;
}

}  // namespace

SplitOperand split_operand(const void* from, DType type, std::int64_t from_vector,
                           std::int64_t from_k, void* to, std::int64_t vectors, std::int64_t k,
                           const Snap3Copies& copies, bool of_a) {
  const int one = static_cast<int>(size_of(type));
  SplitOperand o;
  o.from = from;
  o.to = static_cast<std::uint16_t*>(to);
  o.vectors = vectors;
  o.k = k;
  // Strides along an extent of one number mean nothing.
  o.from_vector = vectors > 1 ? from_vector : 0;
  o.from_k = k > 1 ? from_k : 1;
  o.to_vector = copies.k;
  o.leaf = copies.leaf_k;
  o.leaves = copies.leaves;
  o.of_a = of_a;
  o.across = o.from_k != 1 && vectors > 1;
  o.from_bytes =
      o.from_k != 1
          ? one
          : bytes_at_a_time(reinterpret_cast<std::uintptr_t>(from),
                            static_cast<std::uintptr_t>(o.from_vector) * static_cast<unsigned>(one),
                            one);
  return o;
}

cudaError_t enqueue(const SplitOperand& o, DType type, int sms, const Queue& queue) {
  const std::int64_t leaves = o.vectors * o.leaves;
  if (leaves == 0) return cudaSuccess;
  int index = 0;
  while (kSplitLeaves[index] != 0 && kSplitLeaves[index] < o.leaf) ++index;
  const std::int64_t ctas = ceil_div(leaves, kThreads / 32);
  const int grid =
      static_cast<int>(std::min<std::int64_t>(ctas, std::int64_t{2 * kCtasPerSm} * sms));
  SplitOperand argument = o;
  void* arguments[] = {&argument};
  return cuda::launch(split_kernel(index, type == DType::fp32), grid, queue, arguments);
}

}  // namespace detgemm::cuda::snap

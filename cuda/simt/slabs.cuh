// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::cuda::simt {

/// The slabs of a tile in order. A leaf begins a new slab, so that the last slab of a leaf may be
/// short and no slab crosses a boundary.
///
///   k:      0        8        16  20       28       36  40 ...        k = 8, leaves of 20
///   slabs:  |--------|--------|---|--------|--------|---|
template <bool kLeaves>
class Slabs {
 public:
  __device__ __forceinline__ Slabs(std::int64_t k, std::int64_t leaf_k)
      : left_(k), leaf_k_(leaf_k), in_leaf_(leaf_k < k ? leaf_k : k) {}

  /// Whether the next slab has `count` products.
  __device__ __forceinline__ bool whole(int count) const {
    return (kLeaves ? in_leaf_ : left_) >= count;
  }
  /// Takes the next slab, of at most `max` products, and returns its number of products; 0 at the
  /// end.
  __device__ __forceinline__ int next(int max) {
    const std::int64_t left = kLeaves ? in_leaf_ : left_;
    const int count = left < max ? static_cast<int>(left) : max;
    take(count);
    return count;
  }
  __device__ __forceinline__ void take(int count) {
    left_ -= count;
    if constexpr (kLeaves) {
      in_leaf_ -= count;
      if (in_leaf_ == 0) in_leaf_ = leaf_k_ < left_ ? leaf_k_ : left_;
    }
  }

 private:
  std::int64_t left_, leaf_k_, in_leaf_;
};

}  // namespace detgemm::cuda::simt

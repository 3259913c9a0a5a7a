// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaf_tile.hpp"
#include "cuda/sm90/mainloop.cuh"
#include "cuda/sm90/ptx/cluster.cuh"

// Sums of leaves on their way: they wait for their sibling, or travel to the CTA that combines
// them. A slot holds the accumulators of a tile, 16 bytes a thread and piece, so that neighbouring
// threads touch neighbouring bytes. Every add is one fp32 add to nearest even, left operand first.

namespace detgemm::cuda::sm90 {

__device__ __forceinline__ float4 add(float4 left, float4 right) {
  return {arithmetic::add_rn(left.x, right.x), arithmetic::add_rn(left.y, right.y),
          arithmetic::add_rn(left.z, right.z), arithmetic::add_rn(left.w, right.w)};
}

__device__ __forceinline__ float4 load_shared(std::uint32_t from) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(from)
               : "memory");
  return v;
}
__device__ __forceinline__ void store_shared(std::uint32_t to, float4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z),
               "f"(v.w)
               : "memory");
}

/// Calls `piece(offset, four accumulators)` for all pieces of this thread; offset in bytes in a
/// slot. Threads whose rows were not loaded have none.
template <class T, class Piece>
__device__ __forceinline__ void for_pieces(int group, Accumulators<T>& acc, Piece&& piece) {
  const int thread = threadIdx.x % 128;
  if (T::kHolding < 128 && thread >= T::kHolding) return;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < T::kN / 8; ++j) {
      const int at = (((group * T::kBlocks + i) * (T::kN / 8) + j) * T::kHolding + thread) * 16;
      piece(at, acc[i] + 4 * j);
    }
  }
}

__device__ __forceinline__ float4 four(const float* d) { return {d[0], d[1], d[2], d[3]}; }
__device__ __forceinline__ void set_four(float* d, float4 v) {
  d[0] = v.x;
  d[1] = v.y;
  d[2] = v.z;
  d[3] = v.w;
}

/// Where the slots of a CTA lie.
template <class T>
struct LeafShared {
  std::uint32_t slots;
  std::uint32_t arrived;  ///< a barrier: parts of the cluster have come; then a word

  __device__ explicit LeafShared(const SharedLayout<T>& shared)
      : slots(shared.epilogue + T::kStagingBytes), arrived(slots + T::kSlots * T::kSlotBytes) {}
  __device__ std::uint32_t slot(int i) const { return slots + i * T::kSlotBytes; }
};

/// Sums that wait for their sibling in a tree: a stack, its lower levels in shared memory, the rest
/// in the workspace. Only the thread that stored a sum reads it.
template <class T>
struct WaitingSums {
  const LeafShape& leaf;
  const LeafShared<T>& shared;
  int group;
  int depth = 0;

  __device__ char* slot_in_workspace(int level) const {
    const std::int64_t slot = std::int64_t{blockIdx.x} * leaf.levels + level;
    return static_cast<char*>(leaf.waiting) + slot * T::kSlotBytes;
  }
  __device__ void push(Accumulators<T>& sum) {
    if (depth < leaf.shared_levels) {
      const std::uint32_t to = shared.slot(T::kSlots - 1 - depth);
      for_pieces<T>(group, sum, [&](int at, const float* d) { store_shared(to + at, four(d)); });
    } else {
      char* to = slot_in_workspace(depth);
      for_pieces<T>(group, sum,
                    [&](int at, const float* d) { *reinterpret_cast<float4*>(to + at) = four(d); });
    }
    ++depth;
  }
  /// `sum` becomes the popped one plus itself.
  __device__ void pop_into(Accumulators<T>& sum) {
    --depth;
    if (depth < leaf.shared_levels) {
      const std::uint32_t from = shared.slot(T::kSlots - 1 - depth);
      for_pieces<T>(group, sum,
                    [&](int at, float* d) { set_four(d, add(load_shared(from + at), four(d))); });
    } else {
      const char* from = slot_in_workspace(depth);
      for_pieces<T>(group, sum, [&](int at, float* d) {
        set_four(d, add(__ldcg(reinterpret_cast<const float4*>(from + at)), four(d)));
      });
    }
  }
};

/// The sum of a tile's parts: `part(i)` gives four accumulators of part i, which are leaves of a
/// fold from `first`, or subtrees that make a full tree.
template <class Part>
__device__ __forceinline__ float4 sum_of_parts(const LeafShape& leaf, Part&& part) {
  if (!leaf.tree) {
    float4 sum = part(0);
    for (int i = 1; i < leaf.parts; ++i) sum = add(sum, part(i));
    return sum;
  }
  const float4 p01 = add(part(0), part(1));
  if (leaf.parts == 2) return p01;
  const float4 p0123 = add(p01, add(part(2), part(3)));
  if (leaf.parts == 4) return p0123;
  return add(p0123, add(add(part(4), part(5)), add(part(6), part(7))));
}

}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/tile.hpp"
#include "cuda/sm90/pipeline/mainloop.cuh"
#include "cuda/sm90/ptx/arithmetic.cuh"
#include "cuda/sm90/ptx/cluster.cuh"
#include "cuda/sm90/ptx/memory.cuh"

// What becomes of the sums of leaves: they wait for their sibling, or travel to the CTA that
// combines them. A slot holds the accumulators of a tile, as pieces of 16 bytes per thread, so that
// neighbouring threads touch neighbouring bytes. Every add is one fp32 add to nearest even, with
// the left operand first.

namespace detgemm::cuda::sm90 {

__device__ __forceinline__ float4 add(float4 left, float4 right) {
  return {arithmetic::add_rn(left.x, right.x), arithmetic::add_rn(left.y, right.y),
          arithmetic::add_rn(left.z, right.z), arithmetic::add_rn(left.w, right.w)};
}

/// Calls `piece(offset, four accumulators)` for all pieces of this thread, where the offset is in
/// bytes from the start of a slot. Threads whose rows were not loaded have no pieces.
///
///   slot: (kGroups * kBlocks, kN / 8, kHolding threads) pieces of 16 bytes
template <class T, class A, class Piece>
__device__ __forceinline__ void for_pieces(int group, A& acc, Piece&& piece) {
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

/// Four accumulators as one piece, and back.
__device__ __forceinline__ float4 to_piece(const float* d) { return {d[0], d[1], d[2], d[3]}; }
__device__ __forceinline__ void from_piece(float* d, float4 v) {
  d[0] = v.x;
  d[1] = v.y;
  d[2] = v.z;
  d[3] = v.w;
}

/// Where the slots of a CTA are:
///
///   | staging of D | kSlots slots of kSlotBytes | arrived, word | c_arrived |
template <class T>
struct LeafShared {
  std::uint32_t epilogue;   ///< as in SharedLayout
  std::uint32_t slots;      ///< for parts that arrive and sums that wait
  std::uint32_t arrived;    ///< a barrier: the cluster's parts are here; then a word for the grid's
  std::uint32_t c_arrived;  ///< barriers, one per warp and box: C is in the box

  __device__ explicit LeafShared(const SharedLayout<T>& shared)
      : epilogue(shared.epilogue),
        slots(epilogue + T::kStagingBytes),
        arrived(slots + T::kSlots * T::kSlotBytes),
        c_arrived(arrived + 16) {}
  __device__ std::uint32_t slot(int i) const { return slots + i * T::kSlotBytes; }
};

/// sum = sum + value, in the sum's own registers: to copy every register of a leaf would take as
/// long again as the adds.
template <class T>
__device__ __forceinline__ void add_to(Accumulators<T>& sum, const Accumulators<T>& value) {
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < T::kN / 2; ++j) ptx::add_rn_f32(sum[i][j], value[i][j]);
  }
}

/// Sums that wait outside of registers for their sibling in a tree, by level: the lower levels in
/// shared memory, the rest in the workspace. Only the thread that stored a sum reads it.
template <class T>
struct WaitingSums {
  const LeafShape& leaf;
  const LeafShared<T>& shared;
  int group;

  __device__ __forceinline__ void store(int level, const Accumulators<T>& sum) {
    if (T::kBoxesInSlot && level < leaf.shared_levels) {  // TMA may still read the last tile's D
      if (threadIdx.x % 32 == 0) ptx::tma_store_wait_read<0>();
      ptx::bar_sync(kGroupBarrier + group, 128);
    }
    at_level(level, [&](auto&&, auto&& save) {
      for_pieces<T>(group, sum, [&](int at, const float* d) { save(at, to_piece(d)); });
    });
  }
  /// level = level + value.
  __device__ __forceinline__ void add(int level, const Accumulators<T>& value) {
    at_level(level, [&](auto&& load, auto&& save) {
      for_pieces<T>(group, value,
                    [&](int at, const float* v) { save(at, sm90::add(load(at), to_piece(v))); });
    });
  }
  /// sum = sum + level.
  __device__ __forceinline__ void add_to(Accumulators<T>& sum, int level) {
    at_level(level, [&](auto&& load, auto&&) {
      for_pieces<T>(group, sum,
                    [&](int at, float* d) { from_piece(d, sm90::add(to_piece(d), load(at))); });
    });
  }
  /// level below = level below + level. This goes piece by piece, because two more sets of
  /// registers would spill, and few trees are so deep.
  __device__ __forceinline__ void merge(int level) {
    at_level(level, [&](auto&& load, auto&&) {
      at_level(level - 1, [&](auto&& load_below, auto&& save) {
        const int thread = threadIdx.x % 128;
        if (T::kHolding < 128 && thread >= T::kHolding) return;
        const int at = (group * T::kBlocks * T::kN / 8 * T::kHolding + thread) * 16;
#pragma unroll 1
        for (int j = 0; j < T::kBlocks * T::kN / 8; ++j) {
          const int here = at + j * T::kHolding * 16;
          save(here, sm90::add(load_below(here), load(here)));
        }
      });
    });
  }

 private:
  template <class Act>
  __device__ __forceinline__ void at_level(int level, Act&& act) {
    if (level < leaf.shared_levels) {
      const std::uint32_t slot = shared.slot(T::kSlots - 1 - level);
      act([&](int at) { return ptx::ld_shared_v4_f32(slot + at); },
          [&](int at, float4 v) { ptx::st_shared_v4_f32(slot + at, v); });
    } else {
      char* slot = static_cast<char*>(leaf.waiting) +
                   (std::int64_t{blockIdx.x} * leaf.levels + level) * T::kSlotBytes;
      act([&](int at) { return __ldcg(reinterpret_cast<const float4*>(slot + at)); },
          [&](int at, float4 v) { *reinterpret_cast<float4*>(slot + at) = v; });
    }
  }
};

/// The sum of a tile's parts, where `part(i)` gives four accumulators of part i. The parts are the
/// leaves of a fold, or subtrees that make a full tree:
///
///   fold: ((p0 + p1) + p2) + ...          tree: ((p0 + p1) + (p2 + p3)) + ((p4 + p5) + (p6 + p7))
template <class Part>
__device__ __forceinline__ float4 sum_of_parts(const LeafShape& leaf, Part&& part) {
  const float4 p01 = add(part(0), part(1));
  if (leaf.parts == 2) return p01;
  if (!leaf.tree) {  // no loop: the compiler would write out so much that its kernels double
    const float4 p3 = add(add(p01, part(2)), part(3));
    if (leaf.parts == 4) return p3;
    return add(add(add(add(p3, part(4)), part(5)), part(6)), part(7));
  }
  const float4 p0123 = add(p01, add(part(2), part(3)));
  if (leaf.parts == 4) return p0123;
  return add(p0123, add(add(part(4), part(5)), add(part(6), part(7))));
}

}  // namespace detgemm::cuda::sm90

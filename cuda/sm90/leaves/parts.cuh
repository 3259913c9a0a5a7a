// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/sums.cuh"

// How the parts of a tile are combined. Both functions return true in the CTA that then holds the
// whole sum in `sum`.
//
//   cluster:  part 1 --st.async--> slot 0 of part 0 \                       .
//             part 2 --st.async--> slot 1 of part 0  > barrier > ((0 + 1) + (2 + 3)) in part 0
//             part 3 --st.async--> slot 2 of part 0 /
//
//   grid:     every part -> its slice of the workspace -> the tile's word. The last to arrive sums
//             the slices, part 0 first: in the order of the tree, never in order of arrival

namespace detgemm::cuda::sm90 {

/// Arms the barrier on which the other parts' bytes arrive; one thread of part 0 does so.
template <class T>
__device__ __forceinline__ void expect_parts(const LeafShape& leaf, const LeafShared<T>& shared) {
  ptx::mbarrier_init(shared.arrived, 1);
  if (leaf.split == Split::cluster && ptx::cluster_ctarank() == 0) {
    ptx::mbarrier_arrive_expect_tx(shared.arrived,
                                   static_cast<std::uint32_t>((leaf.parts - 1) * T::kSlotBytes));
  }
}

template <class T>
__device__ __forceinline__ bool combine_in_cluster(const LeafShape& leaf,
                                                   const LeafShared<T>& shared, int group,
                                                   Accumulators<T>& sum) {
  const std::uint32_t rank = ptx::cluster_ctarank();
  if (rank != 0) {
    const std::uint32_t to = ptx::mapa(shared.slot(static_cast<int>(rank) - 1), 0);
    const std::uint32_t barrier = ptx::mapa(shared.arrived, 0);
    for_pieces<T>(group, sum,
                  [&](int at, const float* d) { ptx::st_async(to + at, to_piece(d), barrier); });
    return false;
  }
  ptx::mbarrier_wait(shared.arrived, 0);
  for_pieces<T>(group, sum, [&](int at, float* d) {
    from_piece(d, sum_of_parts(leaf, [&](int i) {
                 return i == 0 ? to_piece(d) : ptx::ld_shared_v4_f32(shared.slot(i - 1) + at);
               }));
  });
  return true;
}

/// Counts an arrival at a tile's word and says whether it was the last of the launch. The word
/// holds the number of the launch above the count, so that it may begin with any value. The last
/// arrival clears it.
__device__ __forceinline__ bool arrives_last(std::uint64_t* word, std::uint64_t launch, int parts) {
  auto* at = reinterpret_cast<unsigned long long*>(word);
  unsigned long long seen = *reinterpret_cast<volatile unsigned long long*>(at);
  while (true) {
    const unsigned long long next = seen >> 8 == launch ? seen + 1 : launch << 8 | 1;
    const unsigned long long before = atomicCAS(at, seen, next);
    if (before == seen) {
      const bool last = static_cast<int>(next & 255) == parts;
      if (last) atomicExch(at, 0ULL);
      return last;
    }
    seen = before;
  }
}

/// One thread arrives for its CTA, between two fences: the barrier orders the stores of the others
/// before the first fence, which releases them with the count, and the second one acquires those of
/// the other CTAs for all threads behind the barrier that follows.
///
///   all:  store slice | bar |                                    | bar | load slices
///   one:  store slice | bar | fence -> count -> fence -> last?   | bar | load slices
template <class T>
__device__ __forceinline__ bool combine_in_workspace(const LeafShape& leaf,
                                                     const LeafShared<T>& shared, int tile,
                                                     int part, int group, Accumulators<T>& sum) {
  char* slices = static_cast<char*>(leaf.slices) + std::int64_t{tile} * leaf.parts * T::kSlotBytes;
  char* mine = slices + std::int64_t{part} * T::kSlotBytes;
  for_pieces<T>(group, sum, [&](int at, const float* d) {
    __stcg(reinterpret_cast<float4*>(mine + at), to_piece(d));
  });
  constexpr int kThreads = T::kGroups * 128;
  const std::uint32_t word = shared.arrived + 8;
  ptx::bar_sync(kPartsBarrier, kThreads);
  if (threadIdx.x == 128) {
    __threadfence();
    const std::uint32_t last = arrives_last(leaf.arrived + tile, leaf.launch, leaf.parts) ? 1 : 0;
    __threadfence();
    ptx::st_shared_u32(word, last);
  }
  ptx::bar_sync(kPartsBarrier, kThreads);
  if (ptx::ld_shared_u32(word) == 0) return false;
  for_pieces<T>(group, sum, [&](int at, float* d) {
    from_piece(d, sum_of_parts(leaf, [&](int i) {
                 return __ldcg(reinterpret_cast<const float4*>(
                     slices + std::int64_t{i} * T::kSlotBytes + at));
               }));
  });
  return true;
}

}  // namespace detgemm::cuda::sm90

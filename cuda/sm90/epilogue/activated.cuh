// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "cuda/sm90/epilogue/pieces.hpp"
#include "cuda/sm90/epilogue/plain.cuh"
#include "cuda/sm90/epilogue/rounded.cuh"

namespace detgemm::cuda::sm90 {

/// How activated outputs leave the accumulators of a group: a chunk is what one stmatrix of a warp
/// takes, 16 rows of 16 columns, or of 8 where the tile is as narrow. Where chunks of 16 do not cut
/// it evenly the last one begins 8 columns earlier.
template <class T>
struct Chunks {
  static constexpr int kColumns = T::kActivatedSlab == 8 ? 8 : 16;
  static constexpr int kEach = kColumns / 2;  ///< accumulators of a thread
  static constexpr int kPairs = kEach / 2;
  static constexpr int kAcross = (T::kN + kColumns - 1) / kColumns;
  static constexpr int kCount = T::kBlocks * kAcross;
  /// The first column of a chunk, or of the box that begins with it.
  static constexpr __host__ __device__ int column(int chunk, int width) {
    const int first = chunk % kAcross * kColumns;
    return first < T::kN - width ? first : T::kN - width;
  }
};

/// Copies the accumulators of chunk `chunk` to `v`. Registers have no index at run time, so the
/// chunk is found by halving; only the copies are written out for each.
template <class T, int kFirst = 0, int kLast = Chunks<T>::kCount - 1>
__device__ __forceinline__ void take_chunk(int chunk, const Accumulators<T>& acc,
                                           float (&v)[Chunks<T>::kEach]) {
  using C = Chunks<T>;
  if constexpr (kFirst == kLast) {
#pragma unroll
    for (int i = 0; i < C::kEach; ++i) {
      ptx::copy(v[i], acc[kFirst / C::kAcross][C::column(kFirst, C::kColumns) / 2 + i]);
    }
  } else {
    constexpr int kMiddle = (kFirst + kLast) / 2;
    if (chunk <= kMiddle) {
      take_chunk<T, kFirst, kMiddle>(chunk, acc, v);
    } else {
      take_chunk<T, kMiddle + 1, kLast>(chunk, acc, v);
    }
  }
}

/// Activates a thread's part of a chunk and rounds it. Pairs of outputs that the approximation does
/// not decide, and all of an activation that has none, take the contract's operations, a pair at a
/// time: their code is long and exists once.
template <int kPairs>
__device__ __forceinline__ void activate_chunk(Activation activation, DType output,
                                               const float (&v)[2 * kPairs],
                                               std::uint32_t (&packed)[kPairs]) {
  std::uint32_t unknown = (1U << kPairs) - 1;  // one bit per pair
  if (Logistic::is(activation)) {
    const auto approximate = [&](DType type) {
      // Values of its own, or the compiler takes the first pair out of both branches and the others
      // wait for it.
      Logistic logistic = Logistic::of(activation);
      ptx::pin(logistic.a);
      ptx::pin(logistic.b);
      unknown = 0;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const bool known = activate_rounded(logistic, v[2 * i], v[2 * i + 1], type, packed[i]);
        unknown |= known ? 0U : 1U << i;
      }
    };
    if (output == DType::bf16) {
      approximate(DType::bf16);
    } else {
      approximate(DType::fp16);
    }
  }
#pragma unroll 1
  for (; unknown != 0; unknown &= unknown - 1) {
    const int pair = __ffs(static_cast<int>(unknown)) - 1;
    float low = v[0], high = v[1];
#pragma unroll
    for (int i = 1; i < kPairs; ++i) {
      low = pair == i ? v[2 * i] : low;
      high = pair == i ? v[2 * i + 1] : high;
    }
    if (activation == Activation::silu) {
      low = arithmetic::silu(low), high = arithmetic::silu(high);
    } else if (activation == Activation::gelu_tanh) {
      low = arithmetic::gelu_tanh(low), high = arithmetic::gelu_tanh(high);
    } else {
      low = arithmetic::gelu(low), high = arithmetic::gelu(high);
    }
    const std::uint32_t both = pack(low, high, output);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) packed[i] = pair == i ? both : packed[i];
  }
}

/// As store_tile for 16-bit D, with an activation between the accumulators and the boxes:
///
///   accumulators -> [ one chunk in registers -> activation -> rounded -> box ] -> TMA -> D
///                     '- a loop, so that the code of the activation exists once
///
/// Boxes are filled, stored and waited for as there, whichever way D's memory runs.
template <class T>
__device__ __forceinline__ void store_activated(const SharedLayout<T>& shared,
                                                const CUtensorMap& map, const LaunchShape& shape,
                                                Activation activation, int group, int& box_index,
                                                const Accumulators<T>& acc, int x0, int y0, int z) {
  using C = Chunks<T>;
  constexpr int kPerSlab = T::kActivatedSlab / C::kColumns;
  // As of here: addresses that are computed ahead of the main loop would take registers of a tile.
  std::uint32_t thread = threadIdx.x % 128;
  ptx::pin(thread);
  const bool along_x = shape.d_x_contiguous;
  const bool leader = (along_x ? thread : thread % 32) == 0;
  const auto sync = [&] {
    if (along_x) {
      ptx::bar_sync(kGroupBarrier + group, 128);
    } else {
      __syncwarp();
    }
  };
  std::uint32_t box = 0;
#pragma unroll 1
  for (int chunk = 0; chunk < C::kCount; ++chunk) {
    const int at = chunk % kPerSlab;  // in the slab
    if (at == 0) {
      box = shared.epilogue + group * T::kGroupBoxes + box_index * T::kBoxBytes;
      box_index = (box_index + 1) % T::kBoxes;
      if (leader) ptx::tma_store_wait_read<T::kBoxes - 1>();
      sync();
    }
    float v[C::kEach];
    take_chunk<T>(chunk, acc, v);
    std::uint32_t packed[C::kPairs] = {};
    activate_chunk<C::kPairs>(activation, shape.output, v, packed);
    __syncwarp();  // lanes part over pairs that are not decided
    stage_chunk_16<T>(box, along_x, at * (C::kColumns / 8), packed, thread % 32, thread / 32);
    if (at != kPerSlab - 1) continue;
    ptx::fence_proxy_async();
    sync();
    if (leader) {
      const int warp = static_cast<int>(thread / 32);
      const int x = x0 + (group * T::kBlocks + chunk / C::kAcross) * 64;
      const int y = y0 + C::column(chunk - at, T::kActivatedSlab);
      if (along_x) {
        store_box<T>(map, x, y, z, box);  // (kActivatedSlab, 64)
      } else {
        store_box<T>(map, y, x + warp * 16, z,
                     box + warp * 16 * (T::kActivatedSlab * 2));  // (16, kActivatedSlab)
      }
      ptx::tma_store_commit();
    }
  }
}

}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <type_traits>

#include "core/contract/compute_element.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/ptx/memory.cuh"
#include "cuda/sm90/ptx/mma.cuh"

// A tile of the kernels for operands that TMA cannot read. They have ordinary loads of single
// elements at any stride, 64-bit indices and mma.sync, and take the same steps in the same order as
// every other kernel:
//
//   acc = start -> [k 0..15] -> [k 16..31] -> ...        two steps per iteration of the loop
//   tf32: start -> [k 0..7] -> [k 8..15] -> ...          the same bytes, half as many products
//
// Under fold and tree that is a leaf from +0, and the leaves are added up as they end.
//
// A CTA of 8 warps computes 128 x 128 outputs, of which each warp has 64 x 32. While the tensor
// cores work on one block of 32 k, the loads of the next one are on their way to registers.

namespace detgemm::cuda::sm90::gather {

inline constexpr int kTile = kGatherTile;
inline constexpr int kThreads = 256;
inline constexpr int kPieceBytes = 32;               // of one row, along k
inline constexpr int kPitch = 2 * kPieceBytes + 16;  // bytes per row: ldmatrix meets no bank twice
inline constexpr int kOperandBytes = kTile * kPitch;
inline constexpr int kWarpX = 64, kWarpY = 32;
inline constexpr int kStagePitch = kWarpY + 8;  // floats
inline constexpr int kSharedBytes =
    2 * kOperandBytes > 8 * 8 * kStagePitch * 4 ? 2 * kOperandBytes : 8 * 8 * kStagePitch * 4;

/// A number as it is stored.
template <DType T>
using Stored = std::conditional_t<T == DType::tf32, std::uint32_t, std::uint16_t>;

/// One thread's piece of an operand's block, as it will be in shared memory: kPieceK k of one row.
struct Piece {
  std::uint32_t word[kPieceBytes / 4];
};
template <DType T>
inline constexpr int kPieceK = kPieceBytes / static_cast<int>(sizeof(Stored<T>));

/// Loads a piece of row `row` from `k0` on; what is outside of `rows` and `k` is zero.
template <DType T>
__device__ __forceinline__ Piece load_piece(const Stored<T>* data, std::int64_t rows,
                                            std::int64_t k, std::int64_t row_stride,
                                            std::int64_t k_stride, std::int64_t row,
                                            std::int64_t k0) {
  Piece piece;
  const Stored<T>* from = data + row * row_stride + k0 * k_stride;
  const bool inside = row < rows && k0 + kPieceK<T> <= k;
  if (inside && k_stride == 1 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
    const uint4 low = reinterpret_cast<const uint4*>(from)[0];
    const uint4 high = reinterpret_cast<const uint4*>(from)[1];
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    std::uint32_t word = 0;
    if constexpr (T == DType::tf32) {
      if (row < rows && k0 + i < k) word = from[i * k_stride];
    } else if (row < rows) {
      if (k0 + 2 * i < k) word = from[2 * i * k_stride];
      if (k0 + 2 * i + 1 < k) word |= std::uint32_t{from[(2 * i + 1) * k_stride]} << 16;
    }
    piece.word[i] = word;
  }
  return piece;
}

__device__ __forceinline__ void store_piece(unsigned char* operand, int row, int half,
                                            const Piece& piece) {
  auto* to = reinterpret_cast<uint4*>(operand + row * kPitch + half * kPieceBytes);
  to[0] = make_uint4(piece.word[0], piece.word[1], piece.word[2], piece.word[3]);
  to[1] = make_uint4(piece.word[4], piece.word[5], piece.word[6], piece.word[7]);
}

using Accumulators = float[4][4][4];  // (64, 32) per warp: 4 x 4 fragments of 16 x 8

/// Sums of leaves that wait for their sibling, in pieces of 16 bytes per thread and fragment.
struct Waiting {
  float4* slots;  ///< this CTA's: (levels, 16 fragments, kThreads)
  int depth = 0;

  __device__ float4* at(int fragment) const {
    return slots + (std::int64_t{depth} * 16 + fragment) * kThreads + threadIdx.x;
  }
  __device__ void push(const Accumulators& sum) {
#pragma unroll
    for (int f = 0; f < 16; ++f) {
      const float(&d)[4] = sum[f / 4][f % 4];
      *at(f) = make_float4(d[0], d[1], d[2], d[3]);
    }
    ++depth;
  }
  __device__ void pop_into(Accumulators& sum) {
    --depth;
#pragma unroll
    for (int f = 0; f < 16; ++f) {
      const float4 left = *at(f);
      float(&d)[4] = sum[f / 4][f % 4];
      d[0] = arithmetic::add_rn(left.x, d[0]);
      d[1] = arithmetic::add_rn(left.y, d[1]);
      d[2] = arithmetic::add_rn(left.z, d[2]);
      d[3] = arithmetic::add_rn(left.w, d[3]);
    }
  }
};

/// Adds `acc`, which is leaf `leaf`, to `sum`, the newest sum of the leaves before it, if there is
/// one.
__device__ __forceinline__ void add_leaf(const Reduction& reduction, std::int64_t leaf,
                                         std::int64_t leaves, const Accumulators& acc,
                                         Accumulators& sum, Waiting& waiting) {
  const bool tree = reduction.kind == ReductionKind::tree;
  int closed = tree ? nodes_closed_by(leaf, leaves) : 1;
  if (tree && leaf > 0 && closed == 0) waiting.push(sum);
#pragma unroll
  for (int f = 0; f < 64; ++f) {
    float& s = sum[f / 16][f / 4 % 4][f % 4];
    const float a = acc[f / 16][f / 4 % 4][f % 4];
    s = closed > 0 ? arithmetic::add_rn(s, a) : a;
  }
  for (; closed > 1; --closed) waiting.pop_into(sum);
}

/// Outputs of tile `tile`, in rows of `tiles_n`, by all threads of a CTA, which share `memory`.
/// With kLeaves, a fold or tree of leaves of whole steps; else one chain, which is the same with a
/// single leaf. With kMayBeEmpty, k may be 0 under leaves too: then there is no
/// leaf, and outputs are the start.
template <DType T, bool kLeaves, bool kMayBeEmpty = false>
__device__ __forceinline__ void compute_tile(const GemmArguments& g, const GatherLeaves& leaves,
                                             unsigned char* memory, std::int64_t tile,
                                             std::int64_t tiles_n) {
  constexpr int kK = 2 * kPieceK<T>;
  unsigned char* shared_a = memory;                  // (kTile, kK), pitch kPitch
  unsigned char* shared_b = memory + kOperandBytes;  // (kTile, kK), pitch kPitch
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / 4 * kWarpX;
  const int warp_col = warp % 4 * kWarpY;
  const std::int64_t row0 = tile / tiles_n * kTile;
  const std::int64_t col0 = tile % tiles_n * kTile;
  Accumulators acc, sum;
  Accumulators& start = kLeaves ? sum : acc;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const std::int64_t row = row0 + warp_row + i * 16 + e / 2 * 8 + lane / 4;
        const std::int64_t col = col0 + warp_col + j * 8 + lane % 4 * 2 + e % 2;
        start[i][j][e] = row < g.m && col < g.n ? start_value(g, row, col) : 0.0F;
      }
    }
  }
  const int row = threadIdx.x % kTile;
  const int half = threadIdx.x / kTile;
  const auto* a = static_cast<const Stored<T>*>(g.a);
  const auto* b = static_cast<const Stored<T>*>(g.b);
  const std::int64_t leaf_k = kLeaves ? g.reduction.leaf_k : g.k;
  const bool empty = kMayBeEmpty && kLeaves && g.k == 0;
  const std::int64_t leaf_count = empty ? 0 : kLeaves ? leaves_of(g.k, leaf_k) : 1;
  Waiting waiting{leaves.waiting + std::int64_t{blockIdx.x} * leaves.levels * 16 * kThreads};
#pragma unroll 1
  for (std::int64_t leaf = 0; leaf < leaf_count; ++leaf) {
    const std::int64_t end = kLeaves && (leaf + 1) * leaf_k < g.k ? (leaf + 1) * leaf_k : g.k;
    if constexpr (kLeaves) {
#pragma unroll
      for (int f = 0; f < 64; ++f) acc[f / 16][f / 4 % 4][f % 4] = 0.0F;
    }
    const auto load_a = [&](std::int64_t k0) {
      return load_piece<T>(a, g.m, end, g.as.row, g.as.col, row0 + row, k0 + half * kPieceK<T>);
    };
    const auto load_b = [&](std::int64_t k0) {
      return load_piece<T>(b, g.n, end, g.bs.col, g.bs.row, col0 + row, k0 + half * kPieceK<T>);
    };
    Piece next_a = load_a(leaf * leaf_k);
    Piece next_b = load_b(leaf * leaf_k);
    for (std::int64_t k0 = leaf * leaf_k; k0 < end; k0 += kK) {
      __syncthreads();
      store_piece(shared_a, row, half, next_a);
      store_piece(shared_b, row, half, next_b);
      __syncthreads();
      if (k0 + kK < end) {
        next_a = load_a(k0 + kK);
        next_b = load_b(k0 + kK);
      }
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        std::uint32_t fragment_a[4][4], fragment_b[2][4];  // (64, step) and (32, step)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = warp_row + i * 16 + lane % 16;
          ptx::ldmatrix_x4(fragment_a[i], ptx::shared_address(shared_a) + at * kPitch + step * 32 +
                                              lane / 16 * 16);
        }
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int at = warp_col + j * 16 + lane / 16 * 8 + lane % 8;
          ptx::ldmatrix_x4(fragment_b[j], ptx::shared_address(shared_b) + at * kPitch + step * 32 +
                                              lane / 8 % 2 * 16);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const std::uint32_t(&pair)[4] = fragment_b[j / 2];
            const std::uint32_t columns[2] = {pair[j % 2 * 2], pair[j % 2 * 2 + 1]};
            if constexpr (T == DType::tf32) {
              ptx::mma_m16n8k8_tf32(acc[i][j], fragment_a[i], columns);
            } else {
              ptx::mma_m16n8k16<T>(acc[i][j], fragment_a[i], columns);
            }
          }
        }
      }
    }
    if constexpr (kLeaves) add_leaf(g.reduction, leaf, leaf_count, acc, sum, waiting);
  }
  const Accumulators& result = kLeaves ? sum : acc;
  __syncthreads();
  auto* staging = reinterpret_cast<float*>(memory) + warp * 8 * kStagePitch;  // (8, kWarpY)
  const bool along_m = g.ds.row == 1 && g.ds.col != 1;
#pragma unroll
  for (int piece = 0; piece < 8; ++piece) {  // 8 rows of the warp's 64
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float* to = staging + lane / 4 * kStagePitch + j * 8 + lane % 4 * 2;
      to[0] = result[piece / 2][j][piece % 2 * 2];
      to[1] = result[piece / 2][j][piece % 2 * 2 + 1];
    }
    __syncwarp();
#pragma unroll 1
    for (int e = lane; e < 8 * kWarpY; e += 32) {
      const int r = along_m ? e % 8 : e / kWarpY;
      const int c = along_m ? e / 8 : e % kWarpY;
      const std::int64_t at_row = row0 + warp_row + piece * 8 + r;
      const std::int64_t at_col = col0 + warp_col + c;
      if (at_row < g.m && at_col < g.n) {
        finish_element(g, at_row, at_col, staging[r * kStagePitch + c]);
      }
    }
  }
  __syncthreads();
}

}  // namespace detgemm::cuda::sm90::gather

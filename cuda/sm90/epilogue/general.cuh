// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "cuda/sm90/epilogue/lines.cuh"
#include "cuda/sm90/epilogue/pieces.hpp"
#include "cuda/sm90/epilogue/rounded.cuh"

namespace detgemm::cuda::sm90 {

/// Starts accumulators from fp32 C, for `continue`. Outside of D the address is clamped instead of
/// skipping the load, and no branch chooses between C and +0: accumulators that reach the loop
/// along two paths make ptxas serialise every wgmma.
template <class T>
__device__ __forceinline__ void start_from_c(const GemmArguments& g, const LaunchShape& shape,
                                             int group, int x0, int y0, Accumulators<T>& acc) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const auto* c = static_cast<const float*>(g.c);
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_x = (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
      const int x = min(x0 + at_x, shape.x_rows - 1);
#pragma unroll
      for (int j = 0; j < T::kN / 4; ++j) {
        const int at_y = j / 2 * 8 + lane % 4 * 2 + j % 2;
        const int y = min(y0 + at_y, shape.y_rows - 1);
        acc[i][j / 2 * 4 + half * 2 + j % 2] = c[x * along_x + y * along_y];
      }
    }
    ptx::pin(acc[i]);
  }
}

/// A piece in shared memory, and how much of it is inside of D.
struct Piece {
  std::uint32_t at;  ///< (rows, pitch) of fp32
  int x, y;          ///< the first row and column
  int xs, ys;        ///< of the piece that are inside of D; they may be negative
};

/// Calls `act(e, x, y)` for the elements e, e + kThreads, ... of a piece. Lanes walk along x or
/// along y, whichever an array's memory does.
template <class P, class Act>
__device__ __forceinline__ void for_elements(bool along_x, int thread, Act&& act) {
#pragma unroll P::kUnrollElements
  for (int e = thread; e < P::kRows * P::kColumns; e += P::kThreads) {
    const int x = along_x ? e % P::kRows : e / P::kColumns;
    const int y = along_x ? e / P::kRows : e % P::kColumns;
    act(x, y);
  }
}

/// Everything of the epilogue before the activation, for a piece: the operations of apply_epilogue.
template <class P>
__device__ __forceinline__ void add_in_piece(const GemmArguments& g, const LaunchShape& shape,
                                             const Piece& piece, int thread) {
  const Epilogue linear{g.epilogue.alpha, g.epilogue.beta, g.epilogue.has_bias, Activation::none};
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
  const bool by_columns = along_y != 1;
  const auto place = [&](int e, int& x, int& y) {
    x = by_columns ? e % P::kRows : e / P::kColumns;
    y = by_columns ? e / P::kRows : e % P::kColumns;
    return x < piece.xs && y < piece.ys;
  };
  // No load has a branch of its own: those of a batch are on their way at once. Where there is no
  // output, the first element stands for one.
  const auto read = [&](std::uint32_t* raw, const void* data, bool is_32, int first, auto&& index) {
#pragma unroll
    for (int t = 0; t < P::kBatch; ++t) {
      int x, y;
      const bool exists = place(first + t * P::kThreads, x, y);
      const std::int64_t at = exists ? index(piece.x + x, piece.y + y) : 0;
      raw[t] = is_32 ? static_cast<const std::uint32_t*>(data)[at]
                     : static_cast<const std::uint16_t*>(data)[at];
    }
  };
  const auto value_of = [](std::uint32_t raw, DType type) {
    return type == DType::fp32   ? __uint_as_float(raw)
           : type == DType::bf16 ? __uint_as_float(raw << 16)
                                 : ptx::cvt_f32_f16(raw);
  };
#pragma unroll 1
  for (int first = thread; first < P::kRows * P::kColumns; first += P::kThreads * P::kBatch) {
    std::uint32_t c[P::kBatch] = {}, bias[P::kBatch] = {};
    if (linear.beta != 0.0F) {
      const auto at = [&](std::int64_t x, std::int64_t y) { return x * along_x + y * along_y; };
      if (g.c_type == DType::fp32) {
        read(c, g.c, true, first, at);
      } else {
        read(c, g.c, false, first, at);
      }
    }
    if (linear.has_bias) {
      const auto at = [&](std::int64_t x, std::int64_t y) { return shape.swapped ? x : y; };
      if (g.bias_type == DType::fp32) {
        read(bias, g.bias, true, first, at);
      } else {
        read(bias, g.bias, false, first, at);
      }
    }
#pragma unroll
    for (int t = 0; t < P::kBatch; ++t) {
      int x, y;
      if (!place(first + t * P::kThreads, x, y)) continue;
      const std::uint32_t at = piece.at + (x * P::kPitch + y) * 4;
      ptx::st_shared_f32(at,
                         apply_epilogue(linear, ptx::ld_shared_f32(at), value_of(c[t], g.c_type),
                                        value_of(bias[t], g.bias_type)));
    }
  }
}

/// The activation of a piece, four or two elements per thread at a time, as registers allow.
template <class P>
__device__ __forceinline__ void activate_piece(Activation activation, const Piece& piece,
                                               int thread) {
  const auto each = [&](auto&& change) {
#pragma unroll 1
    for (int e = thread; e < P::kRows * P::kColumns / P::kTogether; e += P::kThreads) {
      const int x = e / (P::kColumns / P::kTogether);
      const int y = e % (P::kColumns / P::kTogether) * P::kTogether;
      const std::uint32_t at = piece.at + (x * P::kPitch + y) * 4;
      if constexpr (P::kTogether == 4) {
        const float4 v = ptx::ld_shared_v4_f32(at);
        ptx::st_shared_v4_f32(at, {change(v.x), change(v.y), change(v.z), change(v.w)});
      } else {
        const float2 v = ptx::ld_shared_v2_f32(at);
        ptx::st_shared_v2_f32(at, {change(v.x), change(v.y)});
      }
    }
  };
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      each([](float v) { return arithmetic::relu(v); });
      break;
    case Activation::gelu:
      each([](float v) { return arithmetic::gelu(v); });
      break;
    case Activation::gelu_tanh:
      each([](float v) { return arithmetic::gelu_tanh(v); });
      break;
    case Activation::silu:
      each([](float v) { return arithmetic::silu(v); });
      break;
  }
}

/// Rounds a piece and stores it where D's memory runs along y: words of 4 bytes, whatever the
/// address of a row is. A row of 16-bit outputs that begins in the middle of a word has an element
/// at each end that one lane stores alone:
///
///   words     |  . e0|e1 e2|e3 e4| ...        |e61 e62|e63 . |        64 columns
///   lanes     |   31 |  0  |  1  | ...        |  30   | 31   |
template <class P>
__device__ __forceinline__ void store_piece_rows(const GemmArguments& g, const LaunchShape& shape,
                                                 const Piece& piece, int thread) {
  const std::int64_t along_x = shape.swapped ? g.ds.col : g.ds.row;
  const std::int64_t first = piece.x * along_x + piece.y;
  if (shape.output == DType::fp32) {
    float* d = static_cast<float*>(g.d) + first;
    for_elements<P>(false, thread, [&](int x, int y) {
      if (x >= piece.xs || y >= piece.ys) return;
      const float value = ptx::ld_shared_f32(piece.at + (x * P::kPitch + y) * 4);
      d[x * along_x + y] = arithmetic::canonical(value);
    });
    return;
  }
  auto* d = static_cast<std::uint16_t*>(g.d) + first;
  const int columns = min(piece.ys, P::kColumns);
  constexpr int kPairs = P::kColumns / 2;
#pragma unroll P::kUnroll
  for (int e = thread; e < P::kRows * kPairs; e += P::kThreads) {
    const int x = e / kPairs;
    const int pair = e % kPairs;
    std::uint16_t* row = d + x * along_x;
    const int odd = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / 2 % 2);
    const bool ends = odd != 0 && pair == kPairs - 1;  // both ends of the row, else neighbours
    const int low = ends ? 0 : pair * 2 + odd;
    const int high = ends ? P::kColumns - 1 : low + 1;
    const std::uint32_t from = piece.at + x * P::kPitch * 4;
    const std::uint32_t packed =
        pack(ptx::ld_shared_f32(from + low * 4), ptx::ld_shared_f32(from + high * 4), shape.output);
    if (x >= piece.xs) continue;
    if (!ends && high < columns) {
      *reinterpret_cast<std::uint32_t*>(row + low) = packed;
      continue;
    }
    if (low < columns) row[low] = static_cast<std::uint16_t>(packed);
    if (high < columns) row[high] = static_cast<std::uint16_t>(packed >> 16);
  }
}

/// The same where D's memory runs along x, or along neither: single elements.
template <class P>
__device__ __forceinline__ void store_piece_elements(const GemmArguments& g,
                                                     const LaunchShape& shape, const Piece& piece,
                                                     int thread) {
  const std::int64_t along_x = shape.swapped ? g.ds.col : g.ds.row;
  const std::int64_t along_y = shape.swapped ? g.ds.row : g.ds.col;
  for_elements<P>(shape.d_x_contiguous, thread, [&](int x, int y) {
    if (x >= piece.xs || y >= piece.ys) return;
    const float value = ptx::ld_shared_f32(piece.at + (x * P::kPitch + y) * 4);
    const std::int64_t at = (piece.x + x) * along_x + (piece.y + y) * along_y;
    store_rounded(g.d, at, shape.output, arithmetic::canonical(value));
  });
}

/// Whether every row of a 16-bit piece begins at a multiple of P::kTogether outputs in memory and
/// holds whole multiples of them, so that a thread can store that many at once.
template <class P>
__device__ __forceinline__ bool stores_together(const GemmArguments& g, const LaunchShape& shape,
                                                const Piece& piece) {
  const std::int64_t along_x = shape.swapped ? g.ds.col : g.ds.row;
  const std::int64_t first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(g.d) / 2) +
                             piece.x * along_x + piece.y;
  const std::int64_t all = first | along_x | min(piece.ys, P::kColumns);
  return shape.d_y_contiguous && shape.output != DType::fp32 && all % P::kTogether == 0;
}

/// Activates, rounds and stores a 16-bit piece whose rows stores_together accepts: each thread
/// P::kTogether outputs at a time. Pairs whose value is not known then are computed by the
/// contract's operations and stored again.
template <class P, Activation kActivation>
__device__ __forceinline__ void store_piece_activated(const GemmArguments& g,
                                                      const LaunchShape& shape, const Piece& piece,
                                                      int thread) {
  constexpr int kEach = P::kTogether, kAcross = P::kColumns / kEach;
  const std::int64_t along_x = shape.swapped ? g.ds.col : g.ds.row;
  auto* d = static_cast<std::uint16_t*>(g.d) + piece.x * along_x + piece.y;
  constexpr Logistic logistic = Logistic::of(kActivation);
#pragma unroll 1
  for (int first = thread; first < P::kRows * kAcross; first += P::kThreads * P::kAtOnce) {
    std::uint32_t unknown = 0;  // one bit per pair
#pragma unroll
    for (int i = 0; i < P::kAtOnce; ++i) {  // without a branch but for the store
      constexpr int kLast = P::kRows * kAcross - 1;
      const int e = min(first + i * P::kThreads, kLast);
      const int x = e / kAcross, y = e % kAcross * kEach;
      const bool exists = (first + i * P::kThreads <= kLast) & (x < piece.xs) & (y < piece.ys);
      const std::uint32_t at = piece.at + (x * P::kPitch + y) * 4;
      std::uint16_t* to = d + x * along_x + y;
      std::uint32_t packed[kEach / 2];
      const auto activate = [&](int pair, float low, float high) {
        const bool known = activate_rounded(logistic, low, high, shape.output, packed[pair]);
        unknown |= known | !exists ? 0U : 1U << (i * kEach / 2 + pair);
      };
      if constexpr (kEach == 4) {
        const float4 v = ptx::ld_shared_v4_f32(at);
        activate(0, v.x, v.y);
        activate(1, v.z, v.w);
        if (exists) ptx::st_global_v2_u32(to, packed[0], packed[1]);
      } else {
        const float2 v = ptx::ld_shared_v2_f32(at);
        activate(0, v.x, v.y);
        if (exists) *reinterpret_cast<std::uint32_t*>(to) = packed[0];
      }
    }
#pragma unroll 1
    for (; unknown != 0; unknown &= unknown - 1) {
      const int pair = __ffs(static_cast<int>(unknown)) - 1;
      const int e = first + pair / (kEach / 2) * P::kThreads;
      const int x = e / kAcross, y = e % kAcross * kEach + pair % (kEach / 2) * 2;
      float2 v = ptx::ld_shared_v2_f32(piece.at + (x * P::kPitch + y) * 4);
      if constexpr (kActivation == Activation::silu) {
        v = {arithmetic::silu(v.x), arithmetic::silu(v.y)};
      } else {
        v = {arithmetic::gelu_tanh(v.x), arithmetic::gelu_tanh(v.y)};
      }
      *reinterpret_cast<std::uint32_t*>(d + x * along_x + y) = pack(v.x, v.y, shape.output);
    }
  }
}

/// Any epilogue and any strides of D, by ordinary stores. Accumulators pass through shared memory
/// in pieces (Pieces): of 8 rows per warp, or where a tile has few rows of the whole group, so that
/// all its threads share the work. The code exists once per kernel, in a loop over pieces; only the
/// moves out of registers are written out for each.
template <class T>
__device__ __forceinline__ void finish_general(const SharedLayout<T>& shared,
                                               const GemmArguments& g, const LaunchShape& shape,
                                               int group, int x0, int y0,
                                               const Accumulators<T>& acc) {
  using P = Pieces<T>;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const int thread = P::kOfGroup ? threadIdx.x % 128 : lane;
  const auto sync = [&] {
    if constexpr (P::kOfGroup) {
      ptx::bar_sync(kGroupBarrier + group, 128);
    } else {
      __syncwarp();
    }
  };
  if constexpr (P::kInBoxes) {  // TMA may still read the last tile's D
    if (lane == 0) ptx::tma_store_wait_read<0>();
    ptx::bar_sync(kGroupBarrier + group, 128);
  }
  const Epilogue& e = g.epilogue;
  const bool adds = !shape.in_registers && (e.alpha != 1.0F || e.beta != 0.0F || e.has_bias);
  const bool activates =
      e.activation != Activation::none && !(shape.in_registers && e.activation == Activation::relu);
  const bool by_lines =
      P::kInBoxes && !adds && !activates && shape.d_y_contiguous && shape.output != DType::fp32;
  if constexpr (P::kInBoxes) {
    if (by_lines) store_lines<T>(shared, g, shape, group, x0, y0, acc);
  }
  Piece piece;
  piece.at = shared.epilogue + P::offset(group, warp);
#pragma unroll 1
  for (int p = by_lines ? P::kCount : 0; p < P::kCount; ++p) {
    [&]<int... kP>(std::integer_sequence<int, kP...>) {
      const auto put = [&]<int kOne>() {
        constexpr int kColumn = P::column(kOne);
#pragma unroll
        for (int half = 0; half < P::kHalves; ++half) {
          const int row = P::kOfGroup ? warp * 16 + half * 8 : 0;
          if (row >= P::kRows) continue;
#pragma unroll
          for (int j = 0; j < P::columns(kOne) / 8; ++j) {
            const float* from =
                acc[P::block(kOne)] + kColumn / 2 + j * 4 + (P::half(kOne) + half) * 2;
            const std::uint32_t to =
                piece.at + ((row + lane / 4) * P::kPitch + j * 8 + lane % 4 * 2) * 4;
            ptx::st_shared_v2_f32(to, {from[0], from[1]});
          }
        }
      };
      ((p == kP ? put.template operator()<kP>() : void()), ...);
    }
    (std::make_integer_sequence<int, P::kCount>());
    const int block = group * T::kBlocks + P::block(p);
    piece.x = x0 + block * 64 + (P::kOfGroup ? 0 : warp * 16 + P::half(p) * 8);
    piece.y = y0 + P::column(p);
    piece.xs = min(shape.x_rows - piece.x, P::kRows);
    piece.ys = min(shape.y_rows - piece.y, P::columns(p));
    sync();
    if (adds) {
      add_in_piece<P>(g, shape, piece, thread);
      sync();
    }
    if (activates && Logistic::is(e.activation) && stores_together<P>(g, shape, piece)) {
      if (e.activation == Activation::silu) {
        store_piece_activated<P, Activation::silu>(g, shape, piece, thread);
      } else {
        store_piece_activated<P, Activation::gelu_tanh>(g, shape, piece, thread);
      }
      sync();
      continue;
    }
    if (activates) {
      activate_piece<P>(e.activation, piece, thread);
      sync();
    }
    if (shape.d_y_contiguous) {
      store_piece_rows<P>(g, shape, piece, thread);
    } else {
      store_piece_elements<P>(g, shape, piece, thread);
    }
    sync();
  }
  if constexpr (P::kInBoxes) {  // TMA uses the boxes next
    ptx::fence_proxy_async();
    ptx::bar_sync(kGroupBarrier + group, 128);
  }
}

}  // namespace detgemm::cuda::sm90

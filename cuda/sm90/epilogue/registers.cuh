// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/epilogue.hpp"
#include "cuda/sm90/epilogue/c.cuh"

namespace detgemm::cuda::sm90 {

/// The bias of a tile. Loads are issued before the tile's first stage and used behind its last one;
/// tiles without a register to spare bring it into L2 first and load it when it is added.
/// In small tiles each thread has the elements of its own accumulators. In large ones a group
/// shares them out, and they pass through its boxes of D.
template <class T>
struct TileBias {
  static constexpr bool kOwn = T::kBlocks * T::kN <= (T::kLoadsBiasEarly ? 128 : 64);
  /// The elements that a group needs: one per y, or where D is transposed one per x of the group.
  static constexpr int kMax = T::kN > 64 * T::kBlocks ? T::kN : 64 * T::kBlocks;
  static constexpr int kEach = kOwn ? T::kN / 4 : (kMax + 127) / 128;  ///< per thread
  std::uint32_t raw[kEach];

  /// Starts to load the elements; the last one of D stands for those behind it, which do not exist.
  __device__ __forceinline__ void load(const GemmArguments& g, const LaunchShape& shape, int group,
                                       int x0, int y0) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % 4;
    const int first = shape.swapped ? x0 + group * T::kBlocks * 64 : y0;
    const int end = shape.swapped ? shape.x_rows : shape.y_rows;
    // No load has a branch of its own: all are on their way at once.
    const auto read = [&](int count, auto&& index) {
      if (g.bias_type == DType::fp32) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
          raw[i] = static_cast<const std::uint32_t*>(g.bias)[min(first + index(i), end - 1)];
        }
      } else {
#pragma unroll
        for (int i = 0; i < count; ++i) {
          raw[i] = static_cast<const std::uint16_t*>(g.bias)[min(first + index(i), end - 1)];
        }
      }
    };
    if (!g.epilogue.has_bias) return;
    if constexpr (!kOwn) {
      read(kEach, [&](int i) { return i * 128 + static_cast<int>(threadIdx.x % 128); });
    } else if (shape.swapped) {
      read(2 * T::kBlocks, [&](int i) { return i * 8 + i / 2 * 48 + warp * 16 + lane / 4; });
    } else {
      read(kEach, [&](int i) { return i / 2 * 8 + lane % 4 * 2 + i % 2; });
    }
  }

  /// Brings the elements into L2, for kernels that have no register to spare for `load` so early.
  static __device__ __forceinline__ void prefetch(const GemmArguments& g, const LaunchShape& shape,
                                                  int group, int x0, int y0) {
    const int first = shape.swapped ? x0 + group * T::kBlocks * 64 : y0;
    const int end = min(first + kMax, shape.swapped ? shape.x_rows : shape.y_rows);
    const int at = first + static_cast<int>(threadIdx.x % 128) * 32;  // a line, or half of one
    if (!g.epilogue.has_bias || at >= end) return;
    ptx::prefetch_global_l2(static_cast<const char*>(g.bias) +
                            std::int64_t{at} * (g.bias_type == DType::fp32 ? 4 : 2));
  }

  /// acc = acc + bias.
  __device__ __forceinline__ void add_to(const SharedLayout<T>& shared, const GemmArguments& g,
                                         const LaunchShape& shape, int group,
                                         Accumulators<T>& acc) const {
    if constexpr (kOwn) {
      if (shape.swapped) {
        add_along_x(acc, [&](int i, int half) { return value_of(raw[i * 2 + half], g); });
      } else {
        add_along_y(acc, [&](int j) {
          return float2{value_of(raw[2 * j], g), value_of(raw[2 * j + 1], g)};
        });
      }
      return;
    }
    const std::uint32_t room = shared.epilogue + group * T::kGroupBoxes;  // (kMax) of fp32
    static_assert(kMax * 4 <= T::kBoxes * T::kBoxBytes, "The bias of a tile fits the boxes of D.");
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % 4;
    if (lane == 0) ptx::tma_store_wait_read<0>();
    ptx::bar_sync(kGroupBarrier + group, 128);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * 128 + static_cast<int>(threadIdx.x % 128);
      if (at < kMax) ptx::st_shared_f32(room + at * 4, value_of(raw[i], g));
    }
    ptx::bar_sync(kGroupBarrier + group, 128);
    if (shape.swapped) {
      add_along_x(acc, [&](int i, int half) {
        return ptx::ld_shared_f32(room + (i * 64 + warp * 16 + half * 8 + lane / 4) * 4);
      });
    } else {
      add_along_y(acc,
                  [&](int j) { return ptx::ld_shared_v2_f32(room + (j * 8 + lane % 4 * 2) * 4); });
    }
    ptx::bar_sync(kGroupBarrier + group, 128);  // D goes into the boxes next
  }

 private:
  static __device__ __forceinline__ float value_of(std::uint32_t raw, const GemmArguments& g) {
    return g.bias_type == DType::fp32   ? __uint_as_float(raw)
           : g.bias_type == DType::bf16 ? __uint_as_float(raw << 16)
                                        : ptx::cvt_f32_f16(raw);
  }
  template <class Element>
  static __device__ __forceinline__ void add_along_x(Accumulators<T>& acc, Element&& element) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float bias = element(i, half);
#pragma unroll
        for (int j = 0; j < T::kN / 4; ++j) {
          float& d = acc[i][j / 2 * 4 + half * 2 + j % 2];
          d = arithmetic::add_rn(d, bias);
        }
      }
    }
  }
  template <class Pair>
  static __device__ __forceinline__ void add_along_y(Accumulators<T>& acc, Pair&& pair) {
#pragma unroll
    for (int j = 0; j < T::kN / 8; ++j) {
      const float2 bias = pair(j);
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float* d = acc[i] + j * 4 + half * 2;
          d[0] = arithmetic::add_rn(d[0], bias.x);
          d[1] = arithmetic::add_rn(d[1], bias.y);
        }
      }
    }
  }
};

/// What registers do of an epilogue: alpha, C from the ring, bias and relu, in the order of
/// apply_epilogue, with one operation for all accumulators after another.
template <class T>
__device__ __forceinline__ void finish_in_registers(
    const SharedLayout<T>& shared, const LaunchShape& shape, const GemmArguments& g, int group,
    RingCursor<T::kStages>& cursor, TileBias<T>& bias, int x0, int y0, Accumulators<T>& acc) {
  const auto each = [&](auto&& change) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < T::kN / 2; ++j) acc[i][j] = change(acc[i][j]);
    }
  };
  // For alpha = 1 too: it makes a NaN of the C from which a chain starts canonical where k is 0,
  // and a branch around it would give ptxas so many pairs of registers to join that large tiles
  // spill.
  each([&](float v) { return arithmetic::mul_rn(g.epilogue.alpha, v); });
  if (g.epilogue.beta != 0.0F) {
    add_ring_c<T>(shared, shape, g.epilogue.beta, group, cursor, acc);
  }
  if constexpr (!T::kLoadsBiasEarly) bias.load(g, shape, group, x0, y0);
  if (g.epilogue.has_bias) bias.add_to(shared, g, shape, group, acc);
  if (g.epilogue.activation == Activation::relu)
    each([](float v) { return ptx::max_nan_f32(v, 0.0F); });
}

}  // namespace detgemm::cuda::sm90

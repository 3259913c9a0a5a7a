// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/quantize.hpp"
#include "cuda/snap/memory.hpp"

/// What the kernels that quantise do with one block. The arithmetic is that of
/// core/contract/quantize.hpp; what is new is who does it. The code runs on a host too, where tests
/// play the warps.
namespace detgemm::cuda::quantize {

inline constexpr int kEach = 4;            ///< numbers per lane of a short leaf
inline constexpr int kShort = 32 * kEach;  ///< the longest leaf that a warp holds in registers
inline constexpr int kLeavesPerWarp = 2;   ///< short ones, so that more loads are on their way

/// What a lane holds of a short leaf: numbers lane * kEach and behind.
struct LaneNumbers {
  float value[kEach];
  std::uint32_t largest;
};

/// kEach numbers of type T at an address that is a multiple of their bytes.
template <DType T>
DETGEMM_HD void load_together(const void* from, float* value) {
  if constexpr (T == DType::fp32) {
    std::uint32_t word[4];
    __builtin_memcpy(word, __builtin_assume_aligned(from, 16), sizeof word);
    DETGEMM_UNROLL
    for (int i = 0; i < 4; ++i) value[i] = arithmetic::float_of(word[i]);
  } else {
    std::uint32_t word[2];
    __builtin_memcpy(word, __builtin_assume_aligned(from, 8), sizeof word);
    DETGEMM_UNROLL
    for (int i = 0; i < 4; ++i) {
      const auto half = static_cast<std::uint16_t>(word[i / 2] >> i % 2 * 16);
      value[i] = arithmetic::to_float<T>(half);
    }
  }
}

template <DType T, class Team>
DETGEMM_HD void load_leaf(const QuantizeArguments& q, std::int64_t line, std::int64_t leaf,
                          Team& team) {
  team.each([&](int lane, LaneNumbers& s) {
    const std::int64_t begin = leaf * q.leaf_k;
    const std::int64_t end = q.k - begin < q.leaf_k ? q.k : begin + q.leaf_k;
    const std::int64_t first = begin + lane * kEach;
    const auto* from = static_cast<const arithmetic::Storage<T>*>(q.from) + line * q.from_at.row;
    if (first + kEach <= end) {
      load_together<T>(from + first, s.value);
    } else {  // what is not there is 0, which is no larger magnitude than another
      DETGEMM_UNROLL
      for (int i = 0; i < kEach; ++i) {
        s.value[i] = first + i < end ? arithmetic::to_float<T>(from[first + i]) : 0.0F;
      }
    }
    s.largest = 0;
    DETGEMM_UNROLL
    for (int i = 0; i < kEach; ++i) s.largest = larger_magnitude(s.largest, s.value[i]);
  });
}

DETGEMM_HD void store_scale(const ScalesOut& scales, std::int64_t block, std::int64_t leaf,
                            float s) {
  const std::int64_t at = block * scales.stride + leaf * scales.leaf_stride;
  if (scales.type == ScaleType::e8m0) {
    static_cast<std::uint8_t*>(scales.data)[at] =
        static_cast<std::uint8_t>(arithmetic::bits_of(s) >> 23);
  } else {
    static_cast<float*>(scales.data)[at] = s;
  }
}

template <class Team>
DETGEMM_HD void finish_leaf(const QuantizeArguments& q, std::int64_t line, std::int64_t leaf,
                            Team& team) {
  const std::uint32_t amax = team.max([](const LaneNumbers& s) { return s.largest; });
  const float scale = scale_of_block(amax, q.scales.type);
  const float inverse = arithmetic::div_rn(1.0F, scale);
  team.each([&](int lane, LaneNumbers& s) {
    const std::int64_t begin = leaf * q.leaf_k;
    const std::int64_t end = q.k - begin < q.leaf_k ? q.k : begin + q.leaf_k;
    const std::int64_t first = begin + lane * kEach;
    std::uint8_t* to = q.to + line * q.to_at.row + first;
    std::uint32_t word = 0;
    DETGEMM_UNROLL
    for (int i = 0; i < kEach; ++i) {
      word |= std::uint32_t{e4m3_of(arithmetic::mul_rn(s.value[i], inverse))} << 8 * i;
    }
    if (first + kEach <= end) {
      __builtin_memcpy(__builtin_assume_aligned(to, kEach), &word, kEach);
    } else {
      DETGEMM_UNROLL
      for (int i = 0; i < kEach; ++i) {
        if (first + i < end) to[i] = static_cast<std::uint8_t>(word >> 8 * i);
      }
    }
    if (lane == 0) store_scale(q.scales, line, leaf, scale);
  });
}

/// kLeavesPerWarp leaves of a line from `first` on, a team for each. `Team`: a warp, with
/// each(f) calling f(lane, numbers) for its lanes, and max(f), the largest of what f(numbers)
/// gives.
///
///   lane     0        1        2            31
///   leaf     xxxx     xxxx     xxxx   ...   xxxx      loaded once; the largest over all lanes
template <DType T, class Team>
DETGEMM_HD void quantize_leaves(const QuantizeArguments& q, std::int64_t line, std::int64_t first,
                                Team (&teams)[kLeavesPerWarp]) {
  DETGEMM_UNROLL
  for (int i = 0; i < kLeavesPerWarp; ++i) {
    if (first + i < q.scales.leaves) load_leaf<T>(q, line, first + i, teams[i]);
  }
  DETGEMM_UNROLL
  for (int i = 0; i < kLeavesPerWarp; ++i) {
    if (first + i < q.scales.leaves) finish_leaf(q, line, first + i, teams[i]);
  }
}

/// A block of any size, type and strides, which is read twice. `Team`: a warp, with each(count, f)
/// calling f(i) for every i < count, in any order, and max(count, f). Neighbours in memory are
/// taken at the same time.
template <class Team>
DETGEMM_HD void quantize_any(const QuantizeArguments& q, std::int64_t block, std::int64_t leaf,
                             Team& team) {
  const std::int64_t begin = leaf * q.leaf_k;
  const std::int64_t length = q.k - begin < q.leaf_k ? q.k - begin : q.leaf_k;
  const std::int64_t first = block * q.per;
  const std::int64_t lines = q.lines - first < q.per ? q.lines - first : q.per;
  const bool along = q.from_at.col == 1 || lines == 1;
  const std::int64_t inner = along ? length : lines;
  const std::int64_t outer = along ? lines : length;
  const std::int64_t from = first * q.from_at.row + begin * q.from_at.col;
  const std::int64_t from_i = along ? q.from_at.col : q.from_at.row;
  const std::int64_t from_j = along ? q.from_at.row : q.from_at.col;
  const std::uint32_t amax = team.max(inner, [&](std::int64_t i) {
    std::uint32_t most = 0;
    for (std::int64_t j = 0; j < outer; ++j) {
      most = larger_magnitude(most, load_as_float(q.from, from + i * from_i + j * from_j, q.type));
    }
    return most;
  });
  const float scale = scale_of_block(amax, q.scales.type);
  const float inverse = arithmetic::div_rn(1.0F, scale);
  const std::int64_t to = first * q.to_at.row + begin * q.to_at.col;
  const std::int64_t to_i = along ? q.to_at.col : q.to_at.row;
  const std::int64_t to_j = along ? q.to_at.row : q.to_at.col;
  team.each(inner, [&](std::int64_t i) {
    for (std::int64_t j = 0; j < outer; ++j) {
      const float x = load_as_float(q.from, from + i * from_i + j * from_j, q.type);
      q.to[to + i * to_i + j * to_j] = e4m3_of(arithmetic::mul_rn(x, inverse));
    }
  });
  team.each(1, [&](std::int64_t) { store_scale(q.scales, block, leaf, scale); });
}

}  // namespace detgemm::cuda::quantize

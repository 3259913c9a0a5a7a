// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_bf16.h>

#include "core/arithmetic/log_near.hpp"
#include "core/contract/log_nodes.hpp"
#include "cuda/log_prob/launch.hpp"
#include "cuda/log_prob/words.cuh"

// Nodes of chunks of stored logits, a warp each. A chunk is 4 pieces of 32 leaves, one leaf per
// lane:
//
//   bits of a leaf's index   0 .. 4: the lane     5, 6: the piece     7 ..: the chunk
//
// The tree goes up bits 0, 1, 2, .. . As soon as two pieces' sums exist, lanes with bit 0 keep one
// of them and lanes without it the other, and so for bit 1: 8 shuffles for 4 pieces, not 20.

namespace detgemm::cuda::log_prob {

constexpr int kPieces = 4;
constexpr int kChunkLeaves = kPieces * 32;
constexpr int kChunkColumns = kChunkLeaves * arithmetic::kLogLeaf;
constexpr unsigned kAllLanes = 0xffffffffU;

/// Stored logits, of whose rows the first `columns` columns exist.
struct RowsOfLogits {
  const void* data;
  Strides at;
  std::int64_t columns;
};

/// Whether there is a whole leaf, and all whole leaves are 16 neighbours at a multiple of 16 bytes.
inline bool is_aligned(const LogitView& view, std::int64_t columns) {
  const std::int64_t size = view.type == DType::fp32 ? 4 : 2;
  return view.at.col == 1 && view.at.row * size % 16 == 0 && columns >= arithmetic::kLogLeaf &&
         reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
}

template <bool k32>
__device__ __forceinline__ float load_logit(const RowsOfLogits& z, std::int64_t row,
                                            std::int64_t col) {
  const std::int64_t at = row * z.at.row + col * z.at.col;
  if constexpr (k32) return static_cast<const float*>(z.data)[at];
  return __uint_as_float(std::uint32_t{static_cast<const std::uint16_t*>(z.data)[at]} << 16);
}

/// A leaf's logits as they are stored: 16 words of fp32, or 8 of two bf16.
template <bool k32>
struct LeafWords {
  static constexpr int kCount = k32 ? 16 : 8;
  std::uint32_t word[kCount];

  static constexpr int kBytes = kCount * 4;

  __device__ __forceinline__ void load(const char* row, int leaf) {
    load_words(word, row, std::int64_t{leaf} * kBytes);
  }
  __device__ __forceinline__ float get(int i) const {
    if constexpr (k32) return __uint_as_float(word[i]);
    return __uint_as_float(i % 2 == 0 ? word[i / 2] << 16 : word[i / 2] & 0xffff0000U);
  }
};

/// A row of neighbours that begins `shift` bytes behind a multiple of 16.
struct ShiftedRow {
  const char* line;  ///< the multiple of 16
  int shift;
  /// Leaves from the first on whose words end with the row. The first word may begin before the
  /// row; what is there is shifted out.
  int whole;

  template <bool k32>
  static __device__ __forceinline__ ShiftedRow of(const RowsOfLogits& z, std::int64_t row) {
    constexpr int kSize = k32 ? 4 : 2;
    const char* const first = static_cast<const char*>(z.data) + row * z.at.row * kSize;
    const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16);
    if (z.at.col != 1) return {first, 0, 0};
    const int end = shift + static_cast<int>(z.columns) * kSize - (shift != 0 ? 16 : 0);
    return {first - shift, shift, max(end, 0) / LeafWords<k32>::kBytes};
  }
};

/// The 16-byte words that hold a leaf of such a row, and the leaf among them.
///
///   words      | . . a b | c d e f | g h . . |     bf16, shift 4: the leaf is a .. h
///   by 4       | . a b c | d e f g | h . . . |     each step moves all words down or none
template <bool k32>
struct ShiftedWords {
  static constexpr int kCount = LeafWords<k32>::kCount;
  std::uint32_t word[kCount + 4];

  __device__ __forceinline__ void load(const ShiftedRow& row, int leaf) {
    const std::int64_t at = std::int64_t{leaf} * LeafWords<k32>::kBytes;
    std::uint32_t most[kCount], last[4] = {};
    load_words(most, row.line, at);
    if (row.shift != 0) load_words(last, row.line, at + LeafWords<k32>::kBytes);
#pragma unroll
    for (int i = 0; i < kCount; ++i) word[i] = most[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) word[kCount + i] = last[i];
  }
  __device__ __forceinline__ LeafWords<k32> leaf(int shift) const {
    std::uint32_t by_8[kCount + 2], by_4[kCount + 1];
    LeafWords<k32> found;
#pragma unroll
    for (int i = 0; i < kCount + 2; ++i) by_8[i] = (shift & 8) != 0 ? word[i + 2] : word[i];
#pragma unroll
    for (int i = 0; i < kCount + 1; ++i) by_4[i] = (shift & 4) != 0 ? by_8[i + 1] : by_8[i];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      found.word[i] = k32 ? by_4[i] : __funnelshift_r(by_4[i], by_4[i + 1], (shift & 2) * 8);
    }
    return found;
  }
};

/// The extremes of a lane's logits before the scale; NaN where one of them is.
template <bool k32, bool kEntropy>
class Range {
 public:
  __device__ __forceinline__ void add(float z) {
    if constexpr (k32) {
      nan_ = nan_ || z != z;
      lowest_ = fminf(lowest_, z);
      highest_ = fmaxf(highest_, z);
      if constexpr (kEntropy) least_ = fminf(least_, fabsf(z));
    } else {
      add(__float2bfloat162_rn(z));
    }
  }
  __device__ __forceinline__ void add(const LeafWords<k32>& words) {
#pragma unroll
    for (int i = 0; i < LeafWords<k32>::kCount; ++i) {
      if constexpr (k32) {
        add(words.get(i));
      } else {
        add(*reinterpret_cast<const __nv_bfloat162*>(&words.word[i]));
      }
    }
  }
  /// Whether every x = z * scale is near; `highest` is the largest of them, or -Inf.
  __device__ __forceinline__ bool near(float scale, float& highest) const {
    float lowest = lowest_, least = least_;
    highest = highest_;
    bool nan = nan_;
    if constexpr (!k32) {
      lowest = fminf(__low2float(low_), __high2float(low_));
      highest = fmaxf(__low2float(high_), __high2float(high_));
      least = fminf(__low2float(small_), __high2float(small_));
      nan = !__hbeq2(high_, high_);
    }
    const bool none = highest < lowest;
    highest = arithmetic::mul_rn(highest, scale);
    return !nan &&
           (none || arithmetic::is_near<kEntropy>(arithmetic::mul_rn(lowest, scale), highest,
                                                  arithmetic::mul_rn(least, scale)));
  }

 private:
  static __device__ __forceinline__ float inf() { return __uint_as_float(0x7f800000U); }
  __device__ __forceinline__ void add(__nv_bfloat162 pair) {
    low_ = __hmin2_nan(low_, pair);
    high_ = __hmax2_nan(high_, pair);
    if constexpr (kEntropy) small_ = __hmin2(small_, __habs2(pair));
  }
  float lowest_ = inf(), highest_ = -inf(), least_ = inf();
  __nv_bfloat162 low_ = __float2bfloat162_rn(inf()), high_ = __float2bfloat162_rn(-inf()),
                 small_ = low_;
  bool nan_ = false;
};

/// Plain sums of e^x, and of x e^x, of a leaf. `get(i)` is logit i.
template <bool kEntropy, bool kScaled, class Get>
__device__ __forceinline__ void add_leaf(const Get& get, float scale, float& sum, float& weighted) {
  float sums[4], more[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float half[2], other[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float x0 = get(2 * i + 8 * j), x1 = get(2 * i + 8 * j + 1);
      if constexpr (kScaled) {
        x0 = arithmetic::mul_rn(x0, scale);
        x1 = arithmetic::mul_rn(x1, scale);
      }
      const float e0 = arithmetic::near_exponential(x0), e1 = arithmetic::near_exponential(x1);
      half[j] = arithmetic::add_rn(e0, e1);
      if constexpr (kEntropy) {
        other[j] = arithmetic::add_rn(arithmetic::mul_rn(e0, x0), arithmetic::mul_rn(e1, x1));
      }
    }
    sums[i] = arithmetic::add_rn(half[0], half[1]);
    if constexpr (kEntropy) more[i] = arithmetic::add_rn(other[0], other[1]);
  }
  const auto four = [](const float(&t)[4]) {
    return arithmetic::add_rn(arithmetic::add_rn(t[0], t[1]), arithmetic::add_rn(t[2], t[3]));
  };
  sum = four(sums);
  if constexpr (kEntropy) weighted = four(more);
}

__device__ __forceinline__ float with_lane(float value, int mask) {
  return arithmetic::add_rn(value, __shfl_xor_sync(kAllLanes, value, mask));
}
/// Lanes without the bit get the sum of `first` over both lanes, the others that of `second`.
__device__ __forceinline__ float shared_sum(bool has_bit, int mask, float first, float second) {
  const float sent = __shfl_xor_sync(kAllLanes, has_bit ? first : second, mask);
  return arithmetic::add_rn(has_bit ? second : first, sent);
}
/// The sum of the tree over 4 x 32 leaves; all lanes have it.
__device__ __forceinline__ float sum_of_chunk(const float (&leaf)[kPieces], int lane) {
  const bool bit_0 = (lane & 1) != 0;
  float sum = shared_sum((lane & 2) != 0, 2, shared_sum(bit_0, 1, leaf[0], leaf[1]),
                         shared_sum(bit_0, 1, leaf[2], leaf[3]));
#pragma unroll
  for (int mask = 4; mask <= 16; mask *= 2) sum = with_lane(sum, mask);
  return with_lane(with_lane(sum, 1), 2);
}

/// Nodes of 32 neighbours, one per lane, as one that all lanes have.
template <bool kEntropy>
__device__ __forceinline__ arithmetic::LogNode join_lanes(arithmetic::LogNode node) {
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) {
    node = arithmetic::log_join(
        node, {__shfl_xor_sync(kAllLanes, node.k, mask), __shfl_xor_sync(kAllLanes, node.s, mask),
               kEntropy ? __shfl_xor_sync(kAllLanes, node.a, mask) : -0.0F});
  }
  return node;
}

/// The node of a leaf of any logits, by the contract's own steps: rare, hence short code, which
/// loads the logits twice.
template <bool k32, bool kEntropy>
__device__ __forceinline__ arithmetic::LogNode far_leaf(const RowsOfLogits& z, std::int64_t row,
                                                        std::int64_t first, float scale) {
  using namespace arithmetic;
  const auto term = [&](int i) {
    const bool exists = first + i < z.columns;
    return log_term(exists ? mul_rn(load_logit<k32>(z, row, first + i), scale)
                           : __uint_as_float(0xff800000U));
  };
  std::int32_t k = kLogAbsent;
#pragma unroll 1
  for (int i = 0; i < kLogLeaf; ++i) k = max(k, term(i).n);
  float s[2] = {0.0F, 0.0F}, a[2] = {-0.0F, -0.0F};  // of columns that differ in bits 0, 3 and 1
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    float f[4], g[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const LogTerm t = term(2 * i + j % 2 + j / 2 * 8);
      const float power = power_below(t.n - k);
      f[j] = mul_rn(t.f, power);
      g[j] = mul_rn(t.g, power);
    }
    const auto four = [](const float(&t)[4]) {
      return add_rn(add_rn(t[0], t[1]), add_rn(t[2], t[3]));
    };
    if (i == 2) {
      s[0] = s[1];
      a[0] = a[1];
    }
    s[1] = i % 2 == 0 ? four(f) : add_rn(s[1], four(f));
    if constexpr (kEntropy) a[1] = i % 2 == 0 ? four(g) : add_rn(a[1], four(g));
  }
  return {k, canonical(add_rn(s[0], s[1])), kEntropy ? canonical(add_rn(a[0], a[1])) : -0.0F};
}

/// The node of a chunk of any logits.
template <bool k32, bool kEntropy>
__device__ __forceinline__ arithmetic::LogNode far_chunk(const RowsOfLogits& z, std::int64_t row,
                                                         int chunk, float scale, int lane) {
  arithmetic::LogNode left = arithmetic::absent_node(), right = left;
#pragma unroll 1
  for (int p = 0; p < kPieces; ++p) {
    const std::int64_t first =
        (std::int64_t{chunk} * kChunkLeaves + p * 32 + lane) * arithmetic::kLogLeaf;
    arithmetic::LogNode node = arithmetic::absent_node();
    if (first < z.columns) node = far_leaf<k32, kEntropy>(z, row, first, scale);
    node = join_lanes<kEntropy>(node);
    if (p == 2) left = right;
    right = p % 2 == 0 ? node : arithmetic::log_join(right, node);
  }
  return arithmetic::log_join(left, right);
}

/// The plain sums of a leaf whose logits are loaded one at a time.
template <bool k32, bool kEntropy, bool kScaled>
__device__ __forceinline__ void add_singly(const RowsOfLogits& z, std::int64_t row, int leaf,
                                           float scale, Range<k32, kEntropy>& range, float& sum,
                                           float& weighted) {
  const std::int64_t col = std::int64_t{leaf} * arithmetic::kLogLeaf;
  float e[arithmetic::kLogLeaf], w[arithmetic::kLogLeaf];
#pragma unroll
  for (int i = 0; i < arithmetic::kLogLeaf; ++i) {
    e[i] = w[i] = 0.0F;
    if (col + i < z.columns) {
      const float logit = load_logit<k32>(z, row, col + i);
      const float x = kScaled ? arithmetic::mul_rn(logit, scale) : logit;
      range.add(logit);
      e[i] = arithmetic::near_exponential(x);
      if constexpr (kEntropy) w[i] = arithmetic::mul_rn(e[i], x);
    }
  }
  sum = arithmetic::add_leaf(e);
  weighted = kEntropy ? arithmetic::add_leaf(w) : 0.0F;
}

/// Whether the logits of a chunk of a row are near, and then its node, which all lanes have. Sums
/// are plain (core/arithmetic/log_near.hpp), and a column that does not exist adds +0 to them.
///
///   kAligned   the words of whole leaves begin at multiples of 16 bytes
///   else       such words are moved to a leaf's beginning
///
/// What reaches beyond the row's last whole leaf or bytes, and columns at a distance, are loaded
/// one at a time.
template <bool k32, bool kEntropy, bool kScaled, bool kAligned>
__device__ __forceinline__ bool near_chunk(const RowsOfLogits& z, std::int64_t row, int chunk,
                                           float scale, int lane, arithmetic::LogNode& node) {
  const int first = chunk * kChunkLeaves + lane;
  float sums[kPieces], weighted[kPieces];
  Range<k32, kEntropy> range;
  // Behind the last leaf that leaf is loaded again: its sum does not count. Its range may make this
  // chunk's exponent a higher one, or send it to far_chunk, and moves no bit: exponents of near
  // logits scale exactly.
  const auto add = [&](int p, int last, const LeafWords<k32>& words) {
    range.add(words);
    add_leaf<kEntropy, kScaled>([&](int i) { return words.get(i); }, scale, sums[p], weighted[p]);
    const bool exists = first + 32 * p <= last;
    sums[p] = exists ? sums[p] : 0.0F;
    weighted[p] = kEntropy && exists ? weighted[p] : 0.0F;
  };
  int last;  // of the leaves that are loaded whole
  if constexpr (kAligned) {
    last = static_cast<int>(z.columns) / arithmetic::kLogLeaf - 1;
    const char* const line =
        static_cast<const char*>(z.data) + row * z.at.row * static_cast<int>(k32 ? 4 : 2);
    LeafWords<k32> next;
    next.load(line, min(first, last));
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      const LeafWords<k32> words = next;
      if (p + 1 < kPieces) next.load(line, min(first + 32 * (p + 1), last));
      add(p, last, words);
    }
  } else {
    const auto from = ShiftedRow::of<k32>(z, row);
    last = from.whole - 1;
#pragma unroll
    for (int p = 0; p < kPieces; ++p) sums[p] = weighted[p] = 0.0F;
    if (last >= 0) {
      ShiftedWords<k32> next;
      next.load(from, min(first, last));
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        const ShiftedWords<k32> words = next;
        if (p + 1 < kPieces) next.load(from, min(first + 32 * (p + 1), last));
        add(p, last, words.leaf(from.shift));
      }
    }
  }
  const int leaves =
      static_cast<int>((z.columns + arithmetic::kLogLeaf - 1) / arithmetic::kLogLeaf);
  if (last + 1 < min(leaves, (chunk + 1) * kChunkLeaves)) {
#pragma unroll 1
    for (int q = 0; q < kPieces; ++q) {
      const int leaf = first + 32 * q;
      const bool is_left = leaf > last && leaf < leaves;
      if (!__any_sync(kAllLanes, is_left)) continue;
      float sum = 0.0F, more = 0.0F;
      if (is_left) {
        add_singly<k32, kEntropy, kScaled>(z, row, leaf, scale, range, sum, more);
      }
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        if (p == q && is_left) {
          sums[p] = sum;
          weighted[p] = more;
        }
      }
    }
  }
  float highest;
  const bool near = range.near(kScaled ? scale : 1.0F, highest);
  if (!__all_sync(kAllLanes, near)) return false;
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) {
    highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, mask));
  }
  node = arithmetic::near_node(highest, sum_of_chunk(sums, lane),
                               kEntropy ? sum_of_chunk(weighted, lane) : -0.0F);
  return true;
}

}  // namespace detgemm::cuda::log_prob

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"
#include "cuda/sm90/ptx/cp_async.cuh"
#include "cuda/sm90/ptx/memory.cuh"

namespace detgemm::cuda::mma {

namespace ptx = sm90::ptx;

/// What is left of k from the block on that is loaded or computed next. Blocks begin at the leaves,
/// and the last block of a leaf may be short:
///
///   leaf 0                    leaf 1
///   [k .. k+31][k+32 .. end)  [k .. k+31] ...       what is missing of a block is zero
template <bool kLeaves>
struct Cursor {
  std::int64_t left;  ///< of the block's leaf
  std::int64_t rest;  ///< after that leaf

  __device__ __forceinline__ explicit Cursor(const Params& p)
      : left(p.leaf_k < p.k ? p.leaf_k : p.k), rest(p.k - left) {}
  __device__ __forceinline__ bool done() const { return left <= 0; }
  __device__ __forceinline__ bool ends_leaf(int block) const { return left <= block; }
  /// k of the block, which is not behind the last one.
  __device__ __forceinline__ int count(const Params&, int block) const {
    return left < block ? static_cast<int>(left) : block;
  }
  __device__ __forceinline__ void advance(const Params& p, int block) {
    left -= block;
    if (left <= 0 && rest > 0) {
      left = p.leaf_k < rest ? p.leaf_k : rest;
      rest -= left;
    }
  }
};
/// A chain is its only leaf.
template <>
struct Cursor<false> {
  int left;  ///< blocks

  __device__ __forceinline__ explicit Cursor(const Params& p) : left(p.blocks) {}
  __device__ __forceinline__ bool done() const { return left <= 0; }
  __device__ __forceinline__ int count(const Params& p, int block) const {
    return left == 1 ? p.last : block;
  }
  __device__ __forceinline__ void advance(const Params&, int) { --left; }
};

/// Brings one operand's share of a stage to shared memory: kLines lines of kK products. What is
/// after the leaf is zero, in both operands. Lines outside of the operand are what was there
/// before: they reach no output that is stored.
///
/// A thread copies chunk t, t + kThreads, ... of a stage, which is (lines, chunks of k) along k and
/// (k, chunks of lines) across it. Where chunks of a thread are a multiple of 8 rows apart, the
/// swizzle moves them alike; where they are fewer rows apart, by an exclusive or of a constant for
/// each piece.
///
/// A copy keeps the registers of its address for long. So each piece has an address of its own that
/// changes a whole stage after its last use (kApart), where sums leave enough registers; elsewhere
/// one address runs over all pieces.
template <DType T, int kLines, int kK, int kThreads, bool kAlong, bool kApart>
class Loader {
  static constexpr int kChunks = kLines * kK / 8;  // of 16 bytes
  static constexpr int kEach = kChunks / kThreads;
  static constexpr int kPerLine = kK / 8, kPerK = kLines / 8;
  static constexpr int kRows = kThreads / kPerLine, kRowsAcross = kThreads / kPerK;  // of a step
  static_assert(kChunks % kThreads == 0 && (kAlong || kRowsAcross % 8 == 0),
                "A thread's chunks are whole steps; across k, of a multiple of 8 rows.");
  static_assert(kRows % 8 == 0 || (kPerLine >= 8 && 8 % kRows == 0),
                "A piece moves by an exclusive or.");

 public:
  static constexpr int kPieces = kEach;

  /// Goes to the first block of lines [line0, end).
  __device__ __forceinline__ void seat(const Operand& o, std::int64_t line0, std::int64_t end) {
    const bool across = is_across(o);
    const int thread = static_cast<int>(threadIdx.x);
    const int row = across ? thread / kPerK : thread / kPerLine;
    const int column = across ? thread % kPerK : thread % kPerLine;
    const std::int64_t line = line0 + (across ? column * 8 : row);
    const std::int64_t k = across ? row : column * 8;
    const char* from =
        reinterpret_cast<const char*>(o.data + line * o.line_stride + k * o.k_stride);
    if constexpr (kApart) from -= block(o);
#pragma unroll
    for (int i = 0; i < kAddresses; ++i, from += o.step) at_[i] = from;
    const std::int64_t left = (end < o.lines ? end : o.lines) - line;
    left_ = left <= 0 ? 0 : left >= kLines ? kLines : static_cast<int>(left);
    const int place = across ? swizzled(row, column, kPerK) : swizzled(row, column, kPerLine);
    place_ = static_cast<std::uint32_t>(place) * 16;
  }

  /// A stage begins: a whole block that cp.async reads is copied into it piece by piece, if there
  /// is one.
  __device__ __forceinline__ void begin(bool whole, std::uint32_t to) {
    to_ = ptx::kept(to + place_);
    now_ = whole ? left_ : 0;
  }
  /// Pieces 0 .. kPieces - 1, in this order.
  template <int piece>
  __device__ __forceinline__ void load(const Operand& o) {
    const std::uint32_t to = at_piece(to_, piece);
    const char*& at = at_[kApart ? piece : 0];
    if constexpr (kApart) at = ptx::kept(at + block(o));
    if (is_across(o)) {
      if (now_ > 0) ptx::cp_async_16_zeros(to, at, now_ >= 8 ? 16 : 2 * now_);
    } else {
      ptx::cp_async_16_if<piece * kRows>(to, at, now_);
    }
    if constexpr (!kApart) at += piece + 1 < kEach ? o.step : o.step + o.back;
  }

  /// A block of `count` products, and zeros after them, at any strides, before the pieces, which
  /// are not copied then.
  __device__ __forceinline__ void load_part(const Operand& o, std::uint32_t to, int count) {
    const char* from = kApart ? at_[0] + block(o) : at_[0];
    const int column = static_cast<int>(threadIdx.x) % kPerLine;
    const int inside = count <= column * 8 ? 0 : count >= column * 8 + 8 ? 8 : count - column * 8;
#pragma unroll 1
    for (int i = 0; i < kEach; ++i, from += o.step) {
      const std::uint32_t place = at_piece(to + place_, i);
      if (is_across(o)) {
        const int row = i * kRowsAcross + static_cast<int>(threadIdx.x) / kPerK;
        const int bytes = left_ >= 8 ? 16 : 2 * left_;
        ptx::cp_async_16_zeros(place, from, row < count ? bytes : 0);
      } else if (kAlong || o.way == Way::along) {
        if (i * kRows < left_) ptx::cp_async_16_zeros(place, from, 2 * inside);
      } else if (i * kRows < left_) {
        load_any(o, from, place, inside);
      }
    }
    const std::int64_t less = 2 * (count - kK) * o.k_stride;  // the pieces go on by kK
#pragma unroll
    for (int i = 0; i < kAddresses; ++i) at_[i] += less;
  }

 private:
  static __device__ __forceinline__ bool is_across(const Operand& o) {
    return !kAlong && o.way == Way::across;
  }

  static __device__ __forceinline__ std::int64_t block(const Operand& o) {
    return kAlong ? 2 * kK : o.block;
  }
  static __device__ __forceinline__ std::uint32_t at_piece(std::uint32_t first, int piece) {
    const int flip = kRows % 8 == 0 ? 0 : piece * kRows % 8;
    return (first ^ static_cast<std::uint32_t>(flip * 16)) +
           static_cast<std::uint32_t>(piece * kThreads * 16);
  }

  static __device__ __forceinline__ void load_any(const Operand& o, const char* at,
                                                  std::uint32_t to, int count) {
    const auto* from = reinterpret_cast<const std::uint16_t*>(at);
    std::uint32_t pair[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint16_t* at_pair = from + 2 * i * o.k_stride;
      if constexpr (T == DType::tf32) {
        pair[i] = 2 * i < count ? *reinterpret_cast<const std::uint32_t*>(at_pair) : 0U;
      } else {
        pair[i] = 2 * i < count ? at_pair[0] : 0U;
        if (2 * i + 1 < count) pair[i] |= std::uint32_t{at_pair[o.k_stride]} << 16;
      }
    }
    ptx::st_shared_v4_u32(to, make_uint4(pair[0], pair[1], pair[2], pair[3]));
  }

  static constexpr int kAddresses = kApart ? kEach : 1;
  const char* at_[kAddresses];  ///< kApart: in the block before the next one; else the next chunk
  int left_;                    ///< lines of the tile from its first chunk's on, at most kLines
  std::uint32_t place_;         ///< of the first chunk in a stage
  int now_;                     ///< left_, or 0 where no piece is copied
  std::uint32_t to_;            ///< the first chunk in this stage
};

}  // namespace detgemm::cuda::mma

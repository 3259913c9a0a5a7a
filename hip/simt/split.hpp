// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/snap3.hpp"
#include "hip/simt/snap.hpp"
#include "hip/split_arguments.hpp"

/// What comes before a product of `snap3`: an operand of bf16 or fp32 numbers is split, leaf by
/// leaf, into two parts on grids of their own, as core/arithmetic/snap3.hpp defines, and written
/// three times as ordinary bf16. Threads lie over an operand as they do in snap.hpp.
///
///     numbers a --near--> grid t --> p = first   --a - p--> grid s --> q = second
///
///     copy of a leaf   |p first   |p bare    |q second  |   of A, each of `leaf_k` numbers; those
///                      |p first   |q second  |p bare    |   of B    beyond a short leaf are +0
namespace detgemm::hip::simt {

/// Some numbers of a leaf, of which the first `count` exist; the others are +0.
struct SplitPiece {
  float value[kSplitPiece];
  int count;
};

/// A piece as it lies in aligned memory.
template <DType T>
struct SplitChunk;
template <>
struct alignas(16) SplitChunk<DType::fp32> {
  std::uint32_t words[kSplitPiece];
  DETGEMM_DEVICE std::uint32_t get(int i) const { return words[i]; }
};
template <>
struct alignas(8) SplitChunk<DType::bf16> {
  std::uint32_t words[kSplitPiece / 2];
  DETGEMM_DEVICE std::uint16_t get(int i) const {
    return static_cast<std::uint16_t>(words[i / 2] >> (i % 2 * 16));
  }
};

template <DType T>
DETGEMM_DEVICE SplitPiece load_numbers(const arithmetic::Storage<T>* from, std::int64_t stride,
                                       bool chunks, std::int64_t left) {
  SplitPiece piece;
  piece.count = left < kSplitPiece ? static_cast<int>(left) : kSplitPiece;
  SplitChunk<T> chunk{};
  if (chunks && piece.count == kSplitPiece) {
    chunk = *reinterpret_cast<const SplitChunk<T>*>(from);
#pragma unroll
    for (int i = 0; i < kSplitPiece; ++i) piece.value[i] = arithmetic::to_float<T>(chunk.get(i));
    return piece;
  }
#pragma unroll
  for (int i = 0; i < kSplitPiece; ++i) {
    // What lies beyond the leaf is not read: it is another leaf, or not the caller's.
    piece.value[i] = 0.0F;
    if (i < piece.count) piece.value[i] = arithmetic::to_float<T>(from[i * stride]);
  }
  return piece;
}

/// Some words of bf16 numbers.
struct SplitWords {
  std::uint32_t bits[kSplitPiece];
};

/// A word in a register of its own: no instruction then works on two words at a time, of which the
/// interpreter of tests/gcn knows none.
DETGEMM_DEVICE std::uint32_t alone(std::uint32_t word) {
#if defined(__HIP__)
  asm("" : "+v"(word));
#endif
  return word;
}

/// A piece of a copy, which lies aligned and is whole.
DETGEMM_DEVICE SplitWords load_words(const std::uint16_t* from) {
  const auto chunk = *reinterpret_cast<const SplitChunk<DType::bf16>*>(from);
  SplitWords words;
#pragma unroll
  for (int i = 0; i < kSplitPiece; ++i) words.bits[i] = chunk.get(i);
  return words;
}
DETGEMM_DEVICE void store_words(std::uint16_t* to, const SplitWords& words) {
  SplitChunk<DType::bf16> chunk;
#pragma unroll
  for (int i = 0; i < kSplitPiece / 2; ++i) {
    chunk.words[i] = words.bits[2 * i] | words.bits[2 * i + 1] << 16;
  }
  *reinterpret_cast<SplitChunk<DType::bf16>*>(to) = chunk;
}

/// Splits the leaves that belong to this workgroup: kRows rows of one leaf at a time, leaf by leaf.
/// Each grid is searched as snap_leaves searches one. What the first part leaves of the numbers
/// waits where the second part will be: a thread reads there what it wrote itself.
///
///     near(a) --search--> t     p, p bare and bf16(a - p) are written
///     bf16(a - p) --search--> s     q takes its place
template <DType T, bool kAlongK>
DETGEMM_DEVICE void split_leaves(const SplitArguments& argument) {
  using Threads = SnapThreads<kAlongK>;
  using Number = arithmetic::Storage<T>;
  __shared__ std::uint64_t shared[2][kThreads];
  const int thread = thread_index();
  const int row = Threads::row(thread);
  const int member = Threads::member(thread);
  RowJoin<Threads> join{shared, thread, row};
#pragma unroll 1
  for (std::int64_t unit = block_index(); unit < reload(argument).units;
       unit += reload(argument).blocks) {
    const SplitArguments& a = reload(argument);
    const std::int64_t leaf = unit / a.row_blocks;
    const std::int64_t begin = leaf * a.leaf_k;
    const std::int64_t at = unit % a.row_blocks * Threads::kRows + row;
    const std::int64_t left = a.k - begin < a.leaf_k ? a.k - begin : a.leaf_k;
    const bool exists = at < a.rows;  // others take part in the barriers alone
    const std::int64_t count = exists ? left : 0;
    const std::int64_t whole = exists ? a.leaf_k : 0;
    const Number* from = static_cast<const Number*>(a.from) + (at * a.from_row + begin * a.from_k);
    const std::int64_t from_k = a.from_k;
    const bool chunks = a.from_chunks != 0;
    std::uint16_t* const to = a.to + (at * a.to_row + begin * arithmetic::kSnap3Sums);
    std::uint16_t* const bare = to + (a.of_a != 0 ? 1 : 2) * a.leaf_k;
    std::uint16_t* const second = to + (a.of_a != 0 ? 2 : 1) * a.leaf_k;
    const auto numbers = [&](std::int64_t i) {
      return load_numbers<T>(from + i * from_k, from_k, chunks, count - i);
    };
    // The words whose grid is searched.
    const auto searched = [&](int part, std::int64_t i) {
      if (part != 0) return load_words(second + i);
      const SplitPiece piece = numbers(i);
      SplitWords words;
#pragma unroll
      for (int j = 0; j < kSplitPiece; ++j) {
        words.bits[j] = alone(arithmetic::snap3_near(piece.value[j]));
      }
      return words;
    };
    constexpr std::int64_t kStep = std::int64_t{Threads::kMembers} * kSplitPiece;
    const std::int64_t mine = std::int64_t{member} * kSplitPiece;

#pragma unroll 1
    for (int part = 0; part < 2; ++part) {
      const int t = search_grid(join, reload(argument).tries, [&](auto&& use) {
#pragma unroll 1
        for (std::int64_t i = mine; i < count; i += kStep) {
          const SplitWords words = searched(part, i);
#pragma unroll
          for (const std::uint32_t bits : words.bits) use(static_cast<std::uint16_t>(bits));
        }
      });
      if (part != 0) {
#pragma unroll 1
        for (std::int64_t i = mine; i < count; i += kStep) {
          SplitWords words = load_words(second + i);
#pragma unroll
          for (std::uint32_t& bits : words.bits) {
            bits = arithmetic::snapped(static_cast<std::uint16_t>(bits), t);
          }
          store_words(second + i, words);
        }
        continue;
      }
#pragma unroll 1
      for (std::int64_t i = mine; i < whole; i += kStep) {
        const SplitPiece piece = numbers(i);
        SplitWords first, without, rest;
#pragma unroll
        for (int j = 0; j < kSplitPiece; ++j) {
          // Beyond a short leaf all parts are +0, even where the leaf has no grid.
          const bool inside = j < piece.count;
          const float value = piece.value[j];
          const std::uint16_t bits = arithmetic::snapped(arithmetic::snap3_near(value), t);
          first.bits[j] = alone(inside ? bits : 0U);
          without.bits[j] = alone(inside ? arithmetic::snap3_bare(bits) : 0U);
          rest.bits[j] = alone(inside ? arithmetic::snap3_rest(value, bits) : 0U);
        }
        store_words(to + i, first);
        store_words(bare + i, without);
        store_words(second + i, rest);
      }
    }
  }
}

}  // namespace detgemm::hip::simt

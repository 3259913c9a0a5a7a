// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/snap/leaf.hpp"
#include "cuda/snap/memory.hpp"

/// A leaf of 64 vectors across k, by one CTA: memory runs along the vectors. `Team` is the CTA: on
/// a device its threads, on a host a loop over their states, so that a test runs this very code.
///
///               lane 0  1       31
///     warp 0     k 0  |aa|bb| ... |ff|      a thread has two vectors, and of each every
///     warp 1     k 1  |aa|bb| ... |ff|      kWarps-th number; sums of the warps meet in
///       ...      ...                        shared memory
///     warp 0     k 4  |aa|bb| ... |ff|
namespace detgemm::cuda::snap {

template <int kWords>
struct ColumnWords {
  std::uint32_t word[kWords];
  bool special;  ///< there was an Inf or NaN, in whose place the words have +0
  int t[2];      ///< the grids of both vectors, when they are known
};

/// A sum of two vectors.
struct Pair {
  std::uint32_t low, high;
};

/// What the warps tell each other. A part is written again only when a barrier is between that
/// and its last reading, so one leaf after the other needs no more barriers than the three of a
/// leaf.
template <int kWarps>
struct Shared {
  std::uint32_t largest[kWarps][32];
  Pair first[kWarps][32], second[kWarps][32];
};

/// Squares of the lower halves and of the upper ones apart: their grids differ.
DETGEMM_HD Pair pair_of_squares(std::uint32_t word, std::uint32_t low_at, std::uint32_t high_at) {
  const auto low = static_cast<std::uint32_t>(units(low_value(word), low_at));
  const auto high = static_cast<std::uint32_t>(units(high_value(word), high_at));
  return {low * low, high * high};
}
DETGEMM_HD std::uint32_t on_grids(std::uint32_t word, int low_t, int high_t) {
  return (on_grid(word, low_t) & 0xffffU) | (on_grid(word, high_t) & 0xffff0000U);
}

template <int kWords>
DETGEMM_HD Pair squares_of(const ColumnWords<kWords>& s) {
  Pair sum{0, 0};
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i) {
    const Pair of = pair_of_squares(s.word[i], rounder_of(s.t[0]), rounder_of(s.t[1]));
    sum.low += of.low;
    sum.high += of.high;
  }
  return sum;
}
template <int kWarps>
DETGEMM_HD Pair total(const Pair (&parts)[kWarps][32], int lane) {
  Pair sum{0, 0};
  DETGEMM_UNROLL
  for (int w = 0; w < kWarps; ++w) {
    sum.low += parts[w][lane].low;
    sum.high += parts[w][lane].high;
  }
  return sum;
}

/// A place among the leaves: 64 vectors from `vector` on.
struct ColumnPlace {
  std::int64_t vector = 0, leaf = 0;
};

/// A thread's part of a leaf: numbers first, first + kWarps, ... below `end` of the vectors from
/// `vector` on, of which `count` (0, 1 or 2) exist.
struct ColumnPart {
  std::int64_t vector, first, end;
  int count;
};
DETGEMM_HD ColumnPart part_of(const Operand& o, const ColumnPlace& p, int warp, int lane) {
  const std::int64_t begin = p.leaf * o.leaf;
  const std::int64_t end = begin + o.leaf < o.k ? begin + o.leaf : o.k;
  const std::int64_t left = o.vectors - (p.vector + 2 * lane);
  return {p.vector + 2 * lane, begin + warp, end,
          left < 0   ? 0
          : left < 2 ? static_cast<int>(left)
                     : 2};
}

/// Loads a thread's words; +0 for what does not exist.
template <int kWords, int kWarps>
DETGEMM_HD void load_part(const Operand& o, const ColumnPart& part, ColumnWords<kWords>& s) {
  const std::uint16_t* from = o.from + part.vector + part.first * o.from_k;
  const std::int64_t step = kWarps * o.from_k;
  const auto lines = static_cast<int>(part.end - part.first);  // that are left
  const bool wide = part.count == 2 && o.from_bytes >= 4;
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i, from += step) {
    s.word[i] = 0;
    if (i * kWarps >= lines) continue;
    if (wide) {
      load_words<1>(from, &s.word[i]);
    } else {
      s.word[i] = load_pair(from, part.count);
    }
  }
}

/// Rounds a thread's numbers to the grids of both vectors and writes them, one by one where they do
/// not go by words or some are Inf or NaN.
template <int kWords, int kWarps>
DETGEMM_HD void store_part(const Operand& o, const ColumnPart& part, int low_t, int high_t,
                           const ColumnWords<kWords>& s) {
  const std::uint16_t* from = o.from + part.vector + part.first * o.from_k;
  std::uint16_t* to = o.to + part.vector + part.first * o.to_k;
  const std::int64_t step = kWarps * o.to_k;
  const auto lines = static_cast<int>(part.end - part.first);
  if (!s.special && part.count == 2 && o.to_bytes >= 4) {
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; ++i, to += step) {
      if (i * kWarps >= lines) continue;
      const std::uint32_t word = on_grids(s.word[i], low_t, high_t);
      store_words<1>(to, &word);
    }
    return;
  }
  DETGEMM_NO_UNROLL
  for (int i = 0; i < lines; i += kWarps, to += step, from += kWarps * o.from_k) {
    if (part.count >= 1) to[0] = one_on_grid(from[0], low_t);
    if (part.count == 2) to[1] = one_on_grid(from[1], high_t);
  }
}

/// One leaf of 64 vectors: at most kWords * kWarps numbers each.
template <int kWords, int kWarps, class Team>
DETGEMM_HD void snap_columns(const Operand& o, const ColumnPlace& p, Team& team,
                             Shared<kWarps>& shared) {
  team.each([&](int warp, int lane, auto& s) {
    load_part<kWords, kWarps>(o, part_of(o, p, warp, lane), s);
    std::uint32_t flags = 0, most = 0;
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; ++i) flags |= special_halves(s.word[i]);
    s.special = flags != 0;
    if (s.special) {
      DETGEMM_UNROLL
      for (int i = 0; i < kWords; ++i) s.word[i] = finite_part(s.word[i]);
    }
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; ++i) most = larger(most, magnitudes(s.word[i]));
    shared.largest[warp][lane] = most;
  });
  team.sync();
  team.each([&](int warp, int lane, auto& s) {
    std::uint32_t most = 0;
    DETGEMM_UNROLL
    for (int w = 0; w < kWarps; ++w) most = larger(most, shared.largest[w][lane]);
    s.t[0] = begins_at(most & 0xffffU);
    s.t[1] = begins_at(most >> 16);
    shared.first[warp][lane] = squares_of(s);
  });
  team.sync();
  team.each([&](int warp, int lane, auto& s) {
    const Pair sum = total(shared.first, lane);
    if (s.t[0] != kHopeless) s.t[0] = narrowed(s.t[0], sum.low);
    if (s.t[1] != kHopeless) s.t[1] = narrowed(s.t[1], sum.high);
    shared.second[warp][lane] = squares_of(s);
  });
  team.sync();
  team.each([&](int warp, int lane, auto& s) {
    const Pair sum = total(shared.second, lane);
    const int low = s.t[0] != kHopeless ? decided(s.t[0], sum.low) : arithmetic::kSnapNone;
    const int high = s.t[1] != kHopeless ? decided(s.t[1], sum.high) : arithmetic::kSnapNone;
    store_part<kWords, kWarps>(o, part_of(o, p, warp, lane), low, high, s);
  });
}

}  // namespace detgemm::cuda::snap

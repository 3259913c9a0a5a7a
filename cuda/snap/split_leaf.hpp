// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/snap3.hpp"
#include "cuda/snap/long_leaf.hpp"
#include "cuda/snap/rows.hpp"
#include "cuda/snap/split.hpp"

/// A leaf of snap3, by one warp: its numbers stay in registers, and both grids are searched as
/// rows.hpp searches one. `Team` is a warp, as there, with a SplitWords per lane.
///
///     numbers --near--> words --grid--> first, bare --a - first--> words --grid--> second
///
///     copy   |first   |bare    |second  |   of A, in leaves of `leaf` numbers; what is past
///            |first   |second  |bare    |   of B    the end of a short leaf counts as +0
namespace detgemm::cuda::snap {

template <int kWords>
struct SplitWords : LaneWords<kWords> {
  float value[2 * kWords];
};

DETGEMM_HD std::uint32_t pair_of(std::uint16_t low, std::uint16_t high) {
  return static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 16;
}
DETGEMM_HD std::uint32_t near_pair(float low, float high) {
  return pair_of(arithmetic::snap3_near(low), arithmetic::snap3_near(high));
}
/// Two numbers on the grid 2^t, Inf and NaN among them.
DETGEMM_HD std::uint32_t pair_on_grid(std::uint32_t word, int t) {
  if (special_halves(word) == 0) return on_grid(word, t);
  return pair_of(one_on_grid(static_cast<std::uint16_t>(word), t),
                 one_on_grid(static_cast<std::uint16_t>(word >> 16), t));
}
DETGEMM_HD std::uint32_t rest_pair(float low, float high, std::uint32_t first) {
  return pair_of(arithmetic::snap3_rest(low, static_cast<std::uint16_t>(first)),
                 arithmetic::snap3_rest(high, static_cast<std::uint16_t>(first >> 16)));
}

/// The numbers of a leaf that exist, and where they are.
struct SplitPlace {
  std::int64_t offset;  ///< of the first one in `from`
  std::int64_t count;
  std::uint16_t* to;  ///< the first of the three parts
};
DETGEMM_HD SplitPlace place_of(const SplitOperand& o, std::int64_t vector, std::int64_t leaf) {
  const std::int64_t begin = leaf * o.leaf;
  return {vector * o.from_vector + begin * o.from_k, o.k - begin < o.leaf ? o.k - begin : o.leaf,
          o.to + vector * o.to_vector + begin * arithmetic::kSnap3Sums};
}
DETGEMM_HD std::uint16_t* bare_of(const SplitOperand& o, const SplitPlace& p) {
  return p.to + (o.of_a ? 1 : 2) * o.leaf;
}
DETGEMM_HD std::uint16_t* second_of(const SplitOperand& o, const SplitPlace& p) {
  return p.to + (o.of_a ? 2 : 1) * o.leaf;
}

/// Number i of a leaf in fp32; +0 behind its end.
template <DType T>
DETGEMM_HD float load_number(const SplitOperand& o, const SplitPlace& p, std::int64_t i) {
  if (i >= p.count) return 0.0F;
  const auto* from = static_cast<const arithmetic::Storage<T>*>(o.from);
  return arithmetic::to_float<T>(from[p.offset + i * o.from_k]);
}

/// 2 * kAtOnce numbers from `first` on, which exist and may be loaded by words.
template <DType T, int kAtOnce>
DETGEMM_HD void load_chunk(const SplitOperand& o, const SplitPlace& p, int first, float* value) {
  if constexpr (T == DType::bf16) {
    std::uint32_t word[kAtOnce];
    load_words<kAtOnce>(static_cast<const std::uint16_t*>(o.from) + p.offset + first, word);
    DETGEMM_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      value[2 * i] = low_value(word[i]);
      value[2 * i + 1] = high_value(word[i]);
    }
  } else {
    constexpr int kStep = kAtOnce == 1 ? 2 : 4;
    const auto* from = static_cast<const float*>(o.from) + p.offset + first;
    DETGEMM_UNROLL
    for (int i = 0; i < 2 * kAtOnce; i += kStep) {
      std::uint32_t word[kStep];
      load_words<kStep>(reinterpret_cast<const std::uint16_t*>(from + i), word);
      DETGEMM_UNROLL
      for (int j = 0; j < kStep; ++j) value[i + j] = arithmetic::float_of(word[j]);
    }
  }
}

template <DType T, int kWords>
DETGEMM_HD void load_values(const SplitOperand& o, const SplitPlace& p, int lane,
                            SplitWords<kWords>& s) {
  constexpr int kAtOnce = kVector<kWords>;
  constexpr int kBytes = T == DType::bf16 ? 4 * kAtOnce : (kAtOnce == 1 ? 8 : 16);
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; i += kAtOnce) {
    const int first = number_of<kWords>(lane, i);
    if (o.from_bytes >= kBytes && first + 2 * kAtOnce <= p.count) {
      load_chunk<T, kAtOnce>(o, p, first, &s.value[2 * i]);
    } else {
      DETGEMM_UNROLL
      for (int j = 0; j < 2 * kAtOnce; ++j) s.value[2 * i + j] = load_number<T>(o, p, first + j);
    }
  }
}

/// Writes a lane's words of one part; what is past the copy's leaf does not exist.
template <int kWords>
DETGEMM_HD void store_part(const SplitOperand& o, std::uint16_t* to, int lane,
                           const std::uint32_t* word) {
  constexpr int kAtOnce = kVector<kWords>;
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; i += kAtOnce) {
    const int first = number_of<kWords>(lane, i);
    if (first < o.leaf) store_words<kAtOnce>(to + first, word + i);
  }
}

/// One leaf of at most 64 * kWords numbers.
template <DType T, int kWords, class Team>
DETGEMM_HD void split_leaf(const SplitOperand& o, std::int64_t vector, std::int64_t leaf,
                           Team& team) {
  const SplitPlace p = place_of(o, vector, leaf);
  team.each([&](int lane, auto& s) {
    load_values<T, kWords>(o, p, lane, s);
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; ++i) {
      s.word[i] = finite_part(near_pair(s.value[2 * i], s.value[2 * i + 1]));
    }
  });
  const int t = grid_of(team);
  team.each([&](int lane, auto& s) {
    std::uint32_t first[kWords], bare[kWords];
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; ++i) {
      const float low = s.value[2 * i], high = s.value[2 * i + 1];
      first[i] = pair_on_grid(near_pair(low, high), t);
      bare[i] = finite_part(first[i]);
      s.word[i] = rest_pair(low, high, first[i]);
    }
    store_part<kWords>(o, p.to, lane, first);
    store_part<kWords>(o, bare_of(o, p), lane, bare);
  });
  const int second = grid_of(team);
  team.each([&](int lane, auto& s) {
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; ++i) s.word[i] = on_grid(s.word[i], second);
    store_part<kWords>(o, second_of(o, p), lane, s.word);
  });
}

/// A leaf of any length. `Team`: see long_leaf.hpp.
template <DType T, class Team>
DETGEMM_HD void split_long_leaf(const SplitOperand& o, std::int64_t vector, std::int64_t leaf,
                                Team& team) {
  const SplitPlace p = place_of(o, vector, leaf);
  const auto near = [&](std::int64_t i) { return arithmetic::snap3_near(load_number<T>(o, p, i)); };
  arithmetic::Snap3Grids grids{};
  grids.first = long_grid(p.count, team, near);
  grids.second = long_grid(p.count, team, [&](std::int64_t i) {
    return arithmetic::snap3_rest(load_number<T>(o, p, i), one_on_grid(near(i), grids.first));
  });
  team.each(o.leaf, [&](std::int64_t i) {
    const float value = load_number<T>(o, p, i);
    const std::uint16_t first = one_on_grid(arithmetic::snap3_near(value), grids.first);
    p.to[i] = first;
    bare_of(o, p)[i] = arithmetic::snap3_bare(first);
    second_of(o, p)[i] = one_on_grid(arithmetic::snap3_rest(value, first), grids.second);
  });
}

}  // namespace detgemm::cuda::snap

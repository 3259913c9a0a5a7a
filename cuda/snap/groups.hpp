// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <bit>

#include "cuda/snap/rows.hpp"

/// Several leaves along k at a time by one warp, whose lanes form groups of kLanes. `Team` is the
/// warp: on a device 32 threads with the state of one lane each, on a host a loop over 32 states.
///
///     lane     0..7            8..15           16..23          24..31        kLanes 8, LEAF 128
///     leaf   |abcdefghabcdefgh|abcdefghabcdefgh|abcdefghabcdefgh|abcd...|    chunks of 8 numbers
///
/// The norm says which grid it is, but for one leaf in about a hundred, whose squares are summed
/// exactly. Let |a| be the norm of a leaf of n <= 1024 numbers, h = sqrt(n) / 2 rounded up, and q
/// the sum of a_i^2 in fp32, whose relative error is below 2^-17. The norm of a leaf changes by at
/// most h units when it is rounded, so
///
///     |a| <= 4096 - h units     S(t) <= 2^24: t is coarse enough     q <= (4095 - h)^2 * 4^t
///     |a| >  4096 + h units     S(t) >  2^24: t is too fine          q >= (4097 + h)^2 * 4^t
///
/// Multiplying by 4 adds 2^24 to the bits of an fp32 number, so the least t of the first line is a
/// subtraction and a shift. The grid is that t, unless t - 1 is between the two lines. A q that is
/// Inf or NaN results from numbers that are, or from a norm for which there is no grid.
namespace detgemm::cuda::snap {

/// What a lane holds of the leaf of its group: 2 * kWords numbers.
template <int kWords>
struct GroupLane {
  LaneWords<kWords> numbers;
  int t = 0;       ///< the grid, or what is known of it
  int length = 0;  ///< of the leaf; 0: there is none
  const std::uint16_t* from = nullptr;
  std::uint16_t* to = nullptr;
};

/// The first number of chunk `i` of a lane, in chunks of 8.
template <int kLanes>
DETGEMM_HD int chunk_of(int lane, int i) {
  return (i * kLanes + lane % kLanes) * 8;
}

/// The two lines of the drawing for leaves of at most kLongest numbers, as bits.
template <int kLongest>
struct Lines {
  static constexpr int half_root() {
    int h = 1;
    while (4 * h * h < kLongest) ++h;
    return h;  // sqrt(n) / 2, rounded up
  }
  /// The square of a whole number about 4096 as an fp32 number, rounded up.
  static constexpr std::uint32_t square(int root) {
    const int exact = root * root;
    return std::bit_cast<std::uint32_t>(
        static_cast<float>(exact + (exact > 1 << 24 ? exact & 1 : 0)));
  }
  static constexpr std::uint32_t kEnough = square(4096 - half_root() - 1);
  static constexpr std::uint32_t kTooFine = square(4096 + half_root() + 1);
};

inline constexpr int kAsks = 2000;  ///< the norm does not say which grid

/// The grid of a leaf, kSnapNone or kAsks. `q`: the bits of the sum of squares.
template <int kLongest>
DETGEMM_HD int grid_of_norm(std::uint32_t q) {
  using At = Lines<kLongest>;
  if ((q & 0x7fffffffU) >= 0x7f800000U) return kAsks;
  const int above = static_cast<int>(q - At::kEnough);  // of numbers below 2^31
  const int t = (above + 0x00ffffff) >> 24;
  if (t <= arithmetic::kSnapLeast) return arithmetic::kSnapLeast;
  // Where t - 1 would be in question.
  const std::uint32_t over = static_cast<std::uint32_t>(above - 1) & 0x00ffffffU;
  if (over < At::kTooFine - At::kEnough && t - 1 <= arithmetic::kSnapMost) return kAsks;
  return t > arithmetic::kSnapMost ? arithmetic::kSnapNone : t;
}

/// The sum of a lane's squares in fp32. Two sums, so that one addition need not wait for the other.
template <int kWords>
DETGEMM_HD float norm_of(const LaneWords<kWords>& s) {
  float low = 0, high = 0;
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i) {
    const float x = low_value(s.word[i]), y = high_value(s.word[i]);
    low = arithmetic::fma_rn(x, x, low);
    high = arithmetic::fma_rn(y, y, high);
  }
  return arithmetic::add_rn(low, high);
}

/// The grids of all leaves by the search of leaf.hpp. Inf and NaN are set aside.
template <class Team>
DETGEMM_HD void search_grids(Team& team) {
  team.each([](int, auto& s) { set_specials_aside(s.numbers); });
  team.max([](const auto& s) { return largest_of(s.numbers); },
           [](auto& s, std::uint32_t largest) { s.t = begins_at(largest); });
  const auto squares = [](const auto& s) {
    return s.t == kHopeless ? 0U : squares_of(s.numbers, s.t);
  };
  team.sum(squares, [](auto& s, std::uint32_t sum) {
    if (s.t != kHopeless) s.t = narrowed(s.t, sum);
  });
  team.sum(squares, [](auto& s, std::uint32_t sum) {
    s.t = s.t == kHopeless ? arithmetic::kSnapNone : decided(s.t, sum);
  });
}

/// Where the leaf of a lane's group is; `index` counts the leaves of all vectors.
template <int kWords>
DETGEMM_HD void place(const Operand& o, std::uint32_t index, GroupLane<kWords>& s) {
  s.length = 0;
  if (index >= o.total) return;
  const std::uint32_t vector = o.by_leaves.quotient(index);
  const Place at{static_cast<std::int64_t>(vector),
                 static_cast<std::int64_t>(index - vector * static_cast<std::uint32_t>(o.leaves))};
  s.length = length_of(o, at);
  s.from = from_of(o, at);
  s.to = to_of(o, at);
}

/// Loads the leaves of a warp. The addresses must be multiples of 16 bytes.
template <int kLanes, int kWords, class Team>
DETGEMM_HD void load_groups(Team& team) {
  team.each([](int lane, GroupLane<kWords>& s) {
    DETGEMM_UNROLL
    for (int i = 0; i < kWords / 4; ++i) {
      const int first = chunk_of<kLanes>(lane, i);
      std::uint32_t* word = &s.numbers.word[4 * i];
      if (first + 8 <= s.length) {
        load_words<4>(s.from + first, word);
        continue;
      }
      DETGEMM_UNROLL
      for (int j = 0; j < 4; ++j) {
        word[j] = load_pair(s.from + first + 2 * j, s.length - first - 2 * j);
      }
    }
    s.numbers.special = false;
  });
}

/// Finds the grids.
template <int kLongest, class Team>
DETGEMM_HD void find_grids(Team& team) {
  team.add([](const auto& s) { return norm_of(s.numbers); },
           [](auto& s, float q) { s.t = grid_of_norm<kLongest>(arithmetic::bits_of(q)); });
  if (team.any([](const auto& s) { return s.t == kAsks; })) search_grids(team);
}

/// Rounds and stores. Where a lane met an Inf or NaN, its numbers are read again and go one by one.
template <int kLanes, int kWords, class Team>
DETGEMM_HD void store_groups(Team& team) {
  team.each([](int lane, GroupLane<kWords>& s) {
    const bool none = s.t >= arithmetic::kSnapNone;
    const int t = none ? 0 : s.t;
    DETGEMM_UNROLL
    for (int i = 0; i < kWords / 4; ++i) {
      const int first = chunk_of<kLanes>(lane, i);
      if (!s.numbers.special && first + 8 <= s.length) {
        std::uint32_t word[4];
        DETGEMM_UNROLL
        for (int j = 0; j < 4; ++j) {
          word[j] = none ? 0x7fff7fffU : on_grid(s.numbers.word[4 * i + j], t);
        }
        store_words<4>(s.to + first, word);
        continue;
      }
      DETGEMM_NO_UNROLL
      for (int at = first; at < first + 8 && at < s.length; ++at) {
        s.to[at] = one_on_grid(s.from[at], s.t);
      }
    }
  });
}

}  // namespace detgemm::cuda::snap

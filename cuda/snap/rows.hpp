// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/snap/leaf.hpp"
#include "cuda/snap/memory.hpp"

/// A leaf along k, by one warp. `Team` is a warp: on a device 32 threads with the state of one lane
/// each, on a host a loop over 32 states, so that a test runs this very code.
///
///     lane     0    1         31   0    1               2 kVector numbers per lane and chunk
///     leaf   |aaaa|bbbb| ... |ffff|gggg|hhhh| ...       loads of one chunk are side by side
namespace detgemm::cuda::snap {

/// What a lane holds of a leaf. Numbers behind its end are +0, which no sum sees.
template <int kWords>
struct LaneWords {
  std::uint32_t word[kWords];
  bool special;  ///< there was an Inf or NaN, in whose place the words have +0
};

/// Words that a lane moves at a time.
template <int kWords>
inline constexpr int kVector = kWords < 4 ? kWords : 4;

/// The first number of a lane's word `i`, counted from the beginning of the leaf.
template <int kWords>
DETGEMM_HD int number_of(int lane, int i) {
  constexpr int kAtOnce = kVector<kWords>;
  return (i / kAtOnce * 32 + lane) * 2 * kAtOnce + i % kAtOnce * 2;
}

/// Which leaf of which vector. Numbers of a vector are side by side here.
struct Place {
  std::int64_t vector = 0, leaf = 0;
};
DETGEMM_HD int length_of(const Operand& o, const Place& p) {
  const std::int64_t left = o.k - p.leaf * o.leaf;
  return static_cast<int>(left < o.leaf ? left : o.leaf);
}
DETGEMM_HD const std::uint16_t* from_of(const Operand& o, const Place& p) {
  return o.from + p.vector * o.from_vector + p.leaf * o.leaf;
}
DETGEMM_HD std::uint16_t* to_of(const Operand& o, const Place& p) {
  return o.to + p.vector * o.to_vector + p.leaf * o.leaf;
}
/// Whether all of a lane's numbers exist and can be moved by whole chunks.
template <int kWords>
DETGEMM_HD bool in_chunks(int bytes, int length, int lane) {
  constexpr int kAtOnce = kVector<kWords>;
  return bytes >= 4 * kAtOnce && number_of<kWords>(lane, kWords - kAtOnce) + 2 * kAtOnce <= length;
}

/// The words as they are in memory. `length` is 0 for a leaf that does not exist.
template <int kWords>
DETGEMM_HD void load_lane(const Operand& o, const std::uint16_t* from, int length, int lane,
                          LaneWords<kWords>& s) {
  constexpr int kAtOnce = kVector<kWords>;
  if (in_chunks<kWords>(o.from_bytes, length, lane)) {
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; i += kAtOnce) {
      load_words<kAtOnce>(from + number_of<kWords>(lane, i), &s.word[i]);
    }
    return;
  }
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i) {
    const int first = number_of<kWords>(lane, i);
    s.word[i] = load_pair(from + first, length - first);
  }
}

/// Takes Inf and NaN out of the words.
template <int kWords>
DETGEMM_HD void set_specials_aside(LaneWords<kWords>& s) {
  std::uint32_t flags = 0;
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i) flags |= special_halves(s.word[i]);
  s.special = flags != 0;
  if (!s.special) return;
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i) s.word[i] = finite_part(s.word[i]);
}

template <int kWords>
DETGEMM_HD std::uint32_t largest_of(const LaneWords<kWords>& s) {
  std::uint32_t most = 0;
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i) most = larger(most, magnitudes(s.word[i]));
  return larger_half(most);
}

template <int kWords>
DETGEMM_HD std::uint32_t squares_of(const LaneWords<kWords>& s, int t) {
  std::uint32_t sum = 0;
  DETGEMM_UNROLL
  for (int i = 0; i < kWords; ++i) sum += squares(s.word[i], rounder_of(t));
  return sum;
}

/// Rounds a lane's numbers to the grid and writes them. Where they do not go by whole chunks, or
/// some are Inf or NaN, they are read again and go one by one.
template <int kWords>
DETGEMM_HD void store_lane(const Operand& o, const std::uint16_t* from, std::uint16_t* to,
                           int length, int lane, int t, LaneWords<kWords>& s) {
  constexpr int kAtOnce = kVector<kWords>;
  if (!s.special && in_chunks<kWords>(o.to_bytes, length, lane)) {
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; ++i) s.word[i] = on_grid(s.word[i], t);
    DETGEMM_UNROLL
    for (int i = 0; i < kWords; i += kAtOnce) {
      store_words<kAtOnce>(to + number_of<kWords>(lane, i), &s.word[i]);
    }
    return;
  }
  DETGEMM_NO_UNROLL
  for (int i = 0; i < 2 * kWords; ++i) {
    const int at = number_of<kWords>(lane, i / 2) + i % 2;
    if (at < length) to[at] = one_on_grid(from[at], t);
  }
}

/// The grid of a leaf whose words are in the lanes.
template <class Team>
DETGEMM_HD int grid_of(Team& team) {
  const std::uint32_t largest = team.max([](const auto& s) { return largest_of(s); });
  const int t0 = begins_at(largest);
  if (t0 == kHopeless) return arithmetic::kSnapNone;
  const int t1 = narrowed(t0, team.sum([t0](const auto& s) { return squares_of(s, t0); }));
  return decided(t1, team.sum([t1](const auto& s) { return squares_of(s, t1); }));
}

/// Snaps kAtOnce leaves of a vector, from `p` on: their loads go ahead of everything else.
template <int kAtOnce, class Team>
DETGEMM_HD void snap_leaves(const Operand& o, const Place& p, Team (&teams)[kAtOnce]) {
  const std::int64_t count = o.leaves - p.leaf;  // that are left in the vector
  DETGEMM_UNROLL
  for (int i = 0; i < kAtOnce; ++i) {
    const Place at{p.vector, p.leaf + i};
    const int length = i < count ? length_of(o, at) : 0;
    teams[i].each([&](int lane, auto& s) { load_lane(o, from_of(o, at), length, lane, s); });
  }
  DETGEMM_UNROLL
  for (int i = 0; i < kAtOnce; ++i) {
    if (i >= count) break;
    const Place at{p.vector, p.leaf + i};
    const int length = length_of(o, at);
    teams[i].each([](int, auto& s) { set_specials_aside(s); });
    const int t = grid_of(teams[i]);
    teams[i].each([&](int lane, auto& s) {
      store_lane(o, from_of(o, at), to_of(o, at), length, lane, t, s);
    });
  }
}

}  // namespace detgemm::cuda::snap

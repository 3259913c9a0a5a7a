// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/contract/gemm_arguments.hpp"

/// What the kernels of peers work on: windows in the memory of several devices, one per rank.
///
///     window of a rank:   Header | data, cut as a Job says
namespace detgemm::cuda::peers {

inline constexpr int kMaxRanks = 8;
inline constexpr int kMaxNodes = 64;  ///< of all ranks together
/// Sums that wait in registers at one time: in the kernels for many roots, in those for few, and in
/// the one that leaves room for a CTA of another kernel.
inline constexpr int kMaxWaiting = 8, kShallow = 4, kFlat = 3;
inline constexpr int kMaxCtas = 256;

/// An element that no root has, since every NaN of a root is 0x7fffffff; see early.hpp.
inline constexpr std::uint32_t kBlank = 0xffffffffU;

/// Words by which ranks meet. CTA c of a rank signals CTA c of every other rank and waits for it,
/// so no CTA waits for the rest of its own grid.
///
/// A signal is the number of the call and, in its low kStepBits, what the call is. Signals of even
/// and odd calls have places of their own: no rank begins call e + 2 before all have left call e,
/// so no signal is overwritten before it is read. In one_shot the roots bring the signal along (see
/// mail.hpp), CTA 0 alone signals, and only ranks without roots are waited for here.
struct alignas(256) Header {
  std::uint64_t given_up;         ///< 0, or why the ranks' work has ended for good; see reason()
  std::uint64_t left[kMaxRanks];  ///< a rank that will not touch this window again says so ...
  std::uint64_t mark[kMaxRanks];  ///< ... and, when windows are made, that it reaches it
  std::uint64_t calls[kMaxCtas];  ///< calls so far, a copy for each CTA; all equal between kernels
  std::uint64_t ended[kMaxCtas];  ///< the last call that has ended of those with a number
  std::uint64_t signal[4][kMaxRanks][kMaxCtas];  ///< [2 * (call % 2) + meeting][from rank][CTA]
};
inline constexpr int kStepBits = 24;

enum class Why : std::uint8_t { late = 1, aborted = 2, disagree = 3 };
/// A word that is not 0: why, and one rank or two.
DETGEMM_HD std::uint64_t reason(Why why, int rank, int other = 0) {
  return static_cast<std::uint64_t>(why) << 48 | static_cast<std::uint64_t>(other) << 24 |
         static_cast<std::uint64_t>(rank);
}

/// The argument of the kernels: one call on one rank. Roots are m x N, packed; node i of the tree's
/// row of nodes has the number i on all ranks.
struct Job {
  GemmArguments g;  ///< D, C, bias and the epilogue; D and C are all rows, or those of this rank
  std::int64_t first_row = 0;  ///< of M, in D and C: that of this rank's rows where D has no others
  int rank = 0, ranks = 1, nodes = 0;
  int first_own = 0, own = 0;          ///< nodes of this rank
  bool two_shot = false;               ///< or push
  bool pushed = false;                 ///< push: roots begin with this rank's rows
  bool rows_out = false;               ///< D has this rank's rows alone
  bool has_silent = false;             ///< a rank has no nodes
  std::uint64_t step = 0;              ///< kStepBits: which call all ranks must be in
  std::uint64_t limit_ns = 0;          ///< of a wait
  std::uint64_t number = 0;            ///< of this rank's call, from 1 on; 0 in a graph
  std::uint64_t* host_word = nullptr;  ///< in the host's memory: as given_up, of this rank
  Header* header[kMaxRanks]{};
  std::byte* data[kMaxRanks]{};
  std::int64_t row[kMaxRanks + 1]{};  ///< two_shot, push: rank r joins rows [row[r], row[r + 1])
  /// Root of node i as this rank reads it; in one_shot of its own nodes alone, which it posts.
  const float* root[kMaxNodes]{};
  std::uint8_t owner[kMaxNodes]{};  ///< the rank of node i
  /// one_shot: of a node, in data, at even calls; at odd ones odd_mail bytes further on.
  std::size_t mail_at = 0, mail_stride = 0, odd_mail = 0;
  std::size_t results_at = 0;        ///< two_shot, push: this rank's rows of D, packed, in data
  std::uint8_t closes[kMaxNodes]{};  ///< nodes of the tree that end with node i
};

/// Elements [begin, end) of an array that a CTA works on: whole runs of 8, the same on all ranks.
struct Part {
  std::int64_t begin = 0, end = 0;
};
DETGEMM_HD Part part_of(std::int64_t elements, int cta, int ctas) {
  const std::int64_t runs = (elements + 7) / 8;
  const std::int64_t end = runs * (cta + 1) / ctas * 8;
  return {runs * cta / ctas * 8, end < elements ? end : elements};
}

}  // namespace detgemm::cuda::peers

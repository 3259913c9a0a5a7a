// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <utility>

#include "cuda/peers/job.hpp"

/// Faults for the kernels of peers, which tests must find by their bits.
namespace detgemm::test {

enum class PeerFault : std::uint8_t {
  none,
  no_wait,         ///< joins without waiting for the first signals of a call
  no_second_wait,  ///< two_shot: reads others' results without waiting for them
  stale_epoch,     ///< takes any signal for this call's, so that old ones count
  gone_between,    ///< two_shot: ends after the first meeting
  wrong_mail,      ///< one_shot: mail of odd calls lies where that of even calls does
  torn_word,       ///< one_shot: the signal is there before what it stands for
  not_blanked,     ///< early one_shot: its roots stay where they are behind a call
  // The rest need no timing.
  swapped_order,      ///< two roots of other ranks (one_shot: of its own) in each other's places
  rank_order,         ///< roots are added one after the other, and not as the tree says
  epilogue_per_rank,  ///< on all ranks: an epilogue on every root, and none on the sum
};

/// Changes what a kernel is told.
inline void plant(PeerFault fault, cuda::peers::Job& job) {
  using cuda::peers::Job;
  if (fault == PeerFault::wrong_mail) job.odd_mail = 0;
  if (fault == PeerFault::swapped_order) {
    const int foreign = job.first_own == 0 ? job.own : 0;
    const int own = job.first_own;
    // What one_shot reads of others lies in its mail under their numbers.
    job.two_shot ? std::swap(job.root[foreign], job.root[job.nodes - 1])
                 : std::swap(job.root[own], job.root[own + job.own - 1]);
  }
  if (fault == PeerFault::rank_order) {
    for (int i = 0; i < job.nodes; ++i) job.closes[i] = i == 0 ? 0 : 1;
  }
  if (fault == PeerFault::epilogue_per_rank) {
    const Epilogue epilogue = std::exchange(job.g.epilogue, {1.0F, 0.0F, false, Activation::none});
    const std::int64_t elements = job.row[job.ranks] * job.g.n;
    for (int i = 0; i < job.own; ++i) {
      auto* const root = const_cast<float*>(job.root[job.first_own + i]);
      for (std::int64_t e = 0; e < elements; ++e) {
        const float bias =
            epilogue.has_bias ? load_as_float(job.g.bias, e % job.g.n, job.g.bias_type) : 0.0F;
        root[e] = apply_epilogue(epilogue, root[e], 0.0F, bias);
      }
    }
  }
}

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/peers/job.hpp"

/// How a CTA meets its counterparts of the other ranks, and gives up. `Machine` loads and stores
/// words that devices and hosts share, and has the time: on a device by PTX, in a test by
/// atomics.
namespace detgemm::cuda::peers {

/// What a call's signals are.
DETGEMM_HD std::uint64_t signal_of(std::uint64_t call, std::uint64_t step) {
  return (call + 1) << kStepBits | step;
}
DETGEMM_HD int place_of(std::uint64_t call, int meeting) {
  return 2 * static_cast<int>(call % 2) + meeting;
}

/// Writes to this rank's host, unless it has the reason.
template <class Machine>
DETGEMM_HD void tell_host(const Job& j, const Machine& machine, std::uint64_t why) {
  if (machine.acquire(j.host_word) == 0) machine.release(j.host_word, why);
}

/// Writes to all ranks, unless another rank wrote here: who finds a failure writes to all, and a
/// rank that hears of one leaves the others' memory alone.
template <class Machine>
DETGEMM_HD void give_up(const Job& j, const Machine& machine, std::uint64_t why) {
  const bool heard = machine.acquire(&j.header[j.rank]->given_up) != 0;
  for (int r = 0; r < j.ranks && !heard; ++r) {
    std::uint64_t* const word = &j.header[r]->given_up;
    if (machine.acquire(word) == 0) machine.release(word, why);
  }
  tell_host(j, machine, why);
}

/// Waits until `see`, which looks at what rank `from` writes, returns the expected signal. 0, or
/// why it did not: after limit_ns at the latest.
template <class Machine, class See>
DETGEMM_HD std::uint64_t wait_until(const Job& j, const Machine& machine, const See& see,
                                    std::uint64_t expected, int from) {
  std::uint64_t begun = 0;
  for (unsigned round = 1;; ++round) {
    const std::uint64_t seen = see();
    if (seen == expected) return 0;
    if (seen >> kStepBits == expected >> kStepBits) {
      return reason(Why::disagree, from < j.rank ? from : j.rank, from < j.rank ? j.rank : from);
    }
    if (round % 64 != 0) continue;
    if (const std::uint64_t why = machine.acquire(&j.header[j.rank]->given_up); why != 0) {
      return why;
    }
    const std::uint64_t now = machine.now_ns();
    if (begun == 0) begun = now;
    if (now - begun > j.limit_ns) return reason(Why::late, from);
    if (round % 8192 != 0) continue;  // the host's memory is far away
    if (const std::uint64_t why = machine.acquire(j.host_word); why != 0) return why;
  }
}

/// The same for a signal in a header.
template <class Machine>
DETGEMM_HD std::uint64_t wait_for(const Job& j, const Machine& machine, const std::uint64_t* signal,
                                  std::uint64_t expected, int from) {
  return wait_until(
      j, machine, [&] { return machine.acquire(signal); }, expected, from);
}

}  // namespace detgemm::cuda::peers

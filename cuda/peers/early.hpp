// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/peers/flow.hpp"

/// one_shot that begins before the product has ended. The roots of this rank are blank until the
/// product stores them, element by element, and no element of a root is ever blank: so what is not
/// blank is what the product stored, and is posted at once.
///
///   product     | tiles .. tile .. tile |
///   this one       post ... post ... post, let the next kernel in, join | blank again
///
/// Who was before. The product stores when the kernel before it has ended, so whoever has seen an
/// element of a root is behind the call before this one. Roots of calls that follow each other are
/// in two places by turns: the kernel of call e + 1 may run once all CTAs of e have seen an
/// element, which is after the end of e - 1 and its blanking.
///
/// `Cta` has await, blank, wait_for_earlier_work and let_next_in beside what join.hpp asks for.
namespace detgemm::cuda::peers {

/// Waits until the product has stored this run of all roots of this rank: for a while, and then for
/// the product's end, behind which whatever is there is final.
template <int kRun, class Cta>
DETGEMM_HD void await_run(const Job& j, const Cta& cta, std::int64_t e) {
  for (int i = 0; i < j.own; ++i) {
    if (!cta.template await<kRun>(j.root[j.first_own + i] + e)) cta.wait_for_earlier_work();
  }
}

/// One call, as run_call.
template <int kRun, int kDepth, bool kLetsNextIn, class Cta>
DETGEMM_HD void run_early(const Job& j, const Cta& cta) {
  Header& own = *j.header[j.rank];
  const Part part = part_of(j.row[j.ranks] * j.g.n, cta.index(), cta.count());
  if (part.begin >= part.end || j.own == 0) cta.wait_for_earlier_work();
  cta.each([&](int thread, int) {
    const std::int64_t e = part.begin + std::int64_t{thread} * kRun;
    if (e < part.end) await_run<kRun>(j, cta, e);
  });
  const bool broken = cta.any(cta.relaxed(&own.given_up) != 0);  // a barrier: an element was seen
  const std::uint64_t call = cta.relaxed(&own.calls[cta.index()]);
  if constexpr (kLetsNextIn) cta.let_next_in();
  bool good = false;
  if (broken) {
    if (const std::uint64_t why = cta.relaxed(&own.given_up); why != 0) tell_host(j, cta, why);
  } else {
    cta.each([&](int thread, int threads) {
      for (std::int64_t e = part.begin + std::int64_t{thread + threads} * kRun; e < part.end;
           e += std::int64_t{threads} * kRun) {
        await_run<kRun>(j, cta, e);
      }
    });
    good = one_shot<kRun, kDepth>(j, cta, call);
  }
  if (!good) fill_with_nan(j, cta);
  cta.wait_for_earlier_work();  // a product may store an element twice
  cta.each([&](int thread, int threads) {
    for (int i = 0; i < j.own; ++i) {
      auto* const root = const_cast<float*>(j.root[j.first_own + i]);
      for (std::int64_t e = part.begin + std::int64_t{thread} * kRun; e < part.end;
           e += std::int64_t{threads} * kRun) {
        cta.template blank<kRun>(root + e);
      }
    }
  });
  // As at the end of run_call, whose kernels would be compiled otherwise if they called a function.
  cta.sync();
  cta.each([&](int thread, int threads) {
    for (int c = cta.index() + thread * cta.count(); c < kMaxCtas; c += threads * cta.count()) {
      own.calls[c] = call + 1;
      if (j.number != 0) own.ended[c] = j.number;
    }
  });
}

}  // namespace detgemm::cuda::peers

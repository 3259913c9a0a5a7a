// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/peers/join.hpp"
#include "cuda/peers/meet.hpp"

/// The program of one CTA, in which `|` is a meeting with the same CTA of every other rank:
///
///   one_shot   own part of the roots -> mail of the others; join it with own mail, write D
///   two_shot   | read own rows of all roots, join, write D and the results | read others' results
///   push       the same, but own rows of all roots are in own window: products have put them there
///
/// Why no rank reads what is overwritten meanwhile. A kernel begins when the one before it on its
/// stream has ended, and it ends when each of its CTAs has heard from those of the others in this
/// call: by a meeting, by mail, or, of a rank that has no roots to post, by its signal.
///
///   mail      of even and of odd calls have places of their own. Whoever fills that of call e + 2
///             has ended call e + 1, so all have begun e + 1, so all have ended e and read its
///             mail.
///   roots     of two_shot and push are read between the meetings, so when a kernel has ended all
///             have read them, and the next product may write them. Those of one_shot are read by
///             their own rank alone, and are where no other rank writes.
///   results   are written after the first meeting of a call, so when all have ended the call
///   before.
namespace detgemm::cuda::peers {

/// Copies the part of another rank's results into D.
template <bool kVectors, class Cta>
DETGEMM_HD void fetch_part(const Job& j, const Cta& cta, const Part& part, int from) {
  const int size = output_bytes(j.g.output);
  const int run = kVectors ? 16 / size : 1;
  const std::byte* const results = j.data[from] + j.results_at;
  const std::int64_t origin = j.row[from] * j.g.n;
  cta.each([&](int thread, int threads) {
    for (std::int64_t i = part.begin + std::int64_t{thread} * run; i < part.end;
         i += std::int64_t{threads} * run) {
      void* const to = address(j.g.d, index_in_d(j, output_at(j, origin + i)), j.g.output);
      cta.template copy<kVectors>(to, results + i * size, size);
    }
  });
}

/// Canonical NaN in every output that this CTA would have written.
template <class Cta>
DETGEMM_HD void fill_with_nan(const Job& j, const Cta& cta) {
  for (int r = 0; r < j.ranks; ++r) {
    if (j.rows_out && r != j.rank) continue;
    const std::int64_t rows = j.row[r + 1] - j.row[r];
    const Part part = part_of(rows * j.g.n, cta.index(), cta.count());
    cta.each([&](int thread, int threads) {
      for (std::int64_t i = part.begin + thread; i < part.end; i += threads) {
        const std::int64_t at = index_in_d(j, output_at(j, j.row[r] * j.g.n + i));
        store_rounded(j.g.d, at, j.g.output, arithmetic::float_of(arithmetic::kNaNBits));
      }
    });
  }
}

/// Shows the others which call this is. A rank in another one, which may wait for signals and not
/// for mail, learns it from here; its CTA 0 stops the rest of its grid by giving up.
template <class Cta>
DETGEMM_HD void signal_all(const Job& j, const Cta& cta, std::uint64_t call) {
  if (cta.index() != 0) return;
  cta.each([&](int thread, int threads) {
    for (int r = thread; r < j.ranks; r += threads) {
      if (r == j.rank) continue;
      cta.put(&j.header[r]->signal[place_of(call, 0)][j.rank][0], signal_of(call, j.step));
    }
  });
}

/// Waits for the signals of ranks that have no roots, and so no mail for others. 0, or why one did
/// not arrive. That a rank's CTA 0 is in this call shows that its whole kernel before it
/// has ended, which is all that mail rests on.
template <class Cta>
DETGEMM_HD std::uint64_t hear_silent(const Job& j, const Cta& cta, std::uint64_t call) {
  if (!j.has_silent) return 0;
  unsigned silent = (1U << j.ranks) - 1;
  for (int i = 0; i < j.nodes; ++i) silent &= ~(1U << j.owner[i]);
  std::uint64_t why = 0;
  cta.each([&](int thread, int threads) {
    for (int r = thread; r < j.ranks && why == 0; r += threads) {
      if (r == j.rank || (silent >> r & 1) == 0) continue;
      why = wait_for(j, cta, &j.header[j.rank]->signal[place_of(call, 0)][r][0],
                     signal_of(call, j.step), r);
    }
  });
  return why;
}

/// No barrier before the end: a thread posts its elements and joins what arrives.
template <int kRun, int kDepth, class Cta>
DETGEMM_HD bool one_shot(const Job& j, const Cta& cta, std::uint64_t call) {
  const Part part = part_of(j.row[j.ranks] * j.g.n, cta.index(), cta.count());
  const Source source{call % 2 != 0 ? j.odd_mail : 0, signal_of(call, j.step)};
  signal_all(j, cta, call);
  post_part<kRun>(j, cta, part, source.mail, source.signal);
  std::uint64_t why = join_part<kRun, kDepth, true>(j, cta, part, 0, source, nullptr);
  if (why == 0) why = hear_silent(j, cta, call);
  return cta.goes_on(j, why);
}

template <int kRun, int kDepth, class Cta>
DETGEMM_HD bool two_shot(const Job& j, const Cta& cta, std::uint64_t call) {
  if (!cta.meet(j, call, 0)) return false;
  const auto part = [&](int r) {
    return part_of((j.row[r + 1] - j.row[r]) * j.g.n, cta.index(), cta.count());
  };
  void* const packed = j.rows_out ? nullptr : j.data[j.rank] + j.results_at;
  join_part<kRun, kDepth, false>(j, cta, part(j.rank), j.row[j.rank] * j.g.n, {}, packed);
  if (!cta.meet(j, call, 1)) return false;
  if (j.rows_out) return true;
  for (int i = 1; i < j.ranks; ++i) {  // every rank begins with its neighbour
    const int from = (j.rank + i) % j.ranks;
    fetch_part<(kRun > 1)>(j, cta, part(from), from);
  }
  return true;
}

/// One call. The count of calls is advanced here, so that a replayed graph goes on counting. After
/// a failure it touches no other rank's memory: graphs are replayed without asking the host, and
/// the other ranks may be gone.
template <int kRun, int kDepth, class Cta>
DETGEMM_HD void run_call(const Job& j, const Cta& cta) {
  Header& own = *j.header[j.rank];
  // Only this rank's kernels write the first; the second may change at any time.
  const std::uint64_t call = cta.relaxed(&own.calls[cta.index()]);
  bool good = false;
  if (cta.any(cta.relaxed(&own.given_up) != 0)) {
    if (const std::uint64_t why = cta.relaxed(&own.given_up); why != 0) tell_host(j, cta, why);
  } else if (j.two_shot) {
    good = two_shot<kRun, kDepth>(j, cta, call);
  } else {
    good = one_shot<kRun, kDepth>(j, cta, call);
  }
  if (!good) fill_with_nan(j, cta);
  cta.sync();  // all threads have the call
  cta.each([&](int thread, int threads) {
    for (int c = cta.index() + thread * cta.count(); c < kMaxCtas; c += threads * cta.count()) {
      own.calls[c] = call + 1;
      if (j.number != 0) own.ended[c] = j.number;
    }
  });
}

}  // namespace detgemm::cuda::peers

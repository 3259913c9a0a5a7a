// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/peers/join.hpp"
#include "cuda/peers/meet.hpp"

/// The program of one CTA, in which `|` is a meeting with the same CTA of every other rank:
///
///   one_shot   own part of the roots -> mail of the others | read own mail, join, write D
///   two_shot   | read own rows of all roots, join, write D and the results | read others' results
///
/// Why nobody reads what is overwritten meanwhile. A kernel begins when the one before it on its
/// stream has ended, and it ends when each of its CTAs has met those of the others.
///
///   mail      of even and of odd calls have places of their own. Whoever fills that of call e + 2
///             has ended call e + 1, so all have begun e + 1, so all have ended e and read its
///             mail.
///   roots     of two_shot are read between the meetings, so when a kernel has ended all have read
///             them, and the next product may write them.
///   results   are written after the first meeting of a call, so when all have ended the call
///   before.
namespace detgemm::cuda::peers {

/// Copies this rank's roots of the part into the mail of all others.
template <int kRun, class Cta>
DETGEMM_HD void send_part(const Job& j, Cta& cta, const Part& part, std::size_t mail) {
  cta.each([&](int thread, int threads) {
    for (int i = 0; i < j.own; ++i) {
      const int node = j.first_own + i;
      const std::size_t to = j.mail_at + static_cast<std::size_t>(node) * j.mail_stride + mail;
      for (std::int64_t e = part.begin + std::int64_t{thread} * kRun; e < part.end;
           e += std::int64_t{threads} * kRun) {
        float value[kRun];
        cta.template load<kRun>(j.root[node] + e, value);
        for (int r = 0; r < j.ranks; ++r) {
          if (r == j.rank) continue;
          auto* const mailbox = reinterpret_cast<float*>(j.data[r] + to);
          cta.template store<kRun>(mailbox + e, DType::fp32, value);
        }
      }
    }
  });
}

/// Copies the part of another rank's results into D.
template <bool kVectors, class Cta>
DETGEMM_HD void fetch_part(const Job& j, Cta& cta, const Part& part, int from) {
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
DETGEMM_HD void fill_with_nan(const Job& j, Cta& cta) {
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

template <int kRun, int kDepth, class Cta>
DETGEMM_HD bool one_shot(const Job& j, Cta& cta, std::uint64_t call) {
  const Part part = part_of(j.row[j.ranks] * j.g.n, cta.index(), cta.count());
  const std::size_t mail = call % 2 != 0 ? j.odd_mail : 0;
  send_part<kRun>(j, cta, part, mail);
  if (!cta.meet(j, call, 0)) return false;
  join_part<kRun, kDepth>(j, cta, part, 0, mail, nullptr);
  return true;
}

template <int kRun, int kDepth, class Cta>
DETGEMM_HD bool two_shot(const Job& j, Cta& cta, std::uint64_t call) {
  if (!cta.meet(j, call, 0)) return false;
  const auto part = [&](int r) {
    return part_of((j.row[r + 1] - j.row[r]) * j.g.n, cta.index(), cta.count());
  };
  void* const packed = j.rows_out ? nullptr : j.data[j.rank] + j.results_at;
  join_part<kRun, kDepth>(j, cta, part(j.rank), j.row[j.rank] * j.g.n, 0, packed);
  if (!cta.meet(j, call, 1)) return false;
  if (j.rows_out) return true;
  for (int i = 1; i < j.ranks; ++i) {  // every rank begins with its neighbour
    const int from = (j.rank + i) % j.ranks;
    fetch_part<(kRun > 1)>(j, cta, part(from), from);
  }
  return true;
}

/// One call. The count of calls is advanced here, so that a replayed graph goes on counting.
template <int kRun, int kDepth, class Cta>
DETGEMM_HD void run_call(const Job& j, Cta& cta) {
  Header& own = *j.header[j.rank];
  const std::uint64_t call = cta.acquire(&own.calls[cta.index()]);
  bool good = cta.begin(j);
  if (good) {
    good = j.two_shot ? two_shot<kRun, kDepth>(j, cta, call) : one_shot<kRun, kDepth>(j, cta, call);
  }
  if (!good) fill_with_nan(j, cta);
  cta.sync();  // all threads know the call
  cta.each([&](int thread, int threads) {
    for (int c = cta.index() + thread * cta.count(); c < kMaxCtas; c += threads * cta.count()) {
      own.calls[c] = call + 1;
    }
  });
}

}  // namespace detgemm::cuda::peers

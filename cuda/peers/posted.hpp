// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/peers/early.hpp"

/// two_shot without a meeting: roots and results are stored as they are into places of the others
/// that were blank, and an element that is not blank has arrived.
///
///   product     | tiles .. tile .. tile |
///   this one       post ... post ... post, join own rows as roots arrive | others' results -> D
///   posted      others' rows of own roots -> their places
///               own rows of D             -> the results of all others
///
/// It moves the bytes of two_shot. No root and no output has all of its bits set, and 4 bytes of an
/// element or of two outputs arrive in one piece over any link: so there is no flag, no fence, no
/// barrier. Whoever has read a place makes it blank again.
///
/// Why a place is blank before it is posted to. Those of even and odd calls take turns. Rank s
/// posts to rank r in call e + 2 when its kernel of e + 1 has ended, so when it has heard the
/// signal of r in e + 1. r signals behind an element of its product of e + 1, so behind the end of
/// its kernel of e, which made the place blank.
///
/// `Cta` has look_at, put_words, store_16 and hear beside what early.hpp asks for.
namespace detgemm::cuda::peers {

inline constexpr int kWordsAtOnce = 4;  ///< 16 bytes, of which each word is an access of its own
inline constexpr int kRunsAtOnce = 2;   ///< of a thread, whose loads are under way together ...
inline constexpr int kNodesAtOnce = 2;  ///< ... for so many nodes

/// Where rank `at` finds what is posted to it in this call.
DETGEMM_HD std::byte* posted_to(const Job& j, int at, std::uint64_t call) {
  return j.data[at] + j.posted_at + (call % 2 != 0 ? j.posted_odd : 0);
}
/// The rows that a rank joins, of a node; and those of D, which are where they are in M.
DETGEMM_HD std::byte* posted_root(const Job& j, int at, std::uint64_t call, int node) {
  return posted_to(j, at, call) + static_cast<std::size_t>(node) * j.posted_stride;
}
DETGEMM_HD std::byte* posted_result(const Job& j, int at, std::uint64_t call, std::int64_t e) {
  return posted_to(j, at, call) + j.posted_results + e * output_bytes(j.g.output);
}

DETGEMM_HD bool is_blank(const std::uint32_t (&words)[kWordsAtOnce]) {
  bool blank = false;
  DETGEMM_PEERS_UNROLL
  for (int i = 0; i < kWordsAtOnce; ++i) blank = blank || words[i] == kBlank;
  return blank;
}

/// Elements of the rows that rank r joins, for this CTA.
DETGEMM_HD Part rows_part(const Job& j, int r, int cta, int ctas) {
  return part_of((j.row[r + 1] - j.row[r]) * j.g.n, cta, ctas);
}

/// f(element, b) for the runs of a part that are a thread's, kRunsAtOnce times at once, and then
/// g() for what was begun.
template <class Cta, class F, class G>
DETGEMM_HD void in_batches(const Cta& cta, const Part& part, int run, const F& f, const G& g) {
  cta.each([&](int thread, int threads) {
    const std::int64_t step = std::int64_t{threads} * run;
    for (std::int64_t i = part.begin + std::int64_t{thread} * run; i < part.end;
         i += step * kRunsAtOnce) {
      DETGEMM_PEERS_UNROLL
      for (int b = 0; b < kRunsAtOnce; ++b) {
        if (i + b * step < part.end) f(i + b * step, b);
      }
      DETGEMM_PEERS_UNROLL
      for (int b = 0; b < kRunsAtOnce; ++b) {
        if (i + b * step < part.end) g(i + b * step, b);
      }
    }
  });
}

/// Four elements of an own root, which were looked at: as soon as the product has stored them.
/// Small code: it is in the kernel many times.
template <class Cta>
DETGEMM_HD void await_own(const Cta& cta, const float* from, std::uint32_t (&words)[kWordsAtOnce]) {
  constexpr int kMaxLooks = 2000;  // as in `await`
  DETGEMM_PEERS_ROLLED
  for (int look = 0; is_blank(words); ++look) {
    if (look == kMaxLooks) cta.wait_for_earlier_work();
    if (look > kMaxLooks) return;  // behind the product's end whatever is there is final
    cta.look_at(from, words);
  }
}

/// Four words that rank `from` posts here, which were looked at: as soon as they have arrived, and
/// blank again. 0, or why they did not. A rank in another call posts elsewhere, and says so by its
/// signal.
template <class Cta>
DETGEMM_HD std::uint64_t take(const Job& j, const Cta& cta, std::uint64_t call, int from,
                              std::byte* place, std::uint32_t (&words)[kWordsAtOnce]) {
  if (is_blank(words)) {
    const std::uint64_t expected = signal_of(call, j.step);
    const std::uint64_t* const signal = &j.header[j.rank]->signal[place_of(call, 0)][from][0];
    unsigned round = 0;
    const auto see = [&]() -> std::uint64_t {
      cta.look_at(place, words);
      if (!is_blank(words)) return expected;
      if (++round % 64 != 0) return 0;
      const std::uint64_t seen = cta.acquire(signal);
      return seen == expected ? 0 : seen;
    };
    if (const std::uint64_t why = wait_until(j, cta, see, expected, from); why != 0) return why;
  }
  cta.template blank<kWordsAtOnce>(reinterpret_cast<float*>(place));
  return 0;
}

/// Posts this rank's roots of the rows that rank `to` joins.
template <class Cta>
DETGEMM_HD void post_roots(const Job& j, const Cta& cta, std::uint64_t call, int to) {
  const Part part = rows_part(j, to, cta.index(), cta.count());
  for (int i = 0; i < j.own; ++i) {
    const int node = j.first_own + i;
    const float* const root = j.root[node] + j.row[to] * j.g.n;
    std::byte* const place = posted_root(j, to, call, node);
    std::uint32_t words[kRunsAtOnce][kWordsAtOnce];
    in_batches(
        cta, part, kWordsAtOnce, [&](std::int64_t e, int b) { cta.look_at(root + e, words[b]); },
        [&](std::int64_t e, int b) {
          await_own(cta, root + e, words[b]);
          cta.template put_words<kWordsAtOnce>(place + e * 4, words[b]);
        });
  }
}

/// Four outputs as they are in D, in words: four of fp32, two of 16 bits.
DETGEMM_HD void words_of(DType type, const float (&v)[kWordsAtOnce],
                         std::uint32_t (&words)[kWordsAtOnce]) {
  if (type == DType::fp32) {
    DETGEMM_PEERS_UNROLL
    for (int i = 0; i < kWordsAtOnce; ++i) words[i] = arithmetic::bits_of(v[i]);
    return;
  }
  const bool bf16 = type == DType::bf16;
  DETGEMM_PEERS_UNROLL
  for (int i = 0; i < kWordsAtOnce; i += 2) {
    const std::uint32_t low = bf16 ? arithmetic::to_bf16(v[i]) : arithmetic::to_fp16(v[i]);
    const std::uint32_t high = bf16 ? arithmetic::to_bf16(v[i + 1]) : arithmetic::to_fp16(v[i + 1]);
    words[i / 2] = low | high << 16;
  }
}

/// The epilogue of four outputs, from element e of the roots on: into D and to all others.
template <class Cta>
DETGEMM_HD void finish_posted(const Job& j, const Cta& cta, std::uint64_t call, std::int64_t e,
                              float (&sums)[kWordsAtOnce]) {
  const GemmArguments& g = j.g;
  const Output at = output_at(j, e);
  epilogue_of<kWordsAtOnce>(j, at, sums);
  if (j.vectors) {
    cta.template store<kWordsAtOnce>(address(g.d, index_in_d(j, at), g.output), g.output, sums);
  } else {
    DETGEMM_PEERS_UNROLL
    for (int x = 0; x < kWordsAtOnce; ++x) {
      store_rounded(g.d, index_in_d(j, {at.row, at.col + x}), g.output, sums[x]);
    }
  }
  if (j.rows_out) return;
  std::uint32_t words[kWordsAtOnce];
  words_of(g.output, sums, words);
  for (int i = 1; i < j.ranks; ++i) {
    std::byte* const place = posted_result(j, (j.rank + i) % j.ranks, call, e);
    if (g.output == DType::fp32) {
      cta.template put_words<kWordsAtOnce>(place, words);
    } else {
      cta.template put_words<kWordsAtOnce / 2>(place, words);
    }
  }
}

template <int kDepth>
struct Held {
  float held[kDepth][kWordsAtOnce];
  int top = 0;
  DETGEMM_HD void push(float (&value)[kWordsAtOnce], int closes) {
    push_root(held, top, value, closes);
  }
};

/// Joins this rank's rows. 0, or why a thread has stopped.
template <int kDepth, class Cta>
DETGEMM_HD std::uint64_t join_posted(const Job& j, const Cta& cta, std::uint64_t call) {
  const Part part = rows_part(j, j.rank, cta.index(), cta.count());
  const std::int64_t origin = j.row[j.rank] * j.g.n;
  const auto root_at = [&](int node, std::int64_t e) {
    return j.owner[node] == j.rank ? reinterpret_cast<const std::byte*>(j.root[node] + origin + e)
                                   : posted_root(j, j.rank, call, node) + e * 4;
  };
  std::uint64_t why = 0;
  cta.each([&](int thread, int threads) {
    const std::int64_t step = std::int64_t{threads} * kWordsAtOnce;
    for (std::int64_t e = part.begin + std::int64_t{thread} * kWordsAtOnce;
         e < part.end && why == 0; e += step * kRunsAtOnce) {
      Held<kDepth> runs[kRunsAtOnce];
      for (int first = 0; first < j.nodes; first += kNodesAtOnce) {
        std::uint32_t words[kNodesAtOnce][kRunsAtOnce][kWordsAtOnce];
        const auto each = [&](const auto& f) {
          DETGEMM_PEERS_UNROLL
          for (int i = 0; i < kNodesAtOnce; ++i) {
            DETGEMM_PEERS_UNROLL
            for (int b = 0; b < kRunsAtOnce; ++b) {
              if (first + i < j.nodes && e + b * step < part.end) f(i, b, e + b * step);
            }
          }
        };
        each([&](int i, int b, std::int64_t at) {
          cta.look_at(root_at(first + i, at), words[i][b]);
        });
        each([&](int i, int b, std::int64_t at) {
          const int node = first + i;
          if (j.owner[node] == j.rank) {
            await_own(cta, j.root[node] + origin + at, words[i][b]);
          } else if (why == 0) {
            why = take(j, cta, call, j.owner[node], posted_root(j, j.rank, call, node) + at * 4,
                       words[i][b]);
          }
          float value[kWordsAtOnce];
          DETGEMM_PEERS_UNROLL
          for (int x = 0; x < kWordsAtOnce; ++x) value[x] = arithmetic::float_of(words[i][b][x]);
          runs[b].push(value, j.closes[node]);
        });
      }
      DETGEMM_PEERS_UNROLL
      for (int b = 0; b < kRunsAtOnce; ++b) {
        if (why != 0 || e + b * step >= part.end) continue;
        float sums[kWordsAtOnce];
        DETGEMM_PEERS_UNROLL
        for (int x = 0; x < kWordsAtOnce; ++x) sums[x] = arithmetic::canonical(runs[b].held[0][x]);
        finish_posted(j, cta, call, origin + e + b * step, sums);
      }
    }
  });
  return why;
}

/// Copies the rows that rank `from` joins into D as they arrive. 0, or why they did not.
template <class Cta>
DETGEMM_HD std::uint64_t take_results(const Job& j, const Cta& cta, std::uint64_t call, int from) {
  const Part part = rows_part(j, from, cta.index(), cta.count());
  const std::int64_t origin = j.row[from] * j.g.n;
  const int size = output_bytes(j.g.output);
  const int run = 16 / size;
  std::uint64_t why = 0;
  std::uint32_t words[kRunsAtOnce][kWordsAtOnce];
  in_batches(
      cta, part, run,
      [&](std::int64_t i, int b) {
        cta.look_at(posted_result(j, j.rank, call, origin + i), words[b]);
      },
      [&](std::int64_t i, int b) {
        if (why != 0) return;
        std::byte* const place = posted_result(j, j.rank, call, origin + i);
        why = take(j, cta, call, from, place, words[b]);
        if (why != 0) return;
        const Output at = output_at(j, origin + i);
        if (j.vectors) {
          void* const to = address(j.g.d, index_in_d(j, at), j.g.output);
          cta.store_16(to, words[b]);
          return;
        }
        DETGEMM_PEERS_UNROLL
        for (int w = 0; w < kWordsAtOnce; ++w) {
          const std::uint32_t word = words[b][w];
          if (size == 4) {
            const auto value = arithmetic::float_of(word);
            static_cast<float*>(j.g.d)[index_in_d(j, {at.row, at.col + w})] = value;
            continue;
          }
          auto* const d = static_cast<std::uint16_t*>(j.g.d);
          d[index_in_d(j, {at.row, at.col + 2 * w})] = static_cast<std::uint16_t>(word);
          d[index_in_d(j, {at.row, at.col + 2 * w + 1})] = static_cast<std::uint16_t>(word >> 16);
        }
      });
  return why;
}

/// Makes this rank's part of its roots blank, behind the end of the product, which may store an
/// element twice. A thread has read those elements itself.
template <class Cta>
DETGEMM_HD void blank_own(const Job& j, const Cta& cta) {
  for (int r = 0; r < j.ranks; ++r) {
    const Part part = rows_part(j, r, cta.index(), cta.count());
    cta.each([&](int thread, int threads) {
      for (int i = 0; i < j.own; ++i) {
        auto* const root = const_cast<float*>(j.root[j.first_own + i]) + j.row[r] * j.g.n;
        for (std::int64_t e = part.begin + std::int64_t{thread} * kWordsAtOnce; e < part.end;
             e += std::int64_t{threads} * kWordsAtOnce) {
          cta.template blank<kWordsAtOnce>(root + e);
        }
      }
    });
  }
}

template <int kDepth, class Cta>
DETGEMM_HD bool two_shot_posted(const Job& j, const Cta& cta, std::uint64_t call) {
  signal_all(j, cta, call);
  for (int i = 1; i < j.ranks; ++i) post_roots(j, cta, call, (j.rank + i) % j.ranks);
  std::uint64_t why = join_posted<kDepth>(j, cta, call);
  if (j.blank) {
    cta.wait_for_earlier_work();
    blank_own(j, cta);
  }
  for (int i = 1; i < j.ranks && why == 0 && !j.rows_out; ++i) {
    why = take_results(j, cta, call, (j.rank + i) % j.ranks);
  }
  if (why == 0) why = cta.hear(j, call);
  return cta.goes_on(j, why);
}

/// One call, as run_early. Without j.blank roots are whole when the product has ended.
template <int kDepth, bool kLetsNextIn, class Cta>
DETGEMM_HD void run_posted(const Job& j, const Cta& cta) {
  Header& own = *j.header[j.rank];
  const int next = (j.rank + 1) % j.ranks;
  const Part first = rows_part(j, next, cta.index(), cta.count());
  if (!j.blank || first.begin >= first.end || j.own == 0) {
    cta.wait_for_earlier_work();
  } else {
    cta.each([&](int thread, int) {
      const std::int64_t e = first.begin + std::int64_t{thread} * kWordsAtOnce;
      if (e < first.end) await_run<kWordsAtOnce>(j, cta, j.row[next] * j.g.n + e);
    });
  }
  const bool broken = cta.any(cta.relaxed(&own.given_up) != 0);  // a barrier: an element was seen
  const std::uint64_t call = cta.relaxed(&own.calls[cta.index()]);
  if constexpr (kLetsNextIn) cta.let_next_in();
  bool good = false;
  if (broken) {
    if (const std::uint64_t why = cta.relaxed(&own.given_up); why != 0) tell_host(j, cta, why);
  } else {
    good = two_shot_posted<kDepth>(j, cta, call);
  }
  cta.wait_for_earlier_work();
  if (!good) fill_with_nan(j, cta);
  cta.sync();
  cta.each([&](int thread, int threads) {
    for (int c = cta.index() + thread * cta.count(); c < kMaxCtas; c += threads * cta.count()) {
      own.calls[c] = call + 1;
      if (j.number != 0) own.ended[c] = j.number;
    }
  });
}

}  // namespace detgemm::cuda::peers

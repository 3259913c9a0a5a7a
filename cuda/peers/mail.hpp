// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/peers/meet.hpp"

#if defined(__CUDA_ARCH__)
#define DETGEMM_PEERS_UNROLL _Pragma("unroll")
#else
#define DETGEMM_PEERS_UNROLL
#endif

/// How the roots of one_shot travel: element e of a root in word e / 2 of that node's mail.
///
///     | element 0 | element 1 | signal of the call |  element 2 | element 3 | signal | ..
///       4 bytes     4           8                     one access of 16 bytes each
///
/// A word is stored and loaded in one piece, so whoever sees this call's signal sees the elements:
/// no fence, no barrier: one store, one load. It costs twice the bytes. Words of other calls have
/// other signals, and those of a new window are 0, so what is old or not there is never taken for a
/// root.
///
/// `Cta` is as for cuda/peers/join.hpp, and has post and look, which are those accesses.
namespace detgemm::cuda::peers {

struct alignas(16) MailWord {
  float value[2];
  std::uint64_t signal;
};

/// The word of element e of a root whose mail begins at `mail`.
DETGEMM_HD const MailWord* word_at(const void* mail, std::int64_t e) {
  return static_cast<const MailWord*>(mail) + e / 2;
}

/// Posts this rank's roots of the part to all other ranks.
template <int kRun, class Cta>
DETGEMM_HD void post_part(const Job& j, const Cta& cta, const Part& part, std::size_t mail,
                          std::uint64_t signal) {
  constexpr int kEach = kRun > 1 ? kRun : 2;  // whole words
  cta.each([&](int thread, int threads) {
    for (int i = 0; i < j.own; ++i) {
      const int node = j.first_own + i;
      const std::size_t to = j.mail_at + static_cast<std::size_t>(node) * j.mail_stride + mail;
      for (std::int64_t e = part.begin + std::int64_t{thread} * kEach; e < part.end;
           e += std::int64_t{threads} * kEach) {
        float value[kEach];
        if constexpr (kRun > 1) {
          cta.template load<kRun>(j.root[node] + e, value);
        } else {
          cta.template load<1>(j.root[node] + e, value);
          value[1] = 0.0F;
          if (e + 1 < part.end) cta.template load<1>(j.root[node] + e + 1, value + 1);
        }
        for (int r = 0; r < j.ranks; ++r) {
          if (r == j.rank) continue;
          auto* const words = const_cast<MailWord*>(word_at(j.data[r] + to, e));
          DETGEMM_PEERS_UNROLL
          for (int w = 0; w < kEach / 2; ++w) {
            cta.post(words + w, {{value[2 * w], value[2 * w + 1]}, signal});
          }
        }
      }
    }
  });
}

/// kRun elements of a node from its word on: `word` is what was seen of it, or is looked at again
/// until it is there. 0, or why it did not arrive.
template <int kRun, class Cta>
DETGEMM_HD std::uint64_t take_run(const Job& j, const Cta& cta, int node, std::int64_t e,
                                  const void* mail, std::uint64_t signal, MailWord* word,
                                  float* value) {
  constexpr int kWords = kRun > 1 ? kRun / 2 : 1;
  DETGEMM_PEERS_UNROLL
  for (int w = 0; w < kWords; ++w) {
    if (word[w].signal != signal) {
      const auto again = [&] {
        word[w] = cta.look(word_at(mail, e) + w);
        return word[w].signal;
      };
      if (const std::uint64_t why = wait_until(j, cta, again, signal, j.owner[node]); why != 0) {
        return why;
      }
    }
    if constexpr (kRun > 1) {
      value[2 * w] = word[w].value[0];
      value[2 * w + 1] = word[w].value[1];
    } else {
      value[0] = e % 2 == 0 ? word[w].value[0] : word[w].value[1];  // no index: registers
    }
  }
  return 0;
}

}  // namespace detgemm::cuda::peers

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "cuda/peers/mail.hpp"

/// How a CTA joins roots of several ranks. `Cta` is a CTA: on a device its threads, on a host a
/// loop over them, so that a test runs this very code.
namespace detgemm::cuda::peers {

/// Roots whose loads are all under way before the first is added. Words of mail take twice the
/// registers.
template <int kDepth, bool kMail>
inline constexpr int kRootsAtOnce = (kMail ? 4 : 8) / (kDepth < kShallow ? 2 : 1);

/// In which mail roots of others are read, where they are not read at root[node].
struct Source {
  std::size_t mail = 0;      ///< that of odd calls is further on
  std::uint64_t signal = 0;  ///< of the call
};

/// kRun outputs side by side, from element e of the roots on; 0, or why a root did not arrive. A
/// root is pushed onto a stack and then closes as many nodes as end with it; `top` is compared,
/// never an index, so held is in registers.
///
///   ranks         0            1            2
///   roots of   [0,2) [2,3)  [3,4) [4,6)   [6,8)
///   closes       0     0      2     0       2
///   held[0]     01    01    (01)+(2+3)    ...    -> ((01)+(23)) + ((45)+(67))
template <int kRun, int kDepth, bool kMail, class Cta>
DETGEMM_HD std::uint64_t join_run(const Job& j, const Cta& cta, std::int64_t e,
                                  const Source& source, float* sums) {
  constexpr int kAtOnce = kRootsAtOnce<kDepth, kMail>;
  constexpr int kWords = kRun > 1 ? kRun / 2 : 1;
  float held[kDepth][kRun];
  int top = 0;
  const std::byte* const mail = j.data[j.rank] + j.mail_at + source.mail;
  const auto mail_of = [&](int node) {
    return mail + static_cast<std::size_t>(node) * j.mail_stride;
  };
  const std::int64_t in_root = j.pushed ? e - j.row[j.rank] * j.g.n : e;
  const auto posted = [&](int node) { return kMail && j.owner[node] != j.rank; };
  for (int first = 0; first < j.nodes; first += kAtOnce) {
    float value[kAtOnce][kRun];
    MailWord word[kMail ? kAtOnce : 1][kWords];
    DETGEMM_PEERS_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int node = first + i;
      if (node >= j.nodes) continue;
      if (!posted(node)) {
        cta.template load<kRun>(j.root[node] + in_root, value[i]);
      } else if constexpr (kMail) {
        DETGEMM_PEERS_UNROLL
        for (int w = 0; w < kWords; ++w) word[i][w] = cta.look(word_at(mail_of(node), e) + w);
      }
    }
    if constexpr (kMail) {
      DETGEMM_PEERS_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const int node = first + i;
        if (node >= j.nodes || !posted(node)) continue;
        const std::uint64_t why =
            take_run<kRun>(j, cta, node, e, mail_of(node), source.signal, word[i], value[i]);
        if (why != 0) return why;
      }
    }
    DETGEMM_PEERS_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i >= j.nodes) continue;
      int closes = j.closes[first + i];
      DETGEMM_PEERS_UNROLL
      for (int level = kDepth - 1; level >= 0; --level) {
        const bool pops = closes > 0 && level == top - 1;
        DETGEMM_PEERS_UNROLL
        for (int x = 0; x < kRun; ++x) {
          if (pops) value[i][x] = arithmetic::add_rn(held[level][x], value[i][x]);
        }
        top -= pops ? 1 : 0;
        closes -= pops ? 1 : 0;
      }
      DETGEMM_PEERS_UNROLL
      for (int level = 0; level < kDepth; ++level) {
        DETGEMM_PEERS_UNROLL
        for (int x = 0; x < kRun; ++x) {
          if (level == top) held[level][x] = value[i][x];
        }
      }
      ++top;
    }
  }
  DETGEMM_PEERS_UNROLL
  for (int x = 0; x < kRun; ++x) sums[x] = arithmetic::canonical(held[0][x]);
  return 0;
}

/// An element of the roots as a row of M and a column.
struct Output {
  std::int64_t row, col;
};
DETGEMM_HD Output output_at(const Job& j, std::int64_t e) {
  if (e < std::int64_t{1} << 31) {  // a division of 32 bits where that will do
    const auto at = static_cast<std::uint32_t>(e);
    const auto n = static_cast<std::uint32_t>(j.g.n);
    return {at / n, at % n};
  }
  return {e / j.g.n, e % j.g.n};
}
DETGEMM_HD std::int64_t index_in_d(const Job& j, const Output& at) {
  return (at.row - j.first_row) * j.g.ds.row + at.col * j.g.ds.col;
}
/// Of an output, which is never a byte.
DETGEMM_HD int output_bytes(DType type) { return type == DType::fp32 ? 4 : 2; }
DETGEMM_HD void* address(void* data, std::int64_t index, DType type) {
  return static_cast<std::byte*>(data) + index * output_bytes(type);
}

/// Applies the epilogue to the sums of kRun outputs and writes them into D and, where it is not
/// null, at `packed`.
template <int kRun, class Cta>
DETGEMM_HD void finish_run(const Job& j, const Cta& cta, std::int64_t e, float* sums,
                           void* packed) {
  const GemmArguments& g = j.g;
  const Output at = output_at(j, e);
  DETGEMM_PEERS_UNROLL
  for (int x = 0; x < kRun; ++x) {
    const std::int64_t c_at = (at.row - j.first_row) * g.cs.row + (at.col + x) * g.cs.col;
    const float c = g.epilogue.beta != 0.0F ? load_as_float(g.c, c_at, g.c_type) : 0.0F;
    const float bias = g.epilogue.has_bias ? load_as_float(g.bias, at.col + x, g.bias_type) : 0.0F;
    sums[x] = apply_epilogue(g.epilogue, sums[x], c, bias);
  }
  cta.template store<kRun>(address(g.d, index_in_d(j, at), g.output), g.output, sums);
  if (packed != nullptr) cta.template store<kRun>(packed, g.output, sums);
}

/// Joins elements [part.begin, part.end) of `rows` of the roots, which begin at element `origin`.
/// Results are packed behind `packed` too, where it is not null. 0, or why a thread has stopped.
template <int kRun, int kDepth, bool kMail, class Cta>
DETGEMM_HD std::uint64_t join_part(const Job& j, const Cta& cta, const Part& part,
                                   std::int64_t origin, const Source& source, void* packed) {
  std::uint64_t why = 0;
  cta.each([&](int thread, int threads) {
    for (std::int64_t i = part.begin + std::int64_t{thread} * kRun; i < part.end && why == 0;
         i += std::int64_t{threads} * kRun) {
      float sums[kRun];
      why = join_run<kRun, kDepth, kMail>(j, cta, origin + i, source, sums);
      if (why != 0) continue;
      finish_run<kRun>(j, cta, origin + i, sums,
                       packed == nullptr ? nullptr : address(packed, i, j.g.output));
    }
  });
  return why;
}

}  // namespace detgemm::cuda::peers

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "cuda/peers/job.hpp"

#if defined(__CUDA_ARCH__)
#define DETGEMM_PEERS_UNROLL _Pragma("unroll")
#else
#define DETGEMM_PEERS_UNROLL
#endif

/// How a CTA joins roots of several ranks. `Cta` is a CTA: on a device its threads, on a host a
/// loop over them, so that a test runs this very code.
namespace detgemm::cuda::peers {

/// Roots whose loads are all under way before the first is added.
inline constexpr int kAtOnce = 8;

/// kRun outputs side by side, from element e of the roots on. A root is pushed onto a stack and
/// then closes as many nodes as end with it; `top` is compared, never an index, so held is in
/// registers.
///
///   ranks         0            1            2
///   roots of   [0,2) [2,3)  [3,4) [4,6)   [6,8)
///   closes       0     0      2     0       2
///   held[0]     01    01    (01)+(2+3)    ...    -> ((01)+(23)) + ((45)+(67))
template <int kRun, int kDepth, class Cta>
DETGEMM_HD void join_run(const Job& j, const Cta& cta, std::int64_t e, std::size_t mail,
                         float* sums) {
  float held[kDepth][kRun];
  int top = 0;
  for (int first = 0; first < j.nodes; first += kAtOnce) {
    float value[kAtOnce][kRun];
    DETGEMM_PEERS_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int node = first + i;
      if (node >= j.nodes) continue;
      const bool own = node >= j.first_own && node < j.first_own + j.own;
      const auto* from = reinterpret_cast<const std::byte*>(j.root[node] + e);
      cta.template load<kRun>(reinterpret_cast<const float*>(from + (own ? 0 : mail)), value[i]);
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
/// Results lie packed behind `packed` too, where it is not null.
template <int kRun, int kDepth, class Cta>
DETGEMM_HD void join_part(const Job& j, Cta& cta, const Part& part, std::int64_t origin,
                          std::size_t mail, void* packed) {
  cta.each([&](int thread, int threads) {
    for (std::int64_t i = part.begin + std::int64_t{thread} * kRun; i < part.end;
         i += std::int64_t{threads} * kRun) {
      float sums[kRun];
      join_run<kRun, kDepth>(j, cta, origin + i, mail, sums);
      finish_run<kRun>(j, cta, origin + i, sums,
                       packed == nullptr ? nullptr : address(packed, i, j.g.output));
    }
  });
}

}  // namespace detgemm::cuda::peers

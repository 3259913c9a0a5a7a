// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/compute_element.hpp"

namespace detgemm::bench {

/// What a linear layer with weights W (n x k) asks for. `tokens` is M everywhere.
enum class Kind {
  forward,  ///< Y  = X * W^T   tokens x n, reduction k
  da,       ///< dX = dY * W    tokens x k, reduction n
  db,       ///< dW = dY^T * X  n x k, reduction tokens
};

struct Problem {
  Kind kind = Kind::forward;
  std::int64_t tokens = 0, n = 0, k = 0;
  DType type = DType::bf16;  ///< of everything: bf16, fp16, or fp32 for ieee_fma
  Reduction reduction{};     ///< of the contract ours computes
  bool accumulate = false;   ///< D is fp32 and is added to: `continue`, and beta = 1 of the vendor

  bool is_chain() const { return reduction.kind == ReductionKind::chain; }
};

/// A problem as D (m x n) = A (m x k) * B (k x n), all packed, D row-major.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false;  ///< A lies in memory as k x m
  bool b_transposed = false;  ///< B lies in memory as n x k
  std::int64_t size = 2;      ///< bytes an element of A and B ...
  std::int64_t d_size = 2;    ///< ... and of D

  std::int64_t a_bytes() const { return size * m * k; }
  std::int64_t b_bytes() const { return size * k * n; }
  std::int64_t d_bytes() const { return d_size * m * n; }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

inline Gemm gemm_of(const Problem& p) {
  const std::int64_t size = p.type == DType::fp32 ? 4 : 2;
  const std::int64_t d_size = p.accumulate ? 4 : size;
  switch (p.kind) {
    case Kind::da:
      return {p.tokens, p.k, p.n, false, false, size, d_size};
    case Kind::db:
      return {p.n, p.k, p.tokens, true, false, size, d_size};
    default:
      return {p.tokens, p.n, p.k, false, true, size, d_size};
  }
}

/// Microseconds by counted bytes and operations on an H200: for plans and estimates only.
inline double guess_us(const Problem& p) {
  const Gemm g = gemm_of(p);
  const auto bytes = static_cast<double>(g.a_bytes() + g.b_bytes() + g.d_bytes());
  return std::max({3.0, bytes / 4.4e6, g.flops() / (p.type == DType::fp32 ? 50e6 : 720e6)});
}

/// How a case is timed.
enum class Mode {
  stream,   ///< graphs of 20 calls or more, a short pause before each sample
  burst,    ///< a few calls after idle
  settled,  ///< under continuous load, where power sets the clock
};

struct Case {
  std::string group;
  Mode mode = Mode::stream;
  Problem problem;
  /// Ours is timed on this one too: the aligned shape of an odd one, bf16 for fp16.
  std::optional<Problem> neighbour{};
};

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "detgemm/contract.hpp"

namespace detgemm::bench {

/// What a linear layer with weights W (n x k) asks for. `tokens` is M everywhere.
enum class Kind {
  forward,  ///< Y  = X * W^T   tokens x n, reduction k
  da,       ///< dX = dY * W    tokens x k, reduction n
  db,       ///< dW = dY^T * X  n x k, reduction tokens
};

/// What is done to D besides, in the type of D: a bias vector of n elements, a C that is added.
enum class Extra {
  none,
  bias,
  beta,            ///< C with beta = 1
  bias_relu,       ///< bias, then relu
  bias_gelu_tanh,  ///< bias, then gelu by tanh, which is what vendors call GELU
};

inline const char* name(Extra extra) {
  constexpr const char* names[] = {"none", "bias", "beta", "bias+relu", "bias+gelu_tanh"};
  return names[static_cast<int>(extra)];
}

inline bool has_bias(Extra extra) { return extra != Extra::none && extra != Extra::beta; }

/// What runs before every call of an arm and is timed with it, as in an engine, where norms and
/// activations stand between products: a small kernel that reads A and writes it unchanged.
enum class Before {
  nothing,
  foreign,  ///< launched as any kernel is: the product starts when it has ended
  own,      ///< lets the product start at once, and waits for the product before it reads
};

inline const char* name(Before before) {
  return before == Before::nothing ? "nothing" : before == Before::foreign ? "foreign" : "own";
}

struct Problem {
  Kind kind = Kind::forward;
  std::int64_t tokens = 0, n = 0, k = 0;
  DType type = DType::bf16;  ///< of everything; D is fp32 where it is fp32, tf32 or 8 bits
  bool accumulate = false;   ///< D is fp32 and is added to: `continue`, and beta = 1 of the vendor
  std::optional<DType> output{};  ///< of D, where it is not the type's own
  Extra extra = Extra::none;
  bool hot = false;  ///< every call on the same operands, so that caches hold what they can
  Before before = Before::nothing;
};

/// A problem as D (m x n) = A (m x k) * B (k x n), all packed, D row-major.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false;  ///< A lies in memory as k x m
  bool b_transposed = false;  ///< B lies in memory as n x k
  std::int64_t size = 2;      ///< bytes per element of A and B ...
  std::int64_t d_size = 2;    ///< ... and of D
  bool reads_d = false;

  std::int64_t a_bytes() const { return size * m * k; }
  std::int64_t b_bytes() const { return size * k * n; }
  std::int64_t d_bytes() const { return d_size * m * n; }
  /// The least that a call must move: each operand once.
  double bytes() const {
    return static_cast<double>(a_bytes() + b_bytes() + (reads_d ? 2 : 1) * d_bytes());
  }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// The type of D.
inline DType output_of(const Problem& p) {
  if (p.output && !p.accumulate) return *p.output;
  const bool same = p.type == DType::bf16 || p.type == DType::fp16;
  return same && !p.accumulate ? p.type : DType::fp32;
}

/// Bytes per element in memory.
inline std::int64_t bytes_of(DType type) {
  if (type == DType::fp32 || type == DType::tf32) return 4;
  return type == DType::bf16 || type == DType::fp16 ? 2 : 1;
}

inline Gemm gemm_of(const Problem& p) {
  const std::int64_t size = bytes_of(p.type);
  const std::int64_t d_size = bytes_of(output_of(p));
  const bool reads_d = p.accumulate || p.extra == Extra::beta;  // or a C as large
  switch (p.kind) {
    case Kind::da:
      return {p.tokens, p.k, p.n, false, false, size, d_size, reads_d};
    case Kind::db:
      return {p.n, p.k, p.tokens, true, false, size, d_size, reads_d};
    default:
      return {p.tokens, p.n, p.k, false, true, size, d_size, reads_d};
  }
}

/// How a case is timed.
enum class Mode {
  stream,   ///< graphs of 20 calls or more, a short pause before each sample
  burst,    ///< a few calls after idle
  settled,  ///< under continuous load, where power sets the clock
};

inline const char* name(Kind kind) {
  return kind == Kind::forward ? "forward" : kind == Kind::da ? "dA" : "dB";
}

inline const char* name(Mode mode) {
  return mode == Mode::stream ? "stream" : mode == Mode::burst ? "burst" : "settled";
}

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "detgemm/detgemm.hpp"
#ifdef CUBLAS_VERSION
// NVIDIA's own declarations are there; the fake's would contradict them.
enum { FAKE_N = 0, FAKE_T = 1, FAKE_32F = 0, FAKE_16F = 2, FAKE_16BF = 14 };
#else
#include "tests/dropin/fake_cublas/cublas.h"
#endif

extern "C" {
int detgemm_preload_configure(const char* text, char* sentence, std::size_t size);
void detgemm_preload_table(int descriptor);
}

/// Products as a BLAS states them, and what a contract says of them. The expectation gathers every
/// operand element by element from the BLAS's own definition of its layouts and multiplies dense
/// arrays through the public interface, so it shares no stride with the stand-in.
namespace detgemm::dropin_test {

inline constexpr const char* kReference = "backend = reference\ntable = none\n";

#ifndef CUBLAS_VERSION
inline void configure(const std::string& text) {
  char sentence[256] = "";
  ASSERT_EQ(detgemm_preload_configure(text.c_str(), sentence, sizeof sentence), 0) << sentence;
  fake_forget();
}
#endif

/// What the stand-in's table says now.
inline std::string table() {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return {};
  detgemm_preload_table(fileno(file));
  std::rewind(file);
  std::string text;
  char piece[4096];
  for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, file)) > 0;) {
    text.append(piece, got);
  }
  std::fclose(file);
  return text;
}

inline int code_of(DType type) {
  return type == DType::bf16 ? FAKE_16BF : type == DType::fp16 ? FAKE_16F : FAKE_32F;
}

/// Elements of one type, random in every bit of the fraction, so that sums show their order. Every
/// eighth seed also gives bit patterns of any kind: NaN, Inf, subnormal and huge numbers.
class Array {
 public:
  Array(DType type, std::int64_t elements, std::uint64_t seed)
      : type_(type), bytes_(static_cast<std::size_t>(elements + 1) * size_of(type)) {
    std::mt19937_64 random(seed);
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::uint64_t bits = random();
      // Exponents near 1 keep sums finite.
      const std::uint32_t sign = static_cast<std::uint32_t>(bits & 1U);
      const std::uint32_t small = static_cast<std::uint32_t>((bits >> 1) % 7);
      std::uint32_t raw = 0;
      if (type == DType::fp32) {
        raw = sign << 31 | (124 + small) << 23 | static_cast<std::uint32_t>(bits >> 41);
      } else if (type == DType::bf16) {
        raw = sign << 15 | (124 + small) << 7 | static_cast<std::uint32_t>(bits >> 57);
      } else {
        raw = sign << 15 | (12 + small) << 10 | static_cast<std::uint32_t>(bits >> 54);
      }
      if (seed % 8 == 0 && (bits >> 8) % 61 == 0) raw = static_cast<std::uint32_t>(bits >> 32);
      std::memcpy(bytes_.data() + static_cast<std::size_t>(i) * size_of(type), &raw, size_of(type));
    }
  }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::uint32_t at(std::int64_t i) const {
    std::uint32_t raw = 0;
    std::memcpy(&raw, bytes_.data() + static_cast<std::size_t>(i) * size_of(type_), size_of(type_));
    return raw;
  }
  void set(std::int64_t i, std::uint32_t raw) {
    std::memcpy(bytes_.data() + static_cast<std::size_t>(i) * size_of(type_), &raw, size_of(type_));
  }
  DType type() const { return type_; }
  bool operator==(const Array& other) const { return bytes_ == other.bytes_; }

 private:
  DType type_;
  std::vector<std::byte> bytes_;
};

/// D = epilogue(alpha * op(A)*op(B) + beta * C + bias), column-major; one entry of a batch.
struct Problem {
  int op_a = FAKE_N, op_b = FAKE_N;
  std::int64_t m = 5, n = 3, k = 40;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  float alpha = 1.0F, beta = 0.0F;
  std::string contract = "hopper/bf16/chain";
  DType input = DType::bf16, output = DType::bf16;
  Activation activation = Activation::none;
  const Array* bias = nullptr;  ///< m elements

  std::int64_t a_columns() const { return op_a == FAKE_N ? k : m; }
  std::int64_t b_columns() const { return op_b == FAKE_N ? n : k; }
};

/// Leading dimensions with `pad` elements that nobody may touch.
inline void pad(Problem& p, std::int64_t extra) {
  const auto at_least = [](std::int64_t rows) { return std::max<std::int64_t>(rows, 1); };
  p.lda = at_least(p.op_a == FAKE_N ? p.m : p.k) + extra;
  p.ldb = at_least(p.op_b == FAKE_N ? p.k : p.n) + extra;
  p.ldc = at_least(p.m) + extra;
}

/// C as it must be afterwards, padding included. Arrays begin at element `from_*`.
inline Array expected(const Problem& p, const Array& a, const Array& b, const Array& c,
                      std::int64_t from_a = 0, std::int64_t from_b = 0, std::int64_t from_c = 0) {
  const std::int64_t k = p.alpha == 0.0F ? 0 : p.k;  // A and B are then not read
  Array dense_a(p.input, p.m * k, 0);
  Array dense_b(p.input, k * p.n, 0);
  Array dense_c(p.output, p.n * p.m, 0);
  Array dense_d(p.output, p.n * p.m, 0);
  for (std::int64_t q = 0; q < k; ++q) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      dense_a.set(q * p.m + i, a.at(from_a + (p.op_a == FAKE_N ? i + q * p.lda : q + i * p.lda)));
    }
    for (std::int64_t j = 0; j < p.n; ++j) {
      dense_b.set(j * k + q, b.at(from_b + (p.op_b == FAKE_N ? q + j * p.ldb : j + q * p.ldb)));
    }
  }
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      dense_c.set(j * p.m + i, c.at(from_c + i + j * p.ldc));
    }
  }
  GemmOptions options;
  options.backend = "reference";
  options.alpha = p.alpha;
  options.beta = p.beta;
  options.activation = p.activation;
  options.c = row_major(std::as_const(dense_c).data(), p.n, p.m, p.output);
  if (p.bias != nullptr) options.bias = {p.bias->data(), p.m, p.bias->type()};
  const auto contract = Contract::parse(p.contract + "->" + std::string(name(p.output)));
  EXPECT_TRUE(contract.ok()) << contract.status().message();
  const Status status = gemm({}, row_major(std::as_const(dense_b).data(), p.n, k, p.input),
                             row_major(std::as_const(dense_a).data(), k, p.m, p.input),
                             row_major(dense_d.data(), p.n, p.m, p.output), *contract, options);
  EXPECT_TRUE(status.ok()) << status.message();
  Array out = c;
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) out.set(from_c + i + j * p.ldc, dense_d.at(j * p.m + i));
  }
  return out;
}

#ifndef CUBLAS_VERSION
/// The handle of a test, destroyed with it.
class Blas {
 public:
  Blas() { EXPECT_EQ(cublasCreate_v2(&handle_), 0); }
  ~Blas() { cublasDestroy_v2(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  operator cublasHandle_t() const { return handle_; }  // NOLINT: a handle is what it is

 private:
  cublasHandle_t handle_ = nullptr;
};
#endif

}  // namespace detgemm::dropin_test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What a reduction costs in accuracy: contracts against fp64, on the reference, whose bits every
// backend returns. Prints the table of docs/contracts.md.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "detgemm/detgemm.hpp"

namespace {

using namespace detgemm;

constexpr std::int64_t kM = 48;
constexpr std::int64_t kN = 48;

struct Bf16Matrix {
  std::vector<std::uint16_t> bits;
  std::vector<double> values;
};

/// Elements of a normal distribution, or their magnitudes: sums then grow with every product.
Bf16Matrix draw(std::size_t count, bool positive, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  Bf16Matrix m;
  for (std::size_t i = 0; i < count; ++i) {
    float value = normal(engine);
    if (positive) value = std::fabs(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= 0xffff0000U;
    std::memcpy(&value, &bits, sizeof value);
    m.bits.push_back(static_cast<std::uint16_t>(bits >> 16));
    m.values.push_back(value);
  }
  return m;
}

/// B is stored as n rows of k.
std::vector<double> exact(const Bf16Matrix& a, const Bf16Matrix& b, std::int64_t k) {
  std::vector<double> d;
  for (std::int64_t row = 0; row < kM; ++row) {
    for (std::int64_t col = 0; col < kN; ++col) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += a.values[static_cast<std::size_t>(row * k + i)] *
               b.values[static_cast<std::size_t>(col * k + i)];
      }
      d.push_back(sum);
    }
  }
  return d;
}

struct Error {
  double frobenius = 0;  ///< |got - exact| / |exact|
  double bias = 0;       ///< mean of (|got| - |exact|) over the mean of |exact|
};

Error measure(const std::string& contract, const Bf16Matrix& a, const Bf16Matrix& b, std::int64_t k,
              const std::vector<double>& want) {
  std::vector<float> d(static_cast<std::size_t>(kM * kN));
  GemmOptions options;
  options.op_b = Op::transpose;
  const auto parsed = Contract::parse(contract + "->fp32");
  const Status status = !parsed.ok()
                            ? parsed.status()
                            : gemm({}, row_major(a.bits.data(), kM, k, DType::bf16),
                                   row_major(b.bits.data(), kN, k, DType::bf16),
                                   row_major(d.data(), kM, kN, DType::fp32), *parsed, options);
  if (!status) {
    std::fprintf(stderr, "%s: %s\n", contract.c_str(), status.message().c_str());
    std::exit(1);
  }
  double difference = 0, norm = 0, shift = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double got = d[i];
    difference += (got - want[i]) * (got - want[i]);
    norm += want[i] * want[i];
    shift += std::fabs(got) - std::fabs(want[i]);
    size += std::fabs(want[i]);
  }
  return {std::sqrt(difference / norm), shift / size};
}

}  // namespace

int main() {
  const auto runtime = Runtime::start();
  if (!runtime.ok()) return 1;
  std::printf(
      "| data | K | contract | relative error (Frobenius) | bias |\n|---|---|---|---|---|\n");
  for (const bool positive : {false, true}) {
    for (const std::int64_t k : {4096, 16384, 65536}) {
      const auto count = [&](std::int64_t rows) { return static_cast<std::size_t>(rows * k); };
      const Bf16Matrix a = draw(count(kM), positive, 1);
      const Bf16Matrix b = draw(count(kN), positive, 2);
      const std::vector<double> want = exact(a, b, k);
      std::vector<std::string> contracts{"hopper/bf16/chain", "hopper/bf16/fold:1024",
                                         "hopper/bf16/tree:512", "ieee_fma/bf16/chain",
                                         "ieee_fma/bf16/tree:512"};
      if (k / 8 != 512) contracts.push_back("hopper/bf16/tree:" + std::to_string(k / 8));
      for (const std::string& contract : contracts) {
        const Error e = measure(contract, a, b, k, want);
        std::printf("| %s | %lld | `%s` | %.1e | %+.1e |\n", positive ? "magnitudes" : "normal",
                    static_cast<long long>(k), contract.c_str(), e.frobenius, e.bias);
      }
    }
  }
  return 0;
}

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Somebody else's sgemm as the oracle of snap: it adds the products of a leaf in an order of its
// own, and must return the leaf's bits all the same.

#include <cblas.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/arithmetic/formats.hpp"
#include "core/arithmetic/snap.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"

namespace detgemm {
namespace {

/// m lines of k numbers, with their own scales and outliers.
std::vector<std::uint16_t> drawn(std::mt19937_64& random, std::int64_t m, std::int64_t k) {
  std::normal_distribution<double> normal;
  std::vector<std::uint16_t> list;
  for (std::int64_t i = 0; i < m; ++i) {
    const double scale = std::exp(4.0 * normal(random));
    for (std::int64_t j = 0; j < k; ++j) {
      const double x = normal(random) * scale * (random() % 50 == 0 ? 60.0 : 1.0);
      list.push_back(arithmetic::to_bf16(static_cast<float>(x)));
    }
  }
  return list;
}

std::vector<float> widened(const std::vector<std::uint16_t>& from, std::int64_t k,
                           std::int64_t leaf, bool snaps) {
  std::vector<float> to(from.size());
  for (std::size_t at = 0; at < from.size(); at += static_cast<std::size_t>(k)) {
    for (std::int64_t begin = 0; begin < k; begin += leaf) {
      const std::uint16_t* x = from.data() + at + begin;
      const std::int64_t count = std::min(leaf, k - begin);
      const int t = arithmetic::snap_grid(count, [&](std::int64_t i) { return x[i]; });
      for (std::int64_t i = 0; i < count; ++i) {
        to[at + static_cast<std::size_t>(begin + i)] =
            arithmetic::to_float<DType::bf16>(snaps ? arithmetic::snapped(x[i], t) : x[i]);
      }
    }
  }
  return to;
}

/// fold:LEAF of A times B transposed, each leaf by sgemm.
std::vector<float> by_sgemm(const std::vector<float>& a, const std::vector<float>& b,
                            std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t leaf) {
  std::vector<float> sum(static_cast<std::size_t>(m * n), 0.0F);
  std::vector<float> part(sum.size());
  for (std::int64_t begin = 0; begin < k; begin += leaf) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(m), static_cast<int>(n),
                static_cast<int>(std::min(leaf, k - begin)), 1.0F, a.data() + begin,
                static_cast<int>(k), b.data() + begin, static_cast<int>(k), 0.0F, part.data(),
                static_cast<int>(n));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

TEST(SnapOpenBlas, EveryLeafHasTheSameBits) {
  std::mt19937_64 random(1);
  std::int64_t plain = 0;
  std::int64_t outputs = 0;
  for (const std::int64_t leaf : {64, 128, 512}) {
    for (int turn = 0; turn < 6; ++turn) {
      const auto m = static_cast<std::int64_t>(1 + random() % 90);
      const auto n = static_cast<std::int64_t>(1 + random() % 90);
      const auto k = static_cast<std::int64_t>(1 + random() % 1500);
      const auto a = drawn(random, m, k);
      const auto b = drawn(random, n, k);
      std::vector<float> d(static_cast<std::size_t>(m * n));
      GemmOptions options;
      options.op_b = Op::transpose;
      options.backend = "reference";
      const auto contract =
          *Contract::make(Arithmetic::snap, DType::bf16, {ReductionKind::fold, leaf}, DType::fp32);
      const Status status =
          gemm({}, row_major(a.data(), m, k, DType::bf16), row_major(b.data(), n, k, DType::bf16),
               row_major(static_cast<void*>(d.data()), m, n, DType::fp32), contract, options);
      ASSERT_TRUE(status) << status.message();
      const auto want =
          by_sgemm(widened(a, k, leaf, true), widened(b, k, leaf, true), m, n, k, leaf);
      EXPECT_EQ(std::memcmp(d.data(), want.data(), d.size() * sizeof(float)), 0)
          << m << " x " << n << " x " << k << ", leaf " << leaf;
      const auto other =
          by_sgemm(widened(a, k, leaf, false), widened(b, k, leaf, false), m, n, k, leaf);
      for (std::size_t i = 0; i < d.size(); ++i) plain += d[i] != other[i] ? 1 : 0;
      outputs += m * n;
    }
  }
  EXPECT_GT(plain, outputs / 2) << "operands that are not snapped must give other bits";
  RecordProperty("outputs", std::to_string(outputs));
}

}  // namespace
}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/error_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/data.hpp"
#include "core/conformance/format.hpp"
#include "core/conformance/request.hpp"
#include "detgemm/conformance.hpp"
#include "detgemm/digest.hpp"

namespace detgemm::conformance {
namespace {

/// The largest |result - exact| / bound over many problems of one contract.
double worst_share(const Contract& contract) {
  double worst = 0.0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const std::int64_t k = random.between(1, 300);
    constexpr std::int64_t m = 4;
    constexpr std::int64_t n = 4;
    const auto kind = random.pick(std::span<const Distribution>(kFiniteDistributions));
    Pair pair = draw_pair(random, kind, contract.input, m, n, k);
    Request request;
    request.spec.contract = contract;
    request.a = pair.a;
    request.b = pair.b;
    const auto got = run_once(controls::honest(), request);
    EXPECT_TRUE(got.ok());
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::vector<Term> terms;
        for (std::int64_t x = 0; x < k; ++x) {
          terms.push_back(make_term(pair.a.get(i, x), pair.b.get(x, j), contract.input));
        }
        const Bound bound = bound_of(contract, terms, contract.output);
        const double error = std::fabs(decode(got->d.get(i, j), contract.output) - bound.exact);
        if (std::isfinite(error)) worst = std::max(worst, error / bound.error);
      }
    }
  }
  return worst;
}

TEST(ErrorModel, BoundsEveryArithmeticAndIsNotIdle) {
  for (const Contract& base : base_contracts()) {
    for (const Reduction& reduction :
         {Reduction{}, Reduction{ReductionKind::fold, 32}, Reduction{ReductionKind::tree, 32}}) {
      Contract contract = base;
      contract.reduction = reduction;
      const double share = worst_share(contract);
      EXPECT_LE(share, 1.0) << contract.text();
      // A bound a thousand times too wide would find nothing.
      EXPECT_GE(share, 1e-3) << contract.text();
    }
  }
}

/// Bounds of sums of numbers about 2^exponent, with zeros and subnormals among them.
std::uint64_t digest_of_bounds(int exponent) {
  std::uint64_t digest = kDigestSeed;
  for (const Contract& contract : default_contracts(controls::honest())) {
    Random random(7);
    std::vector<Term> terms;
    for (int i = 0; i < 150; ++i) {
      const auto number = [&] {
        const double fraction = static_cast<double>(random.between(-255, 255)) / 128;
        return encode(std::ldexp(fraction, exponent - static_cast<int>(random.below(5))),
                      contract.input);
      };
      const std::uint32_t x = number();
      terms.push_back(make_term(x, number(), contract.input));
    }
    const Bound bound = bound_of(contract, terms, contract.output);
    digest = digest_bytes(&bound.exact, sizeof bound.exact, digest);
    digest = digest_bytes(&bound.error, sizeof bound.error, digest);
  }
  return digest;
}

TEST(ErrorModel, BoundsAreTheDerivedOnesToTheLastBit) {
  // About 1, and where the least normal number counts.
  EXPECT_EQ(hex(digest_of_bounds(0)), "ecae37c650263795");
  EXPECT_EQ(hex(digest_of_bounds(-8)), "8a9e40ffdc45189d");
  EXPECT_EQ(hex(digest_of_bounds(-62)), "851eb3ed3d66ca5a");
}

TEST(ErrorModel, CountsTheRoundingOfANarrowOutput) {
  const auto contract = *Contract::parse("ieee_fma/bf16/chain->bf16");
  const std::vector<Term> terms{
      make_term(encode(1.0, DType::bf16), encode(1.0, DType::bf16), DType::bf16)};
  EXPECT_GT(bound_of(contract, terms, DType::bf16).error, 0x1p-9);
  EXPECT_LT(bound_of(contract, terms, DType::fp32).error, 0x1p-22);
}

}  // namespace
}  // namespace detgemm::conformance

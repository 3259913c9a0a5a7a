// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of logsum16: the exponential over a sample of all 2^32 floats (all of
// them with DETGEMM_FLOAT_STRIDE=1 in the environment), the logarithm, the lemma about references,
// and the neutral node.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/arithmetic/log_near.hpp"
#include "core/contract/log_nodes.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::arithmetic {
namespace {

/// Of all floats each stride-th; odd, so that all bits of a float vary.
std::uint64_t stride() {
  const char* given = std::getenv("DETGEMM_FLOAT_STRIDE");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 8191;
}

TEST(LogSum, ExponentialIsNearTheTrueOne) {
  double worst = 0;
  std::uint64_t digest = 0xcbf29ce484222325U, ordinary = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride()) {
    const float x = float_of(static_cast<std::uint32_t>(bits));
    const LogTerm term = log_term(x);
    for (const std::uint32_t word :
         {static_cast<std::uint32_t>(term.n), bits_of(term.f), bits_of(term.g)}) {
      digest = (digest ^ word) * 0x100000001b3U;
    }
    if (!(std::fabs(x) <= kLogLimit)) continue;
    ++ordinary;
    ASSERT_GT(term.f, 0.70F) << x;
    ASSERT_LT(term.f, 1.42F) << x;
    // n ln 2 in two parts, so that the reference is good to 2^-50 for |x| = 65536 too.
    const double high = 0x1.62e42fefap-1, low = 0x1.cf79abc9e3b39p-40;
    const double rest = (static_cast<double>(x) - term.n * high) - term.n * low;
    worst = std::max(worst, std::fabs(static_cast<double>(term.f) / std::exp(rest) - 1));
  }
  EXPECT_LT(worst, 1.45 * 0x1p-24);
  EXPECT_GT(worst, 1.2 * 0x1p-24);
  EXPECT_GT(ordinary, (std::uint64_t{1} << 32) / stride() / 2);
  if (stride() == 8191) {
    EXPECT_EQ(digest, 0x858d4c109d6cb7e7U) << std::hex << digest;  // no bit changes unseen
  }
}

TEST(LogSum, LogarithmIsNearTheTrueOne) {
  double worst = 0;
  test::Random random(5);
  for (int i = 0; i < 400000; ++i) {
    const float q = float_of(0x3f000000U + static_cast<std::uint32_t>(random.next() % 0x10000000U));
    const auto n = static_cast<std::int32_t>(random.below(i % 2 == 0 ? 20 : 90000)) - 10;
    const double truth = std::log(static_cast<double>(q)) + n * std::log(2.0);
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(truth), -60) - 23);
    worst = std::max(worst, std::fabs(log_scaled(q, n) - truth) / ulp);
  }
  EXPECT_LT(worst, 2.8);
  EXPECT_EQ(bits_of(log_scaled(1.0F, 0)), 0U);
  EXPECT_EQ(bits_of(log_scaled(0x1p10F, -10)), 0U);
  for (std::uint32_t bits = 0x3f800001; bits < 0x3f800001 + 100000; ++bits) {
    ASSERT_GT(log_scaled(float_of(bits), 0), 0.0F) << bits;  // so logp is never above 0
  }
}

std::vector<float> row(test::Random& random, std::size_t columns, int kind) {
  std::vector<float> x(columns);
  for (float& each : x) {
    const double uniform = static_cast<double>(random.next() >> 11) * 0x1p-53;
    each = static_cast<float>((uniform - 0.5) * (kind % 3 == 0 ? 4 : kind % 3 == 1 ? 60 : 400));
    if (kind % 4 == 3 && random.below(3) == 0) each = -HUGE_VALF;
  }
  return x;
}

LogNode root_of(const std::vector<float>& x) {
  LogStack stack;
  for (std::size_t i = 0; i < x.size(); i += kLogLeaf) {
    float leaf[kLogLeaf];
    for (std::size_t j = 0; j < kLogLeaf; ++j) leaf[j] = i + j < x.size() ? x[i + j] : -HUGE_VALF;
    stack.push(log_leaf<true>(leaf), 0, static_cast<std::int64_t>(i) / kLogLeaf);
  }
  return stack.root();
}

/// The tree in numbers of 24 bits with unlimited exponents: doubles, rounded by hand.
struct Wide {
  double s = 0;  ///< times 2^k
  int k = 0;
};
double rounded_to_24_bits(double value) {
  if (value == 0) return 0;
  const int shift = 23 - std::ilogb(value);
  return std::ldexp(std::nearbyint(std::ldexp(value, shift)), -shift);
}
/// a + b where both are multiples of powers of two far apart.
Wide plus(Wide a, Wide b) {
  if (a.s == 0) return b;
  if (b.s == 0) return a;
  if (a.k < b.k) std::swap(a, b);
  // Beyond 27 binades b cannot reach a's 24 bits, but for a tie, which a number of 24 bits is not.
  if (a.k - b.k > 1000 || std::ldexp(b.s, b.k - a.k) < a.s * 0x1p-27) return a;
  if (a.s < std::ldexp(b.s, b.k - a.k) * 0x1p-27) return b;
  return {rounded_to_24_bits(a.s + std::ldexp(b.s, b.k - a.k)), a.k};
}
Wide unlimited(const std::vector<float>& x, std::size_t level, std::size_t index) {
  const std::size_t begin = (index << level) * kLogLeaf;
  if (begin >= x.size()) return {};
  if (level > 0)
    return plus(unlimited(x, level - 1, 2 * index), unlimited(x, level - 1, 2 * index + 1));
  Wide t[kLogLeaf];
  for (std::size_t j = 0; j < kLogLeaf && begin + j < x.size(); ++j) {
    const LogTerm term = log_term(x[begin + j]);
    if (term.n != kLogAbsent) t[j] = {term.f, term.n};
  }
  Wide q[4];
  for (int i = 0; i < 4; ++i)
    q[i] = plus(plus(t[2 * i], t[2 * i + 1]), plus(t[2 * i + 8], t[2 * i + 9]));
  return plus(plus(q[0], q[1]), plus(q[2], q[3]));
}

TEST(LogSum, ReferencesDoNotMatter) {
  test::Random random(11);
  for (int i = 0; i < 240; ++i) {
    const std::vector<float> x = row(random, 1 + random.below(900), i);
    const LogNode root = root_of(x);
    const Wide truth = unlimited(x, 6, 0);
    if (root.k == kLogAbsent) {
      EXPECT_EQ(truth.s, 0);
      continue;
    }
    EXPECT_EQ(std::ldexp(truth.s, truth.k - root.k), root.s) << i;
  }
}

TEST(LogSum, AnAbsentNodeChangesNothing) {
  test::Random random(12);
  const LogNode nothing = absent_node();
  const LogNode minus_zero{0, 1.0F, -0.0F};  // one column, x = -0
  for (int i = 0; i < 60; ++i) {
    const LogNode node = i == 0 ? minus_zero : root_of(row(random, 1 + random.below(100), i));
    for (const LogNode& joined : {log_join(node, nothing), log_join(nothing, node)}) {
      EXPECT_EQ(joined.k, node.k);
      EXPECT_EQ(bits_of(joined.s), bits_of(node.s));
      EXPECT_EQ(bits_of(joined.a), bits_of(node.a));
    }
  }
}

TEST(LogSum, AbsentColumnsAtTheEndChangeNothing) {
  test::Random random(16);
  for (int i = 0; i < 60; ++i) {
    std::vector<float> x = row(random, 1 + random.below(600), i);
    const LogNode root = root_of(x);
    for (const float absent : {-HUGE_VALF, -65537.0F}) {
      x.resize(x.size() + 1 + random.below(300), absent);
      EXPECT_EQ(root_of(x).k, root.k);
      EXPECT_EQ(bits_of(root_of(x).s), bits_of(root.s));
      EXPECT_EQ(bits_of(root_of(x).a), bits_of(root.a));
    }
  }
}

/// Leaves from any leaf on become the maximal nodes of their range, and no others.
TEST(LogSum, LeavesJoinByPosition) {
  for (std::int64_t begin = 0; begin < 40; ++begin) {
    for (std::int64_t end = begin + 1; end < 80; ++end) {
      LogStack stack;
      for (std::int64_t leaf = begin; leaf < end; ++leaf) stack.push(absent_node(), 0, leaf);
      ASSERT_EQ(stack.count, node_count(begin, end)) << begin << " " << end;
      std::int64_t at = begin;
      for (int i = 0; i < stack.count; ++i) {
        ASSERT_EQ(stack.levels[i], node_level(at, end)) << begin << " " << end;
        at += std::int64_t{1} << stack.levels[i];
      }
    }
  }
}

/// Shards at any multiples of 16 are nodes that join to the same root.
TEST(LogSum, AnyShardsJoinToTheRoot) {
  test::Random random(13);
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> x = row(random, 1 + random.below(2000), i);
    const std::int64_t leaves = log_leaves(static_cast<std::int64_t>(x.size()));
    const LogNode root = root_of(x);
    LogStack all;
    for (std::int64_t at = 0; at < leaves;) {
      const std::int64_t end = std::min(leaves, at + 1 + random.below(40));
      while (at < end) {
        const int level = node_level(at, end);
        const auto begin = x.begin() + at * kLogLeaf;
        const std::int64_t stop = at + (std::int64_t{1} << level);
        const auto last = x.begin() + std::min<std::int64_t>(stop * kLogLeaf, x.size());
        all.push(root_of({begin, last}), level, at >> level);
        at = stop;
      }
    }
    EXPECT_EQ(all.root().k, root.k);
    EXPECT_EQ(bits_of(all.root().s), bits_of(root.s));
    EXPECT_EQ(bits_of(all.root().a), bits_of(root.a));
  }
}

/// Other orders and other forms of the same sums, each of which must show.
struct Other {
  const char* name;
  float (*lse)(const std::vector<float>& x);
};

float online(const std::vector<float>& x) {
  float most = -HUGE_VALF, sum = 0;
  for (std::size_t i = 0; i < x.size(); i += 128) {  // tiles, as kernels have it
    float tile = most;
    for (std::size_t j = i; j < std::min(i + 128, x.size()); ++j) tile = std::max(tile, x[j]);
    if (tile == -HUGE_VALF) continue;
    const auto power = [](float d) {
      const LogTerm e = log_exponential(std::max(d, -100.0F));
      return mul_rn(e.f, power_below(e.n));
    };
    sum = most == -HUGE_VALF ? 0 : mul_rn(sum, power(most - tile));
    for (std::size_t j = i; j < std::min(i + 128, x.size()); ++j)
      sum = add_rn(sum, power(x[j] - tile));
    most = tile;
  }
  return add_rn(most, log_scaled(sum, 0));
}

float shifted_leaves(const std::vector<float>& x) {  // a shard's border at 8
  std::vector<float> later(8, -HUGE_VALF);
  later.insert(later.end(), x.begin(), x.end());
  return log_sum_exp(root_of(later));
}

float halves(const std::vector<float>& x) {
  const auto over = [&](const auto& self, std::size_t begin, std::size_t end) -> LogNode {
    if (end - begin <= kLogLeaf) return root_of({x.begin() + begin, x.begin() + end});
    const std::size_t leaves = (end - begin + kLogLeaf - 1) / kLogLeaf;
    const std::size_t middle = begin + leaves / 2 * kLogLeaf;
    return log_join(self(self, begin, middle), self(self, middle, end));
  };
  return log_sum_exp(over(over, 0, x.size()));
}

/// The node of columns by plain sums, whether near or not.
template <bool kEntropy>
LogNode plain_node(const std::vector<float>& x) {
  std::vector<float> sums, weighted;
  for (std::size_t i = 0; i < x.size(); i += kLogLeaf) {
    float e[kLogLeaf], w[kLogLeaf];
    for (std::size_t j = 0; j < kLogLeaf; ++j) {
      e[j] = near_exponential(x[i + j]);
      w[j] = mul_rn(e[j], x[i + j]);
    }
    sums.push_back(add_leaf(e));
    weighted.push_back(add_leaf(w));
  }
  for (std::size_t step = 1; step < sums.size(); step *= 2) {
    for (std::size_t i = 0; i < sums.size(); i += 2 * step) {
      sums[i] = add_rn(sums[i], sums[i + step]);
      weighted[i] = add_rn(weighted[i], weighted[i + step]);
    }
  }
  return near_node(*std::max_element(x.begin(), x.end()), sums[0], kEntropy ? weighted[0] : -0.0F);
}

/// Numbers of all sizes up to a limit, of both signs, with values that cancel and the limit itself.
std::vector<float> near_row(test::Random& random, float limit) {
  std::vector<float> x(kLogLeaf << random.below(7));
  const std::uint32_t least = bits_of(kLogNearLeast), most = bits_of(limit);
  const std::uint64_t kind = random.below(4);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float value = float_of(least + static_cast<std::uint32_t>(random.below(most - least + 1)));
    if (kind == 1) value = limit;
    if (kind == 2) value = static_cast<float>(random.below(1U << 20)) * 0x1p-20F * limit;
    if (kind == 2 && value < kLogNearLeast) value = kLogNearLeast;
    x[i] = kind == 3 && i % 2 == 1 ? -x[i - 1] : random.below(2) == 0 ? value : -value;
  }
  return x;
}

TEST(LogSum, NearColumnsNeedNoReference) {
  test::Random random(17);
  int far = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::vector<float> weighted = near_row(random, kLogNearWeighted);
    const LogNode root = root_of(weighted), found = plain_node<true>(weighted);
    ASSERT_EQ(found.k, root.k) << i;
    ASSERT_EQ(bits_of(found.s), bits_of(root.s)) << i;
    ASSERT_EQ(bits_of(found.a), bits_of(root.a)) << i;
    const std::vector<float> x = near_row(random, kLogNear);
    const LogNode sum = plain_node<false>(x);
    ASSERT_EQ(sum.k, root_of(x).k) << i;
    ASSERT_EQ(bits_of(sum.s), bits_of(root_of(x).s)) << i;
    // The limits are there for a reason.
    const std::vector<float> beyond = near_row(random, 2 * kLogNear);
    const LogNode plain = plain_node<true>(beyond), right = root_of(beyond);
    far += bits_of(plain.s) != bits_of(right.s) || bits_of(plain.a) != bits_of(right.a) ? 1 : 0;
  }
  EXPECT_GT(far, 100);
  EXPECT_FALSE(is_near<false>(-1.0F, float_of(kNaNBits), 1.0F));
  EXPECT_FALSE(is_near<false>(float_of(kNaNBits), 1.0F, 1.0F));
  EXPECT_FALSE(is_near<true>(-1.0F, 1.0F, 0.0F));
  EXPECT_TRUE(is_near<false>(-kLogNear, kLogNear, 0.0F));
  EXPECT_FALSE(is_near<false>(-65.0F, 1.0F, 0.0F));
}

TEST(LogSum, OtherOrdersDiffer) {
  for (const Other& other :
       {Other{"online", online}, Other{"shifted", shifted_leaves}, Other{"halves", halves}}) {
    test::Random random(14);
    int different = 0;
    for (int i = 0; i < 120; ++i) {
      const std::vector<float> x = row(random, 3000 + random.below(100), 3 * i);
      if (bits_of(other.lse(x)) != bits_of(log_sum_exp(root_of(x)))) ++different;
    }
    EXPECT_GE(different, 3) << other.name;
  }
}

TEST(LogSum, LogProbabilitiesAreNeverAboveZeroAndNearTheTruth) {
  test::Random random(15);
  double worst = 0, plain = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<float> x = row(random, 1 + random.below(5000), i % 2 == 0 ? 0 : 1);
    const std::size_t t =
        static_cast<std::size_t>(random.below(static_cast<std::int64_t>(x.size())));
    if (i % 3 == 0) x[t] = 16.0F;  // p near 1
    const LogNode root = root_of(x);
    const float lse = log_sum_exp(root);
    const float logp = log_probability(root, lse, x[t]);
    ASSERT_LE(logp, 0.0F);
    ASSERT_FALSE(std::signbit(logp) && logp == 0);
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j)
      sum += j == t ? 0 : std::exp(static_cast<double>(x[j]) - x[t]);
    const double truth = -std::log1p(sum);
    // The bound of CONTRACT.md, section 8.8.
    const double d = 4 + std::ceil(std::log2(std::max(1.0, static_cast<double>(x.size()) / 16)));
    ASSERT_LE(std::fabs(logp - truth), ((d + 5) + 4 * std::fabs(truth)) * 0x1p-24) << i;
    if (truth > -1e-3) {
      worst = std::max(worst, std::fabs(logp - truth));
      plain = std::max(plain, std::fabs(static_cast<double>(add_rn(x[t], -lse)) - truth));
    }
  }
  EXPECT_LT(worst, 4e-7);
  EXPECT_GT(plain, 2 * worst);  // x_t - lse cancels there
}

}  // namespace
}  // namespace detgemm::arithmetic

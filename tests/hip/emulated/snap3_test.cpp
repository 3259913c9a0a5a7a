// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The kernels that split operands of snap3, executed by the interpreter. A product leaves its
// copies at the start of the workspace, and every bit of them is compared with the rule on the
// host.

#include "core/arithmetic/snap3.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/conformance/buffer.hpp"
#include "core/conformance/random.hpp"
#include "core/contract/snap3_copies.hpp"
#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"

namespace detgemm {
namespace {

using arithmetic::Snap3Grids;
using arithmetic::Snap3Parts;
using conformance::Elements;
using conformance::Random;
using Words = std::vector<std::uint16_t>;
using Lines = std::vector<std::uint32_t>;  // of fp32 numbers, k of each line side by side

class HipSnap3 : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status s = hip_backend().available(); !s) FAIL() << s.message();
  }
};

/// One number of a leaf of a kind that some part of the rule is about; `top` belongs to the leaf.
std::uint32_t number(Random& random, std::int64_t kind, std::int64_t top) {
  const auto bits = static_cast<std::uint32_t>(random.below(std::int64_t{1} << 32));
  const auto finite = [&](std::int64_t field) {
    return (bits & 0x807fffffU) |
           static_cast<std::uint32_t>(std::clamp<std::int64_t>(field, 0, 254)) << 23;
  };
  switch (kind) {
    case 0:  // any bits: most leaves hold NaN, Inf and huge numbers
      return bits;
    case 1:  // a few octaves, at any height
      return finite(top - random.below(6));
    case 2:  // far apart: first parts of zero, and second parts of all that is left
      return finite(top - random.below(40));
    case 3:  // halfway between two bf16 numbers
      return (finite(127 - random.below(3)) & 0xffff0000U) | 0x8000U;
    case 4:  // zeros of both signs and subnormals
      return bits & (random.one_in(2) ? 0x80000000U : 0x807fffffU);
    case 5:  // around the largest grid, and beyond
      return finite(127 + random.between(55, 64));
    case 6:  // around the least grid
      return finite(127 - random.between(48, 64));
    case 7:  // would round to Inf
      return random.one_in(20) ? 0x7f7fffffU : finite(127);
    default:  // ordinary numbers and a rare Inf or NaN
      if (random.one_in(40)) return random.one_in(2) ? 0xff800000U : 0x7fc12345U;
      return finite(127 - random.below(4));
  }
}

Lines draw(Random& random, DType type, std::int64_t lines, std::int64_t k, std::int64_t leaf) {
  Lines numbers(static_cast<std::size_t>(lines * k));
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t begin = 0; begin < k; begin += leaf) {
      const std::int64_t kind = random.below(9);
      const std::int64_t top = random.between(0, 254);
      for (std::int64_t j = begin; j < std::min(k, begin + leaf); ++j) {
        std::uint32_t& to = numbers[static_cast<std::size_t>(i * k + j)];
        to = number(random, kind, top);
        if (type == DType::bf16) to &= 0xffff0000U;
      }
    }
  }
  return numbers;
}

Elements elements_of(const Lines& numbers, DType type, std::int64_t lines, std::int64_t k) {
  Elements e(type, lines, k);
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      const std::uint32_t bits = numbers[static_cast<std::size_t>(i * k + j)];
      e.set(i, j, type == DType::bf16 ? bits >> 16 : bits);
    }
  }
  return e;
}

/// Mistakes that the comparison must see: one grid for both parts, and parts in the other operand's
/// order.
enum class Mistake { none, one_grid, other_order };

/// What the rule makes of every line.
Words copies_of(const Lines& numbers, std::int64_t k, const Snap3Copies& shape, bool of_a,
                Mistake mistake = Mistake::none) {
  const std::int64_t lines = static_cast<std::int64_t>(numbers.size()) / k;
  Words to(static_cast<std::size_t>(lines * shape.k));
  if (mistake == Mistake::other_order) of_a = !of_a;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t i = 0; i < shape.leaves; ++i) {
      const std::int64_t begin = i * shape.leaf_k;
      const std::int64_t count = std::min(shape.leaf_k, k - begin);
      const std::uint32_t* const from = numbers.data() + line * k + begin;
      std::uint16_t* const sums = to.data() + line * shape.k + begin * arithmetic::kSnap3Sums;
      const auto load = [&](std::int64_t j) { return arithmetic::to_float<DType::fp32>(from[j]); };
      Snap3Grids grids = arithmetic::snap3_grids(count, load);
      if (mistake == Mistake::one_grid) grids.second = grids.first;
      for (std::int64_t j = 0; j < count; ++j) {
        const Snap3Parts parts = arithmetic::snap3_parts(load(j), grids);
        for (int sum = 0; sum < arithmetic::kSnap3Sums; ++sum) {
          sums[sum * shape.leaf_k + j] = arithmetic::snap3_operand(parts, of_a, sum);
        }
      }
    }
  }
  return to;
}

struct Problem {
  DType type;
  std::int64_t m, n, k, leaf;
  Op op_a, op_b;
  conformance::Layout a, b;
};

struct Counts {
  std::int64_t words = 0, one_grid = 0, other_order = 0;
};

void compare(const Lines& numbers, const Problem& p, bool of_a, const std::uint16_t* got,
             Counts& counts) {
  const Snap3Copies shape = snap3_copies(p.k, p.leaf);
  const Words wanted = copies_of(numbers, p.k, shape, of_a);
  const bool equal = std::equal(wanted.begin(), wanted.end(), got);
  EXPECT_TRUE(equal) << (of_a ? "A" : "B") << " of m=" << p.m << " n=" << p.n << " k=" << p.k
                     << " leaf=" << p.leaf << " " << name(p.type);
  counts.words += static_cast<std::int64_t>(wanted.size());
  counts.one_grid += wanted != copies_of(numbers, p.k, shape, of_a, Mistake::one_grid);
  counts.other_order += wanted != copies_of(numbers, p.k, shape, of_a, Mistake::other_order);
}

GemmSpec spec_of(DType type, ReductionKind kind, std::int64_t n, std::int64_t k,
                 std::int64_t leaf) {
  GemmSpec spec;
  spec.n = n;
  spec.k = k;
  spec.contract = *Contract::make(Arithmetic::snap3, type, {kind, leaf}, DType::fp32);
  return spec;
}

void check(Random& random, const Problem& p, Counts& counts) {
  const Lines rows = draw(random, p.type, p.m, p.k, p.leaf);
  const Lines columns = draw(random, p.type, p.n, p.k, p.leaf);
  Device& device = hip_backend().device();
  // Buffers lie as op says: A is m x k, and the columns of B are lines here, n x k.
  auto a = conformance::Buffer::holding(device, elements_of(rows, p.type, p.m, p.k),
                                        p.op_a == Op::transpose, p.a, 0xff);
  auto b = conformance::Buffer::holding(device, elements_of(columns, p.type, p.n, p.k),
                                        p.op_b == Op::none, p.b, 0xff);
  auto d = conformance::Buffer::holding(device, Elements(DType::fp32, p.m, p.n), false, {}, 0x5a);
  GemmSpec spec = spec_of(p.type, ReductionKind::fold, p.n, p.k, p.leaf);
  spec.op_a = p.op_a;
  spec.op_b = p.op_b;
  const auto plan = Plan::create(hip_backend(), spec);
  ASSERT_TRUE(plan) << plan.status().message();
  const std::size_t bytes = *plan->workspace_bytes(p.m);
  auto workspace = conformance::Buffer::scratch(device, bytes, 0xff);
  ASSERT_TRUE(a && b && d && workspace);
  const Stream stream{DeviceKind::hip, nullptr};
  const Status status =
      plan->run(stream, a->view(), b->view(), d->view(), {workspace->data(), bytes});
  ASSERT_TRUE(status) << status.message();
  ASSERT_TRUE(device.synchronize(stream));
  EXPECT_TRUE(*a->intact(false) && *b->intact(false)) << "an operand changed";
  EXPECT_EQ(workspace->touched(), "");
  Words copies(bytes / 2);
  ASSERT_TRUE(device.to_host(copies.data(), workspace->data(), copies.size() * 2));
  const auto of_a = static_cast<std::size_t>(p.m * snap3_copies(p.k, p.leaf).k);
  ASSERT_GE(copies.size(), (of_a + 127) / 128 * 128);
  compare(rows, p, true, copies.data(), counts);
  compare(columns, p, false, copies.data() + (of_a + 127) / 128 * 128, counts);
}

TEST_F(HipSnap3, EveryBitOfTheCopiesIsTheRules) {
  Random random(23);
  constexpr std::int64_t leaves[] = {64, 128, 192, 1024};
  constexpr std::int64_t paddings[] = {0, 0, 1, 4, 8, 24};
  constexpr std::int64_t offsets[] = {0, 0, 3, 4, 8};
  const auto layout = [&] {
    conformance::Layout l;
    l.col_major = random.one_in(2);
    l.ld_padding = paddings[random.below(6)];
    l.offset = offsets[random.below(5)];
    return l;
  };
  Counts counts;
  constexpr int kProblems = 60;
  for (int i = 0; i < kProblems; ++i) {
    Problem p{};
    p.type = i % 2 == 0 ? DType::fp32 : DType::bf16;
    p.leaf = leaves[random.below(4)];
    p.m = random.one_in(5) ? 1 : random.between(1, 70);
    p.n = random.one_in(5) ? 1 : random.between(1, 40);
    p.k = random.one_in(3) ? p.leaf * random.between(1, 2) : random.between(1, 500);
    p.op_a = random.one_in(2) ? Op::none : Op::transpose;
    p.op_b = random.one_in(2) ? Op::none : Op::transpose;
    p.a = layout();
    p.b = layout();
    check(random, p, counts);
    if (HasFailure()) return;
  }
  EXPECT_GT(counts.words, 1'000'000);
  EXPECT_GT(counts.one_grid, kProblems);  // of 2 * kProblems operands
  EXPECT_GT(counts.other_order, kProblems);
}

std::int64_t bytes_of(const GemmSpec& spec, std::int64_t m) {
  const auto plan = Plan::create(hip_backend(), spec);
  if (!plan) return -1;
  const auto size = plan->workspace_bytes(m);
  return size ? static_cast<std::int64_t>(*size) : -1;
}

/// Three words of bf16 per number of K's whole leaves, in bf16 as in fp32.
TEST_F(HipSnap3, TheWorkspaceHoldsTheCopies) {
  for (const DType type : {DType::bf16, DType::fp32}) {
    EXPECT_EQ(bytes_of(spec_of(type, ReductionKind::fold, 300, 1000, 128), 40),
              (40 + 300) * 3 * 1024 * 2);
    // One leaf, in whole steps of 64; and no products, no copies.
    EXPECT_EQ(bytes_of(spec_of(type, ReductionKind::fold, 300, 100, 4096), 40),
              (40 + 300) * 3 * 128 * 2);
    EXPECT_EQ(bytes_of(spec_of(type, ReductionKind::fold, 300, 0, 128), 40), 0);
  }
  GemmSpec huge = spec_of(DType::fp32, ReductionKind::fold, 8, std::int64_t{1} << 61, 128);
  const auto plan = Plan::create(hip_backend(), huge);
  if (plan) {
    const auto size = plan->workspace_bytes(8);
    EXPECT_TRUE(!size || *size == SIZE_MAX);
  }
}

TEST_F(HipSnap3, EveryKernelWithLeavesIsAVariant) {
  const auto list = hip_backend().variants(spec_of(DType::fp32, ReductionKind::tree, 8, 128, 64));
  const std::set<std::string> variants(list.begin(), list.end());
  for (const char* const one : {"256x128", "stream", "64x64-parts", "simt-64x64", "mfma-fp32"}) {
    EXPECT_EQ(variants.count(one), 1U) << one;
  }
  EXPECT_EQ(variants.count("256x256"), 0U);  // of chains alone
}

TEST_F(HipSnap3, RefusalsNameWhatIsWrong) {
  GemmSpec spec = spec_of(DType::bf16, ReductionKind::fold, 8, 128, 64);
  spec.b_snapped = true;
  const auto promised = Plan::create(hip_backend(), spec);
  ASSERT_FALSE(promised);
  EXPECT_EQ(promised.status().code(), Errc::invalid_argument);
  EXPECT_NE(promised.status().message().find("b_snapped"), std::string::npos)
      << promised.status().message();
  // A workspace that is too small for the copies: nothing is written.
  spec.b_snapped = false;
  const auto plan = Plan::create(hip_backend(), spec);
  ASSERT_TRUE(plan) << plan.status().message();
  Device& device = hip_backend().device();
  const Elements zeros(DType::bf16, 8, 128);
  auto a = conformance::Buffer::holding(device, zeros, false, {}, 0xff);
  auto b = conformance::Buffer::holding(device, zeros, true, {}, 0xff);
  auto d = conformance::Buffer::holding(device, Elements(DType::fp32, 8, 8), false, {}, 0x5a);
  const std::size_t bytes = *plan->workspace_bytes(8);
  auto workspace = conformance::Buffer::scratch(device, bytes, 0x3c);
  ASSERT_TRUE(a && b && d && workspace);
  const Stream stream{DeviceKind::hip, nullptr};
  const Status status =
      plan->run(stream, a->view(), b->view(), d->view(), {workspace->data(), bytes - 1});
  EXPECT_EQ(status.code(), Errc::invalid_argument);
  EXPECT_NE(status.message().find("workspace"), std::string::npos) << status.message();
  ASSERT_TRUE(device.synchronize(stream));
  EXPECT_TRUE(*d->intact(false)) << "D changed";
}

}  // namespace
}  // namespace detgemm

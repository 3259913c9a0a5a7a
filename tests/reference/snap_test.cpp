// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The reference under snap: every variant, which snaps in lanes and adds in fp32, against the
// integers of the scalar definition; promises; leaves longer than the lanes' buffer.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"

namespace detgemm {
namespace {

using Bits = std::vector<std::uint16_t>;

/// Random patterns, normal numbers, many binades, and normal ones with a few NaN and Inf.
Bits drawn(std::mt19937_64& random, std::int64_t count, int kind) {
  std::normal_distribution<double> normal;
  Bits list(static_cast<std::size_t>(count));
  for (std::uint16_t& bits : list) {
    bits = static_cast<std::uint16_t>(random());
    if (kind == 0 || (kind == 3 && random() % 300 == 0)) continue;
    const double x = normal(random) * (kind == 2 ? std::exp(20.0 * normal(random)) : 1.0);
    const auto value = static_cast<float>(x);
    std::uint32_t wide = 0;
    std::memcpy(&wide, &value, sizeof wide);
    bits = static_cast<std::uint16_t>(wide >> 16);
  }
  return list;
}

struct Shape {
  std::int64_t m, n, k;
  Op op_a, op_b;

  ConstMatrix a(const Bits& bits) const {
    return op_a == Op::none ? row_major(bits.data(), m, k, DType::bf16)
                            : row_major(bits.data(), k, m, DType::bf16);
  }
  ConstMatrix b(const Bits& bits) const {
    return op_b == Op::none ? row_major(bits.data(), k, n, DType::bf16)
                            : row_major(bits.data(), n, k, DType::bf16);
  }
};

std::vector<std::uint8_t> product(const Shape& shape, const Contract& contract, const Bits& a,
                                  const Bits& b, const std::string& variant, bool a_snapped,
                                  bool b_snapped) {
  GemmSpec spec;
  spec.n = shape.n;
  spec.k = shape.k;
  spec.contract = contract;
  spec.op_a = shape.op_a;
  spec.op_b = shape.op_b;
  spec.a_snapped = a_snapped;
  spec.b_snapped = b_snapped;
  const auto plan = Plan::create(reference_backend(), spec, {variant});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const std::size_t bytes = *plan->workspace_bytes(shape.m);
  void* scratch = *host_device().allocate(bytes);
  if (bytes > 0) std::memset(scratch, 0xff, bytes);
  std::vector<std::uint8_t> d(static_cast<std::size_t>(shape.m * shape.n) *
                              size_of(contract.output));
  const Matrix out = row_major(static_cast<void*>(d.data()), shape.m, shape.n, contract.output);
  const Status status = plan->run({}, {shape.a(a), shape.b(b), out}, {scratch, bytes});
  EXPECT_TRUE(status.ok()) << status.message();
  host_device().release(scratch);
  return d;
}

Bits made(const ConstMatrix& view, const Bits& from, const SnapSpec& spec) {
  Bits to = from;
  Matrix out = row_major(static_cast<void*>(to.data()), view.rows, view.cols, DType::bf16);
  EXPECT_TRUE(snap(reference_backend(), {}, spec, view, out));
  out.data = to.data();
  EXPECT_TRUE(*is_snapped(reference_backend(), {}, spec, out));
  return to;
}

void compare(const Shape& shape, const Contract& contract, int kind, std::mt19937_64& random) {
  const Bits a = drawn(random, shape.m * shape.k, kind);
  const Bits b = drawn(random, shape.k * shape.n, kind);
  const auto want = product(shape, contract, a, b, "scalar", false, false);
  const std::int64_t leaf = contract.reduction.leaf_k;
  const Bits x =
      made(shape.a(a), a, {leaf, shape.op_a == Op::none ? KDimension::cols : KDimension::rows});
  const Bits y =
      made(shape.b(b), b, {leaf, shape.op_b == Op::none ? KDimension::rows : KDimension::cols});
  for (const std::string& variant : reference_backend().variants({})) {
    if (variant == "scalar") continue;
    EXPECT_EQ(product(shape, contract, a, b, variant, false, false), want) << variant;
    EXPECT_EQ(product(shape, contract, x, b, variant, true, false), want) << variant << ", A";
    EXPECT_EQ(product(shape, contract, a, y, variant, false, true), want) << variant << ", B";
    EXPECT_EQ(product(shape, contract, x, y, variant, true, true), want) << variant << ", both";
  }
  EXPECT_EQ(product(shape, contract, x, y, "scalar", true, true), want);
}

TEST(ReferenceSnap, EveryVariantReturnsTheScalarBits) {
  std::mt19937_64 random(1);
  const char* contracts[] = {"snap/bf16/fold:64->fp32", "snap/bf16/tree:128->fp32",
                             "snap/bf16/fold:256->bf16", "snap/bf16/tree:64->fp16"};
  const auto below = [&](std::int64_t limit) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  for (int turn = 0; turn < 48; ++turn) {
    const auto op = [&] { return random() % 2 == 0 ? Op::none : Op::transpose; };
    const std::int64_t k = turn % 4 == 0 ? below(70) : below(700);
    const Shape shape{below(turn % 9 == 0 ? 220 : 12), below(turn % 7 == 0 ? 300 : 20), k, op(),
                      op()};
    const Contract contract = *Contract::parse(contracts[turn % 4]);
    SCOPED_TRACE(contract.text() + " turn " + std::to_string(turn));
    compare(shape, contract, turn / 4 % 4, random);
  }
}

TEST(ReferenceSnap, LeavesLongerThanTheLanesBuffer) {
  std::mt19937_64 random(2);
  for (const int kind : {0, 1, 2}) {
    compare({3, 4, 9000, Op::none, Op::none}, *Contract::parse("snap/bf16/fold:4160->fp32"), kind,
            random);
    compare({2, 3, 5000, Op::transpose, Op::transpose},
            *Contract::parse("snap/bf16/tree:4096->fp32"), kind, random);
  }
}

TEST(ReferenceSnap, PromisesTakeTheCopiesOutOfTheWorkspace) {
  GemmSpec spec;
  spec.n = 100;
  spec.k = 1000;
  spec.contract = *Contract::parse("snap/bf16/fold:128->fp32");
  const auto bytes = [&](bool a, bool b, std::int64_t m) {
    spec.a_snapped = a;
    spec.b_snapped = b;
    return *Plan::create(reference_backend(), spec)->workspace_bytes(m);
  };
  const std::size_t none = bytes(true, true, 40);
  EXPECT_EQ(bytes(false, true, 40), none + (2 * 40 * 1000 + 255) / 256 * 256);
  EXPECT_EQ(bytes(true, false, 40), none + (2 * 100 * 1000 + 255) / 256 * 256);
  EXPECT_EQ(bytes(true, true, 0), 0U);
  EXPECT_GE(bytes(false, false, INT64_MAX), SIZE_MAX / 2);  // more than any caller has
}

}  // namespace
}  // namespace detgemm

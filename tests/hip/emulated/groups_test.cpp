// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Many products in one call on the hip backend, executed by the interpreter: each group against a
// plan on its slice, offsets that break every rule, and streams under capture.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"
#include "tests/grouped/arrays.hpp"
#include "tests/grouped/slices.hpp"
#include "tests/hip/launched.hpp"

namespace detgemm::grouped_tests {
namespace {

constexpr GroupKind kKinds[] = {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked,
                                GroupKind::k_grouped};

class HipGroups : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status s = hip_backend().available(); !s) FAIL() << s.message();
    const std::string chip = hip_backend().device().list().at(0).capability;
    own = chip == "gfx942" ? "cdna3" : chip == "gfx90a" ? "cdna2" : "";
  }
  std::string own;  ///< the arithmetic of the chip's matrix cores, if a contract describes it
};

Setup drawn(const std::string& contract, GroupKind kind, std::uint64_t seed) {
  test::Random random(seed);
  Setup s;
  s.contract = contract;
  s.kind = kind;
  s.seed = seed;
  s.data = test::kAllData[random.below(6)];
  s.sizes = kind == GroupKind::batched ? std::vector<std::int64_t>{0, 0}
                                       : std::vector<std::int64_t>{17, 0, 1, 70};
  s.spare = random.below(4);
  s.m = 1 + random.below(30);
  s.n = 1 + random.below(40);
  s.k = kind == GroupKind::k_grouped ? 0 : 40 + random.below(90);
  s.op_a = random.below(2) == 0 ? Op::none : Op::transpose;
  s.op_b = random.below(2) == 0 ? Op::none : Op::transpose;
  s.pad = random.below(4);
  s.shift = random.below(3);
  s.type = random.below(2) == 0 ? OffsetType::i32 : OffsetType::i64;
  s.interleaved = random.below(2) == 0;
  if (random.below(2) == 0) s.bias = DType::fp32;
  s.continues = contract.find("/tree") == std::string::npos && random.below(2) == 0;
  const bool one_type = contract.find("->fp32") != std::string::npos;  // C is fp32
  s.in_place = s.continues && one_type && random.below(2) == 0;
  return s;
}

TEST_F(HipGroups, EachHasTheBitsOfAPlanOfItsOwn) {
  std::uint64_t seed = 1;
  for (const std::string& contract :
       {own + "/bf16/chain->fp32", own + "/fp16/fold:64->fp32", own + "/bf16/tree:32->fp32",
        std::string("snap/bf16/fold:64->fp32"), std::string("ieee_fma/fp32/tree:16->fp32")}) {
    for (const GroupKind kind : kKinds) {
      const grouped_tests::Setup s = drawn(contract, kind, ++seed);
      EXPECT_GT(compare_with_slices(hip_backend(), s), 0) << text_of(s);
    }
  }
}

/// Rows and weights along k, as experts have them, in whole chunks: every kernel takes them, and
/// gradients take every tile. Rows of one expert end within tiles of all heights.
TEST_F(HipGroups, AlignedExpertsTakeEveryKernel) {
  std::uint64_t seed = 100;
  for (const std::string& contract :
       {own + "/bf16/chain->fp32", own + "/bf16/fold:64->fp32", own + "/fp16/tree:64->fp16"}) {
    for (const GroupKind kind : kKinds) {
      const bool by_k = kind == GroupKind::k_grouped;
      grouped_tests::Setup s = drawn(contract, kind, ++seed);
      // Of long sums of random bits most are NaN, in every order.
      if (s.data == test::Data::bits || s.data == test::Data::specials)
        s.data = test::Data::near_one;
      s.n = 72;
      s.m = by_k ? 40 : 33;
      s.sizes = by_k ? std::vector<std::int64_t>{130, 0, 7, 66, 1}
                     : std::vector<std::int64_t>{5, 0, 33, 65, 130, 1};
      s.k = by_k ? 0 : 376;
      s.pad = s.shift = 0;
      s.op_a = by_k ? Op::transpose : Op::none;
      s.op_b = by_k ? Op::none : Op::transpose;
      std::int64_t rows = 0;
      for (const std::int64_t size : s.sizes) {
        rows += kind == GroupKind::m_grouped || kind == GroupKind::m_masked ? size : s.m;
      }
      const std::int64_t runs = by_k ? 3 : 5;  // each kernel, and the one that is chosen
      EXPECT_EQ(compare_with_slices(hip_backend(), s), rows * s.n * runs) << text_of(s);
    }
  }
}

/// Three of four problems in whole chunks, as experts and their gradients have them.
grouped_tests::Setup drawn_widely(const std::string& contract, std::uint64_t seed) {
  test::Random random(~seed);  // drawn() below has the sequence of the seed
  const bool whole_chunks = random.below(4) != 0;
  const GroupKind kind = kKinds[random.below(4)];
  const bool by_k = kind == GroupKind::k_grouped;
  grouped_tests::Setup s = drawn(contract, kind, seed);
  s.sizes.assign(static_cast<std::size_t>(1 + random.below(6)), 0);
  for (std::int64_t& size : s.sizes) {
    if (kind != GroupKind::batched) size = random.below(3) == 0 ? 0 : random.below(140);
  }
  s.n = 1 + random.below(150);
  if (!whole_chunks) return s;
  s.n = (s.n + 7) / 8 * 8;
  s.m = (s.m + random.below(60) + 7) / 8 * 8;
  s.k = by_k ? 0 : 8 * (1 + random.below(40));
  s.pad = s.shift = 0;
  s.op_a = by_k ? Op::transpose : Op::none;
  s.op_b = by_k || random.below(2) == 0 ? Op::none : Op::transpose;
  return s;
}

/// As many outputs as DETGEMM_GROUPS_OUTPUTS says, of problems that follow from
/// DETGEMM_GROUPS_SEED, for at most DETGEMM_GROUPS_SECONDS; counted by compiled kernel.
/// DETGEMM_GROUPS_CONTRACT ("cdna3/bf16/chain") leaves the others out.
TEST_F(HipGroups, RandomProblems) {
  const auto number = [](const char* name, double otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atof(text);
  };
  const auto started = std::chrono::steady_clock::now();
  const std::chrono::duration<double> most(number("DETGEMM_GROUPS_SECONDS", 1e9));
  const char* const only = std::getenv("DETGEMM_GROUPS_CONTRACT");
  const double wanted = number("DETGEMM_GROUPS_OUTPUTS", 3e3);
  auto seed = static_cast<std::uint64_t>(number("DETGEMM_GROUPS_SEED", 1)) * 1'000'000;
  std::int64_t outputs = 0, problems = 0;
  std::map<std::string, std::int64_t> by_kernel;
  const auto count = [&](std::int64_t compared) {
    for (const std::string& kernel : test::take_launches()) {
      if (compared > 0) by_kernel[kernel] += compared;
    }
  };
  while (static_cast<double>(outputs) < wanted &&
         std::chrono::steady_clock::now() - started < most) {
    test::Random random(++seed << 20);
    const char* const reductions[] = {"chain", "chain", "chain", "fold:64", "tree:64", "tree:32"};
    const char* const types[] = {"bf16", "fp16", "fp32"};
    // Some by vector instructions, which have fp32 too and are all that some chips have.
    const bool vectors = own.empty() || random.below(4) == 0;
    const std::string text = (vectors ? "ieee_fma" : own) + "/" +
                             types[random.below(vectors ? 3 : 2)] + "/" +
                             reductions[random.below(6)] + "->fp32";
    if (only != nullptr && text.rfind(only, 0) != 0) continue;
    outputs += compare_with_slices(hip_backend(), drawn_widely(text, seed), count);
    ++problems;
  }
  for (const auto& [kernel, compared] : by_kernel)
    std::printf("compiled %s %lld\n", kernel.c_str(), static_cast<long long>(compared));
  std::printf("%lld outputs of %lld problems, 0 differ\n", static_cast<long long>(outputs),
              static_cast<long long>(problems));
}

/// More groups than a workgroup has threads, so that the walk goes on behind the first of them.
TEST_F(HipGroups, ManyGroupsMostOfThemEmpty) {
  for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::k_grouped}) {
    grouped_tests::Setup s = drawn(own + "/bf16/chain->fp32", kind, 7);
    s.sizes.assign(600, 0);
    for (const std::size_t group : {0U, 1U, 255U, 256U, 257U, 511U, 512U, 599U}) {
      s.sizes[group] = 1 + static_cast<std::int64_t>(group % 5);
    }
    s.m = s.n = 3;
    s.k = kind == GroupKind::k_grouped ? 0 : 24;
    s.interleaved = false;
    EXPECT_GT(compare_with_slices(hip_backend(), s), 0) << text_of(s);
  }
}

/// Two experts of 4 x 4 numbers: a problem whose offsets a test writes itself.
struct Small {
  static constexpr std::int64_t kSide = 4;
  Device& device = hip_backend().device();
  GroupedSpec spec;
  GroupedOperands x;
  Array a{device, 64}, b{device, 128}, d{device, 128}, offsets{device, 16};

  explicit Small(GroupKind kind) {
    spec.gemm.contract = ok(Contract::parse("ieee_fma/fp32/chain->fp32"));
    spec.gemm.n = kSide;
    spec.gemm.k = kind == GroupKind::k_grouped ? 0 : kSide;
    spec.kind = kind;
    spec.groups = 2;
    for (std::int64_t i = 0; i < 16; ++i) reinterpret_cast<float*>(a.host())[i] = 1.0F;
    for (std::int64_t i = 0; i < 32; ++i) reinterpret_cast<float*>(b.host())[i] = 2.0F;
    for (Array* array : {&a, &b, &d}) array->upload();
    x.arrays.a = row_major(static_cast<const void*>(a.at()), kSide, kSide, DType::fp32);
    x.arrays.b = row_major(static_cast<const void*>(b.at()), kSide, kSide, DType::fp32);
    x.arrays.d = row_major(d.at(), kSide, kSide, DType::fp32);
    if (kind != GroupKind::k_grouped) x.group.b = kSide * kSide;
    if (kind != GroupKind::m_grouped) x.group.d = kSide * kSide;
    if (kind != GroupKind::batched) x.offsets = {offsets.at(), 2, OffsetType::i64};
  }
  void put(std::int64_t first, std::int64_t second) {
    std::memcpy(offsets.host(), &first, sizeof first);
    std::memcpy(offsets.host() + 8, &second, sizeof second);
    offsets.upload();
  }
};

/// The interpreter refuses every access outside of an array. Distance 0 of A: both batches read it.
TEST_F(HipGroups, OffsetsThatBreakTheirRulesStayInside) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
    for (const auto& [first, second] : {std::pair{kLeast, kMost},
                                        {kMost, kLeast},
                                        {kMost, kMost},
                                        {kLeast, kLeast},
                                        {std::int64_t{5}, std::int64_t{5}},
                                        {std::int64_t{3}, std::int64_t{1}}}) {
      Small small(kind);
      small.put(first, second);
      const GroupedPlan plan = ok(GroupedPlan::create(hip_backend(), small.spec));
      const Stream stream{small.device.kind(), nullptr};
      ok(plan.run(stream, small.x));
      ok(small.device.synchronize(stream));
      const bool counts = kind == GroupKind::m_masked && first == 3;  // which need not ascend
      EXPECT_EQ(plan.check(stream, small.x).ok(), counts) << name(kind) << " " << first;
      small.d.download();
      const auto& image = small.d.image();
      const auto untouched = [](std::byte b) { return b == std::byte{0x3c}; };
      EXPECT_TRUE(std::all_of(image.begin(), image.begin() + Array::kMargin / 2, untouched));
      EXPECT_TRUE(std::all_of(image.end() - Array::kMargin, image.end(), untouched));
    }
  }
}

/// Nothing waits for the offsets, so every kind goes into a graph, in one launch.
TEST_F(HipGroups, AllKindsAreCaptured) {
  for (const GroupKind kind : kKinds) {
    Small small(kind);
    small.put(1, 4);
    const GroupedPlan plan = ok(GroupedPlan::create(hip_backend(), small.spec));
    EXPECT_FALSE(plan.waits_for_offsets());
    const Stream stream = ok(small.device.create_stream());
    RunInfo info;
    ok(small.device.replay(
        stream, [&](Stream on) { return plan.run(on, small.x, {}, &info); }, 2));
    small.device.destroy_stream(stream);
    EXPECT_NE(info.kernel.find("/simt-64x64/grouped"), std::string::npos) << info.kernel;
    small.d.download();
    // 4 products of 1 * 2, except that the groups of k_grouped have 1 and 3.
    const float expected = kind == GroupKind::k_grouped ? 2.0F : 8.0F;
    EXPECT_EQ(*reinterpret_cast<const float*>(small.d.host()), expected) << name(kind);
  }
}

/// 128 experts of 0 to 2 rows in one launch, in a graph: the bits of a call outside of one.
TEST_F(HipGroups, OneCapturedLaunchHas128Experts) {
  constexpr std::int64_t kGroups = 128, kN = 16, kK = 72;
  Device& device = hip_backend().device();
  for (const std::string reduction : {"chain", "fold:64", "tree:64"}) {
    GroupedSpec spec;
    spec.gemm.contract = ok(Contract::parse(own + "/bf16/" + reduction + "->fp32"));
    spec.gemm.n = kN;
    spec.gemm.k = kK;
    spec.gemm.op_b = Op::transpose;
    spec.kind = GroupKind::m_grouped;
    spec.groups = kGroups;
    test::Random random(11);
    Array a(device, kGroups * kK * 2), b(device, kGroups * kN * kK * 2), ends(device, kGroups * 4);
    fill(random, test::Data::bits, DType::bf16, a.host(), kGroups * kK);
    fill(random, test::Data::bits, DType::bf16, b.host(), kGroups * kN * kK);
    std::int32_t end = 0;
    for (std::int64_t g = 0; g < kGroups; ++g) {
      end += static_cast<std::int32_t>(g % 3);
      std::memcpy(ends.host() + g * 4, &end, 4);
    }
    for (Array* array : {&a, &b, &ends}) array->upload();
    GroupedOperands x;
    x.arrays.a = row_major(static_cast<const void*>(a.at()), end, kK, DType::bf16);
    x.arrays.b = row_major(static_cast<const void*>(b.at()), kN, kK, DType::bf16);
    x.group.b = kN * kK;
    x.offsets = {ends.at(), kGroups, OffsetType::i32};
    const GroupedPlan plan = ok(GroupedPlan::create(hip_backend(), spec));
    const Scratch scratch(device, ok(plan.workspace_bytes(end)));
    const Stream stream = ok(device.create_stream());
    const auto image = [&](bool captured) {
      Array d(device, static_cast<std::size_t>(end * kN) * 4);
      d.upload();
      x.arrays.d = row_major(d.at(), end, kN, DType::fp32);
      RunInfo info;
      const auto call = [&](Stream on) { return plan.run(on, x, scratch.get(), &info); };
      ok(captured ? device.replay(stream, call, 1) : call(stream));
      ok(device.synchronize(stream));
      EXPECT_NE(info.kernel.find("/grouped"), std::string::npos) << info.kernel;
      d.download();
      return d.image();
    };
    EXPECT_EQ(image(true), image(false)) << reduction;
    device.destroy_stream(stream);
  }
}

/// snap3, and snap without promises, have a plan per group, which reads the offsets on the host.
TEST_F(HipGroups, WhatHasNoKernelOverGroupsWaits) {
  Small small(GroupKind::m_grouped);
  small.put(1, 4);
  small.spec.gemm.contract = ok(Contract::parse("snap3/fp32/fold:64->fp32"));
  const GroupedPlan plan = ok(GroupedPlan::create(hip_backend(), small.spec));
  EXPECT_TRUE(plan.waits_for_offsets());
  const Scratch scratch(small.device, ok(plan.workspace_bytes(4)));
  const Stream stream = ok(small.device.create_stream());
  const Status s = small.device.replay(
      stream, [&](Stream on) { return plan.run(on, small.x, scratch.get()); }, 2);
  small.device.destroy_stream(stream);
  EXPECT_EQ(s.message(), "stream is being captured: the host reads the offsets, so it must not be");
}

}  // namespace
}  // namespace detgemm::grouped_tests

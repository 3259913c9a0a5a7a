// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Many products in one call on the hip backend, which runs a plan per group: each group against a
// plan on its slice, and a stream under capture. Executed by the interpreter.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"
#include "tests/grouped/arrays.hpp"
#include "tests/grouped/slices.hpp"

namespace detgemm::grouped_tests {
namespace {

class HipGroups : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status s = hip_backend().available(); !s) FAIL() << s.message();
  }
};

Setup drawn(const std::string& contract, GroupKind kind, std::uint64_t seed) {
  test::Random random(seed);
  Setup s;
  s.contract = contract;
  s.kind = kind;
  s.seed = seed;
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
  s.in_place = s.continues && random.below(2) == 0;
  return s;
}

TEST_F(HipGroups, EachHasTheBitsOfAPlanOfItsOwn) {
  const bool gfx942 = hip_backend().device().list().at(0).capability == "gfx942";
  const std::string own = gfx942 ? "cdna3" : "cdna2";
  std::uint64_t seed = 1;
  for (const std::string& contract :
       {own + "/bf16/chain->fp32", own + "/fp16/fold:64->fp32", own + "/bf16/tree:32->fp32",
        std::string("snap/bf16/fold:64->fp32")}) {
    for (const GroupKind kind :
         {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
      const grouped_tests::Setup s = drawn(contract, kind, ++seed);
      EXPECT_GT(compare_with_slices(hip_backend(), s), 0) << text_of(s);
    }
  }
}

/// A graph's launches take the offsets that the host would have to read, so only batches go in.
TEST_F(HipGroups, BatchesAloneAreCaptured) {
  Device& device = hip_backend().device();
  for (const GroupKind kind : {GroupKind::batched, GroupKind::m_grouped}) {
    constexpr std::int64_t kSide = 4;
    GroupedSpec spec;
    spec.gemm.contract = ok(Contract::parse("ieee_fma/fp32/chain->fp32"));
    spec.gemm.n = spec.gemm.k = kSide;
    spec.kind = kind;
    spec.groups = 2;
    Array a(device, 64), b(device, 128), d(device, 128), offsets(device, 8);
    for (Array* array : {&a, &b, &d, &offsets}) array->upload();
    GroupedOperands x;
    x.arrays.a = row_major(static_cast<const void*>(a.at()), kSide, kSide, DType::fp32);
    x.arrays.b = row_major(static_cast<const void*>(b.at()), kSide, kSide, DType::fp32);
    x.arrays.d = row_major(d.at(), kSide, kSide, DType::fp32);
    x.group.b = kSide * kSide;
    if (kind == GroupKind::batched) x.group.d = kSide * kSide;
    if (kind == GroupKind::m_grouped) x.offsets = {offsets.at(), 2, OffsetType::i32};
    const GroupedPlan plan = ok(GroupedPlan::create(hip_backend(), spec));
    const Stream stream = ok(device.create_stream());
    const std::vector<std::byte> before = d.image();
    const Status s = device.replay(
        stream, [&](Stream on) { return plan.run(on, x); }, 2);
    device.destroy_stream(stream);
    d.download();
    EXPECT_EQ(s.ok(), kind == GroupKind::batched) << s.message();
    EXPECT_EQ(d.image() == before, kind != GroupKind::batched);
    if (kind == GroupKind::batched) continue;
    EXPECT_EQ(s.message(),
              "stream is being captured: the host reads the offsets, so it must not be");
  }
}

}  // namespace
}  // namespace detgemm::grouped_tests

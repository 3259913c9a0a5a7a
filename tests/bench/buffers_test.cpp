// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/common/buffers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "bench/host/memory.hpp"

namespace detgemm::bench {
namespace {

Problem problem(std::int64_t tokens, Kind kind = Kind::forward) {
  Problem p;
  p.kind = kind;
  p.tokens = tokens;
  p.n = 64;
  p.k = 128;
  return p;
}

TEST(Buffers, WeightsStepThroughTheWholePoolBeforeTheyComeBack) {
  HostMemory memory;
  const Problem p = problem(16);
  const std::int64_t pool = 1 << 20;
  const Buffers buffers(memory, {p}, {pool, pool});
  const std::int64_t copies = pool / gemm_of(p).b_bytes();
  std::set<const void*> places;
  for (int call = 0; call < copies; ++call) places.insert(buffers.at(p, call).b);
  EXPECT_EQ(static_cast<std::int64_t>(places.size()), copies);
  EXPECT_EQ(buffers.at(p, static_cast<int>(copies)).b, buffers.at(p, 0).b);
}

TEST(Buffers, CAndBiasAreThereWhereTheyAreRead) {
  HostMemory memory;
  Problem plain = problem(16), bias = plain, beta = plain;
  bias.extra = Extra::bias;
  beta.extra = Extra::beta;
  const Buffers buffers(memory, {plain, bias, beta}, {1 << 16, 1 << 16});
  EXPECT_EQ(buffers.at(plain, 0).c, nullptr);
  EXPECT_EQ(buffers.at(plain, 0).bias, nullptr);
  EXPECT_EQ(buffers.at(bias, 0).c, nullptr);
  ASSERT_NE(buffers.at(bias, 0).bias, nullptr);
  EXPECT_EQ(buffers.at(bias, 0).bias, buffers.at(bias, 1).bias);
  EXPECT_EQ(buffers.at(beta, 0).bias, nullptr);
  ASSERT_NE(buffers.at(beta, 0).c, nullptr);
  EXPECT_NE(buffers.at(beta, 0).c, buffers.at(beta, 1).c);
  EXPECT_NE(buffers.at(beta, 0).c, buffers.at(beta, 0).d);
}

TEST(Buffers, HotOperandsNeverMove) {
  HostMemory memory;
  Problem p = problem(16);
  p.hot = true;
  const Buffers buffers(memory, {p}, {1 << 20, 1 << 20});
  for (int call = 1; call < 9; ++call) {
    EXPECT_EQ(buffers.at(p, call).a, buffers.at(p, 0).a);
    EXPECT_EQ(buffers.at(p, call).b, buffers.at(p, 0).b);
    EXPECT_EQ(buffers.at(p, call).d, buffers.at(p, 0).d);
  }
}

TEST(Buffers, AProblemLargerThanThePoolHasTwoCopies) {
  HostMemory memory;
  const Problem p = problem(4096);
  const Buffers buffers(memory, {p}, {256, 256});
  EXPECT_NE(buffers.at(p, 0).a, buffers.at(p, 1).a);
  EXPECT_EQ(buffers.at(p, 0).a, buffers.at(p, 2).a);
}

TEST(Buffers, ABatchOfOneSeesRowZeroOfTheLargerBatch) {
  HostMemory memory;
  for (const Kind kind : {Kind::forward, Kind::da}) {
    const Problem p = problem(16, kind);
    const Problem alone = problem(1, kind);
    const Buffers buffers(memory, {p}, {1 << 20, 1 << 20});
    EXPECT_EQ(buffers.at(p, 0).a, buffers.at(alone, 0).a);
    EXPECT_EQ(buffers.at(p, 0).b, buffers.at(alone, 0).b);
  }
}

TEST(Data, IsFiniteAndNotAllZero) {
  for (const DType type : {DType::bf16, DType::fp16, DType::fp32, DType::e4m3, DType::e5m2}) {
    const auto data = normal_elements(type, 1000, 1);
    EXPECT_EQ(data.size(), 1000U * static_cast<std::size_t>(bytes_of(type)));
    EXPECT_NE(data, normal_elements(type, 1000, 2));
    EXPECT_EQ(data, normal_elements(type, 1000, 1));
  }
  const auto data = normal_elements(DType::fp32, 1000, 1);
  float sum = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    float value = 0;
    std::memcpy(&value, data.data() + 4 * i, 4);
    ASSERT_TRUE(std::isfinite(value));
    sum += value * value;
  }
  EXPECT_NEAR(sum / 1000, 1.0, 0.2);
}

}  // namespace
}  // namespace detgemm::bench

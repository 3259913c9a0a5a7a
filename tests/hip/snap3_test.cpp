// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The host half of snap3: what is multiplied, where the copies lie, and which kernels write them.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/contract/snap3_copies.hpp"
#include "hip/launch.hpp"
#include "hip/split_arguments.hpp"

namespace detgemm::hip {
namespace {

Contract contract_of(const char* text) { return *Contract::parse(text); }

LaunchOptions options_of(Chip chip) {
  LaunchOptions options;
  options.chip = chip;
  options.units = 304;
  return options;
}

/// 300 x 200 outputs; A lies along its rows (M), B along K.
GemmArguments problem(std::int64_t k, std::int64_t leaf) {
  GemmArguments g;
  g.a = reinterpret_cast<const void*>(std::uintptr_t{1} << 40);
  g.b = reinterpret_cast<const void*>(std::uintptr_t{2} << 40);
  g.m = 300;
  g.n = 200;
  g.k = k;
  g.as = {1, 300};
  g.bs = {1, k};
  g.ds = {200, 1};
  g.reduction = {ReductionKind::tree, leaf};
  return g;
}

TEST(HipSnap3, ItIsSnapOverCopiesOfThreeTimesTheLeaves) {
  const auto over = multiplied(contract_of("snap3/fp32/tree:128->fp16"), 1000);
  EXPECT_EQ(over.contract, contract_of("snap/bf16/tree:128->fp16"));
  EXPECT_EQ(over.k, 3 * 8 * 128);
  EXPECT_EQ(over.contract.leaves(over.k), 24);
  // A single leaf is as long as K, in whole steps.
  const auto short_one = multiplied(contract_of("snap3/bf16/fold:4096->fp32"), 100);
  EXPECT_EQ(short_one.contract, contract_of("snap/bf16/fold:128->fp32"));
  EXPECT_EQ(short_one.k, 3 * 128);
  EXPECT_EQ(multiplied(contract_of("snap3/bf16/fold:64->fp32"), 0).k, 0);
  // Others are what they are.
  const Contract plain = contract_of("ieee_fma/fp32/tree:8->fp32");
  EXPECT_EQ(multiplied(plain, 77).contract, plain);
  EXPECT_EQ(multiplied(plain, 77).k, 77);
}

TEST(HipSnap3, SizesBeyondAllMemoryAreTheLargestSize) {
  for (const std::int64_t k : {INT64_MAX, INT64_MAX / 3, std::int64_t{1} << 61}) {
    for (const char* text : {"snap3/fp32/tree:64->fp32", "snap3/bf16/fold:2147483648->fp32"}) {
      const auto over = multiplied(contract_of(text), k);
      EXPECT_GT(over.k, k / 2) << k;
      EXPECT_EQ(copies_bytes({true, true}, 1, 1, over.k), SIZE_MAX) << text << " " << k;
    }
  }
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  const auto over = multiplied(contract_of("snap3/fp32/tree:64->fp32"), kMany);
  EXPECT_EQ(copies_bytes({true, true}, kMany, kMany, over.k), SIZE_MAX);
  // 6 bytes per number, where nothing overflows.
  EXPECT_EQ(copies_bytes({true, true}, 3, 5, over.k), std::size_t{8} * kMany * 6);
}

TEST(HipSnap3, CopiesReplaceOperands) {
  const GemmArguments g = problem(1000, 128);
  auto* const workspace = reinterpret_cast<void*>(65536);
  const GemmArguments over = with_parts(g, workspace);
  constexpr std::int64_t kCopy = 3 * 8 * 128;
  EXPECT_EQ(over.a, workspace);
  EXPECT_EQ(over.b, static_cast<const std::byte*>(workspace) + 300 * kCopy * 2);
  EXPECT_EQ(over.k, kCopy);
  EXPECT_EQ(over.reduction.leaf_k, 128);
  EXPECT_EQ(over.as.row, kCopy);
  EXPECT_EQ(over.as.col, 1);
  EXPECT_EQ(over.bs.col, kCopy);
  EXPECT_EQ(over.bs.row, 1);
  // No products: nothing to copy, and C alone counts.
  const GemmArguments none = problem(0, 128);
  EXPECT_EQ(with_parts(none, workspace).a, none.a);
  EXPECT_TRUE(split_launches(none, DType::fp32, workspace, options_of(Chip::gfx942)).empty());
}

SplitArguments arguments_of(const Launch& launch) {
  SplitArguments arguments;
  EXPECT_EQ(launch.bytes, sizeof(arguments));
  std::memcpy(&arguments, launch.arguments, sizeof(arguments));
  return arguments;
}

TEST(HipSnap3, EachOperandHasItsLaunch) {
  GemmArguments g = problem(1000, 128);
  auto* const workspace = reinterpret_cast<void*>(65536);
  for (const Chip chip : chips()) {
    for (const DType input : {DType::bf16, DType::fp32}) {
      const auto launches = split_launches(g, input, workspace, options_of(chip));
      ASSERT_EQ(launches.size(), 2U);
      const auto& names = kernel_names(chip);
      const std::string type(name(input));
      EXPECT_EQ(names[static_cast<std::size_t>(launches[0].kernel)],
                "snap3_" + type + "_along_rows");
      EXPECT_EQ(names[static_cast<std::size_t>(launches[1].kernel)], "snap3_" + type + "_along_k");
    }
  }
  const auto launches = split_launches(g, DType::fp32, workspace, options_of(Chip::gfx942));
  const SplitArguments a = arguments_of(launches[0]);
  EXPECT_EQ(a.from, g.a);
  EXPECT_EQ(a.from_row, 1);
  EXPECT_EQ(a.from_k, 300);
  EXPECT_EQ(a.to, workspace);
  EXPECT_EQ(a.to_row, 3 * 8 * 128);
  EXPECT_EQ(a.rows, 300);
  EXPECT_EQ(a.k, 1000);
  EXPECT_EQ(a.leaf_k, 128);
  EXPECT_EQ(a.row_blocks, 5);
  EXPECT_EQ(a.units, 5 * 8);
  EXPECT_EQ(a.tries, 6);  // leaves of 128: 4^5 is more than 4 * 128
  EXPECT_EQ(a.from_chunks, 0);
  EXPECT_EQ(a.of_a, 1);
  const SplitArguments b = arguments_of(launches[1]);
  EXPECT_EQ(b.row_blocks, 13);
  EXPECT_EQ(b.from_chunks, 1);
  EXPECT_EQ(b.of_a, 0);
  EXPECT_EQ(b.to, static_cast<std::uint16_t*>(workspace) + 300 * 3 * 8 * 128);
}

/// Loads of a whole piece need its alignment, which is that of 16 bytes in fp32 and of 8 in bf16.
TEST(HipSnap3, OddAddressesAreReadNumberByNumber) {
  const auto chunks = [](std::uintptr_t address, std::int64_t pitch, DType input) {
    GemmArguments g = problem(1000, 128);
    g.b = reinterpret_cast<const void*>(address);
    g.bs = {1, pitch};
    return arguments_of(split_launches(g, input, nullptr, options_of(Chip::gfx942))[1]).from_chunks;
  };
  EXPECT_EQ(chunks(64, 1000, DType::fp32), 1);
  EXPECT_EQ(chunks(64, 1001, DType::fp32), 0);
  EXPECT_EQ(chunks(72, 1000, DType::fp32), 0);
  EXPECT_EQ(chunks(72, 1000, DType::bf16), 1);
  EXPECT_EQ(chunks(68, 1000, DType::bf16), 0);
  EXPECT_EQ(chunks(64, 1002, DType::bf16), 0);
}

TEST(HipSnap3, EveryChipComputesIt) {
  for (const Chip chip : chips()) {
    for (const char* text : {"snap3/bf16/tree:128->fp32", "snap3/fp32/fold:64->bf16"}) {
      const Contract contract = contract_of(text);
      EXPECT_TRUE(computes(chip, contract));
      EXPECT_EQ(kernels(contract).data(), kernels(contract_of("snap/bf16/fold:64->fp32")).data());
      GemmArguments g = problem(512, contract.reduction.leaf_k);
      g.reduction = contract.reduction;
      const auto over = multiplied(contract, g.k);
      const LaunchOptions options = options_of(chip);
      const auto decision = decide(with_parts(g, nullptr), over.contract.arithmetic,
                                   over.contract.input, options, SIZE_MAX);
      ASSERT_TRUE(decision) << name(chip) << ": " << decision.status().message();
      EXPECT_LE(static_cast<std::size_t>(decision->workspace),
                fast_workspace_bytes(over.contract, g.m, g.n, over.k, options));
    }
  }
}

}  // namespace
}  // namespace detgemm::hip

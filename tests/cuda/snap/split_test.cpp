// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "cuda/snap/split_leaf.hpp"
#include "tests/cuda/snap/numbers.hpp"
#include "tests/cuda/snap/teams.hpp"

// The code of the kernels of snap3, on warps that a host plays, against core/arithmetic/snap3.hpp:
// both inputs, all layouts, tails, strides and alignments, and nothing written outside.

namespace detgemm::test {
namespace {

using namespace cuda::snap;

constexpr std::uint16_t kOutside = 0x5a5a;

template <DType T, int kWords>
void short_leaves(const SplitOperand& o, SnapFault fault) {
  for (std::int64_t vector = 0; vector < o.vectors; ++vector) {
    for (std::int64_t leaf = 0; leaf < o.leaves; ++leaf) {
      HostWarp<kWords, SplitWords<kWords>> team;
      team.fault = fault;
      split_leaf<T, kWords>(o, vector, leaf, team);
    }
  }
}
template <DType T>
void long_leaves(const SplitOperand& o, SnapFault) {
  for (std::int64_t vector = 0; vector < o.vectors; ++vector) {
    for (std::int64_t leaf = 0; leaf < o.leaves; ++leaf) {
      HostLong team;
      split_long_leaf<T>(o, vector, leaf, team);
    }
  }
}

/// What the kernel does, in the order of kSplitLeaves.
template <DType T>
void run_on_host(int index, const SplitOperand& o, SnapFault fault) {
  using Run = void (*)(const SplitOperand&, SnapFault);
  static constexpr Run kRuns[] = {short_leaves<T, 1>, short_leaves<T, 2>,  short_leaves<T, 4>,
                                  short_leaves<T, 8>, short_leaves<T, 16>, long_leaves<T>};
  static_assert(sizeof kRuns / sizeof *kRuns == kSplitCount);
  kRuns[index](o, fault);
}

struct Case {
  DType type = DType::bf16;
  std::int64_t vectors = 1, k = 1, leaf_k = 64;
  bool across = false, of_a = true;
  std::int64_t pad = 0, offset = 0;

  std::string text(int index) const {
    return std::string(name(type)) + ", " + std::to_string(vectors) + " vectors of " +
           std::to_string(k) + ", leaf " + std::to_string(leaf_k) +
           (across ? ", across" : ", along") + (of_a ? ", A" : ", B") + ", pad " +
           std::to_string(pad) + ", offset " + std::to_string(offset) + ", kernel " +
           std::to_string(index);
  }
};

Case draw_case(Random& random) {
  constexpr std::int64_t kLeaves[] = {64, 128, 192, 256, 320, 512, 1024, 1088, 4096};
  Case c;
  c.type = random.below(2) != 0 ? DType::fp32 : DType::bf16;
  c.across = random.below(3) == 0;
  c.of_a = random.below(2) != 0;
  c.vectors = 1 + random.below(9);
  c.leaf_k = kLeaves[random.below(9)];
  c.k = 1 + random.below(std::min<std::int64_t>(c.leaf_k * 6, 2500));
  if (random.below(4) == 0) c.k = c.leaf_k * (1 + random.below(2));
  const bool odd = random.below(2) != 0;  // else rows at multiples of 16 bytes
  const std::int64_t run = c.across ? c.vectors : c.k;
  c.pad = odd ? random.below(9) : (8 - run % 8) % 8;
  c.offset = odd ? random.below(8) : 0;
  return c;
}

/// fp32 numbers about the bf16 ones of draw_leaf: any low bits, ties, what overflows in bf16.
std::uint32_t widened(Random& random, std::uint16_t bits) {
  constexpr std::uint32_t kLow[] = {0, 0x8000, 0x7fff, 0x8001, 0xffff, 1};
  const std::uint32_t low =
      random.below(2) != 0 ? kLow[random.below(6)] : static_cast<std::uint32_t>(random.next());
  if (random.below(500) == 0) return 0x7f7fffffU;
  return static_cast<std::uint32_t>(bits) << 16 | (low & 0xffffU);
}

/// Runs one kernel and counts words of the copy, and around it, that are not as they should be.
template <DType T>
int wrong(Random& random, const Case& c, int index, SnapFault fault = SnapFault::none,
          bool one_grid = false) {
  using Number = arithmetic::Storage<T>;
  const Snap3Copies copies = snap3_copies(c.k, c.leaf_k);
  const std::int64_t pitch = (c.across ? c.vectors : c.k) + c.pad;
  const std::int64_t vector = c.across ? 1 : pitch, along = c.across ? pitch : 1;
  const std::int64_t size = (c.across ? c.k : c.vectors) * pitch + 64;
  std::vector<Number> memory(static_cast<std::size_t>(size));
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(Number);
  Number* from = memory.data() + (8 - at % 8) % 8 + c.offset;
  std::vector<std::uint16_t> copy(static_cast<std::size_t>(c.vectors * copies.k) + 192, kOutside);
  const auto lies = reinterpret_cast<std::uintptr_t>(copy.data()) % 128;
  const std::size_t first = (128 - lies) / 2;
  std::vector<std::uint16_t> expected = copy;
  for (std::int64_t i = 0; i < c.vectors; ++i) {
    for (std::int64_t begin = 0; begin < c.k; begin += copies.leaf_k) {
      const std::int64_t count = std::min(copies.leaf_k, c.k - begin);
      const auto leaf = draw_leaf(random, count);
      for (std::int64_t j = 0; j < count; ++j) {
        const std::uint16_t bits = leaf[static_cast<std::size_t>(j)];
        Number& to = from[i * vector + (begin + j) * along];
        if constexpr (T == DType::bf16) {
          to = bits;
        } else {
          to = widened(random, bits);
        }
      }
      std::uint16_t* to = expected.data() + first + i * copies.k + begin * arithmetic::kSnap3Sums;
      // A short leaf counts as if zeros followed it.
      const auto load = [&](std::int64_t j) {
        return j < count ? arithmetic::to_float<T>(from[i * vector + (begin + j) * along]) : 0.0F;
      };
      arithmetic::Snap3Grids grids = arithmetic::snap3_grids(copies.leaf_k, load);
      if (one_grid) grids.second = grids.first;
      for (std::int64_t j = 0; j < copies.leaf_k; ++j) {
        const arithmetic::Snap3Parts parts = arithmetic::snap3_parts(load(j), grids);
        for (int sum = 0; sum < arithmetic::kSnap3Sums; ++sum) {
          to[sum * copies.leaf_k + j] = arithmetic::snap3_operand(parts, c.of_a, sum);
        }
      }
    }
  }
  const auto before = memory;
  const SplitOperand o =
      split_operand(from, T, vector, along, copy.data() + first, c.vectors, c.k, copies, c.of_a);
  run_on_host<T>(index, o, fault);
  int count =
      std::memcmp(before.data(), memory.data(), memory.size() * sizeof(Number)) == 0 ? 0 : 1000;
  for (std::size_t i = 0; i < copy.size(); ++i) count += copy[i] != expected[i];
  return count;
}

int wrong(Random& random, const Case& c, int index, SnapFault fault = SnapFault::none,
          bool one_grid = false) {
  return c.type == DType::bf16 ? wrong<DType::bf16>(random, c, index, fault, one_grid)
                               : wrong<DType::fp32>(random, c, index, fault, one_grid);
}

TEST(CudaSplitKernels, EveryKernelSplitsEveryLayout) {
  Random random(81);
  std::set<std::pair<DType, int>> seen;
  for (int i = 0; i < 400; ++i) {
    const Case c = draw_case(random);
    const std::int64_t leaf = snap3_copies(c.k, c.leaf_k).leaf_k;
    for (int index = 0; index < kSplitCount; ++index) {
      if (kSplitLeaves[index] != 0 && kSplitLeaves[index] < leaf) continue;
      ASSERT_EQ(wrong(random, c, index), 0) << c.text(index);
      seen.insert({c.type, index});
    }
  }
  EXPECT_EQ(seen.size(), 2U * kSplitCount);
}

/// The comparison would see a warp that loses a lane, and one grid for both parts.
TEST(CudaSplitKernels, PlantedFaultsAreSeen) {
  Random random(82);
  int sum = 0, largest = 0, one_grid = 0;
  for (int i = 0; i < 100; ++i) {
    Case c;
    c.type = i % 2 != 0 ? DType::fp32 : DType::bf16;
    c.vectors = 4;
    c.k = 1024;
    c.leaf_k = 128;
    sum += wrong(random, c, 1, SnapFault::sum_without_last) != 0;
    largest += wrong(random, c, 1, SnapFault::largest_without_last) != 0;
    one_grid += wrong(random, c, 1, SnapFault::none, true) != 0;
  }
  EXPECT_GE(sum, 10);
  EXPECT_GE(largest, 2);
  EXPECT_GE(one_grid, 50);
}

}  // namespace
}  // namespace detgemm::test

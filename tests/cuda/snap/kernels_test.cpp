// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "tests/cuda/snap/numbers.hpp"
#include "tests/cuda/snap/teams.hpp"

// The kernels' own code, on warps and CTAs that a host plays, against core/arithmetic/snap.hpp: all
// layouts, tails, strides, alignments and lengths of leaves, and nothing written outside.

namespace detgemm::test {
namespace {

using namespace cuda::snap;

constexpr std::uint16_t kOutside = 0x5a5a;

/// A matrix of bf16 numbers at odd places of a buffer.
struct Array {
  std::vector<std::uint16_t> memory;
  std::int64_t first = 0, vector = 0, along = 0;

  Array(std::int64_t vectors, std::int64_t k, std::int64_t vector_stride, std::int64_t k_stride,
        std::int64_t offset)
      : vector(vector_stride), along(k_stride) {
    const std::int64_t extent = (vectors - 1) * vector + (k - 1) * along + 1;
    memory.assign(static_cast<std::size_t>(extent + 64), kOutside);
    // Element 0 at a multiple of 16 bytes, then `offset` elements on.
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data()) / 2;
    first = static_cast<std::int64_t>((8 - at % 8) % 8) + 8 + offset;
  }
  std::uint16_t* data() { return memory.data() + first; }
  std::uint16_t& at(std::int64_t i, std::int64_t j) { return data()[i * vector + j * along]; }
};

struct Case {
  std::int64_t vectors, k, leaf;
  bool across, in_place;
  std::int64_t from_pad, to_pad, from_offset, to_offset;
};

Case draw_case(Random& random) {
  constexpr std::int64_t kLeaves[] = {64, 128, 192, 256, 320, 512, 576, 1024, 1088, 4096};
  Case c;
  c.across = random.below(2) != 0;
  c.vectors = 1 + random.below(c.across ? 150 : 9);
  c.leaf = kLeaves[random.below(10)];
  c.k = 1 + random.below(std::min<std::int64_t>(c.leaf * 10, 2500));
  if (random.below(4) == 0) c.k = c.leaf * (1 + random.below(3));
  c.in_place = random.below(3) == 0;
  const bool odd = random.below(2) != 0;  // else rows at multiples of 16 bytes
  const std::int64_t run = c.across ? c.vectors : c.k;
  const auto pad = [&] { return odd ? random.below(9) : (8 - run % 8) % 8; };
  c.from_pad = pad();
  c.to_pad = pad();
  c.from_offset = odd ? random.below(8) : 0;
  c.to_offset = odd ? random.below(8) : 0;
  return c;
}

/// Runs one variant and counts numbers, inside and outside, that are not as they should be.
int wrong(Random& random, const Case& c, int variant, SnapFault fault = SnapFault::none,
          bool turned = false) {
  const bool to_across = c.across != turned;
  const std::int64_t from_pitch = (c.across ? c.vectors : c.k) + c.from_pad;
  const std::int64_t to_pitch = (to_across ? c.vectors : c.k) + c.to_pad;
  Array from(c.vectors, c.k, c.across ? 1 : from_pitch, c.across ? from_pitch : 1, c.from_offset);
  Array to(c.vectors, c.k, to_across ? 1 : to_pitch, to_across ? to_pitch : 1, c.to_offset);
  Array& out = c.in_place ? from : to;
  Array expected = out;
  expected.first = out.first;
  for (std::int64_t i = 0; i < c.vectors; ++i) {
    for (std::int64_t begin = 0; begin < c.k; begin += c.leaf) {
      const std::int64_t count = std::min(c.leaf, c.k - begin);
      const auto leaf = draw_leaf(random, count);
      for (std::int64_t j = 0; j < count; ++j) {
        from.at(i, begin + j) = leaf[static_cast<std::size_t>(j)];
      }
      arithmetic::snap_leaf(
          count, [&](std::int64_t j) { return leaf[static_cast<std::size_t>(j)]; },
          [&](std::int64_t j, std::uint16_t bits) {
            expected.memory[static_cast<std::size_t>(expected.first + i * expected.vector +
                                                     (begin + j) * expected.along)] = bits;
          });
    }
  }
  const auto before = from.memory;
  const Operand o = operand(from.data(), from.vector, from.along, out.data(), out.vector, out.along,
                            c.vectors, c.k, c.leaf);
  run_on_host(variant, o, fault);
  int count = 0;
  for (std::size_t i = 0; i < out.memory.size(); ++i) count += out.memory[i] != expected.memory[i];
  if (!c.in_place) count += from.memory == before ? 0 : 1000;
  return count;
}

/// Whether lines are at multiples of 16 bytes, which warps in groups need.
bool is_aligned(const Case& c) {
  return (c.from_offset + c.to_offset) % 8 == 0 && c.from_offset % 8 == 0 &&
         (c.vectors == 1 || ((c.k + c.from_pad) % 8 == 0 && (c.k + c.to_pad) % 8 == 0));
}

/// The variants that take an operand: the chosen one, and those for longer leaves or fewer at once.
std::vector<int> taking(const Case& c) {
  std::vector<int> list;
  for (int i = 0; i < kVariantCount; ++i) {
    const Variant& v = kVariants[i];
    if (v.lanes != 0 && (c.across || !is_aligned(c))) continue;
    const bool ways = v.along_k != c.across || c.vectors == 1 || c.k == 1;
    if (v.longest == 0 || (ways && v.longest >= std::min(c.leaf, c.k) && v.along_k != c.across)) {
      list.push_back(i);
    }
  }
  return list;
}

std::string text(const Case& c, int variant) {
  return std::to_string(c.vectors) + " vectors of " + std::to_string(c.k) + ", leaf " +
         std::to_string(c.leaf) + (c.across ? ", across" : ", along") +
         (c.in_place ? ", in place" : "") + ", pads " + std::to_string(c.from_pad) + " " +
         std::to_string(c.to_pad) + ", offsets " + std::to_string(c.from_offset) + " " +
         std::to_string(c.to_offset) + ", variant " + std::to_string(variant);
}

TEST(CudaSnapKernels, EveryVariantSnapsEveryLayout) {
  Random random(77);
  std::set<int> seen;
  for (int i = 0; i < 400; ++i) {
    const Case c = draw_case(random);
    for (const int variant : taking(c)) {
      ASSERT_EQ(wrong(random, c, variant), 0) << text(c, variant);
      seen.insert(variant);
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kVariantCount));
}

/// The kernels for leaves of any length take any strides, so that memory may run otherwise in the
/// result.
TEST(CudaSnapKernels, AResultMayLieTheOtherWayRound) {
  Random random(80);
  for (int i = 0; i < 60; ++i) {
    Case c = draw_case(random);
    c.in_place = false;
    for (const int variant : {8, 13}) {
      ASSERT_EQ(kVariants[variant].longest, 0);
      ASSERT_EQ(wrong(random, c, variant, SnapFault::none, true), 0) << text(c, variant);
    }
  }
}

/// The comparison would see a warp that loses a lane.
TEST(CudaSnapKernels, AWarpThatLosesALaneIsSeen) {
  Random random(78);
  constexpr int kRuns = 200;
  for (const int variant : {2, 17}) {  // a warp per leaf, and groups of eight lanes
    int seen[2] = {};
    for (int i = 0; i < kRuns; ++i) {
      const Case c{8, 1024, 128, false, false, 0, 0, 0, 0};
      seen[0] += wrong(random, c, variant, SnapFault::sum_without_last) != 0;
      seen[1] += wrong(random, c, variant, SnapFault::largest_without_last) != 0;
    }
    EXPECT_GE(seen[0], 20) << variant;
    EXPECT_GE(seen[1], 3) << variant;
  }
}

/// Whatever is chosen takes the operand, and its grid has something to do for every CTA.
TEST(CudaSnapKernels, TheChosenVariantTakesTheOperand) {
  Random random(79);
  std::set<int> seen;
  for (int i = 0; i < 20000; ++i) {
    Case c = draw_case(random);
    const bool large = random.below(3) == 0;
    if (large) c.vectors *= 1 + random.below(2000);
    const std::int64_t pitch = (c.across ? c.vectors : c.k) + c.from_pad;
    auto* at = reinterpret_cast<void*>(std::uintptr_t{4096});
    const bool mixed = random.below(20) == 0;
    const bool to_across = mixed ? !c.across : c.across;
    const std::int64_t to_pitch = to_across ? c.vectors : c.k;
    const Operand o =
        operand(at, c.across ? 1 : pitch, c.across ? pitch : 1, at, to_across ? 1 : to_pitch,
                to_across ? to_pitch : 1, c.vectors, c.k, c.leaf);
    const int sms = 1 + static_cast<int>(random.below(132));
    const Launch launch = choose(o, sms);
    const Variant& v = kVariants[launch.variant];
    seen.insert(launch.variant);
    ASSERT_GE(launch.grid, 1);
    EXPECT_LE(launch.grid, 2 * kCtasPerSm * sms);
    const std::int64_t numbers = std::min(c.leaf, c.k);
    if (v.longest != 0) {
      EXPECT_GE(v.longest, numbers);
      EXPECT_TRUE(!mixed || c.vectors == 1 || c.k == 1);
      if (v.along_k) {
        EXPECT_TRUE(o.from_k == 1 && o.to_k == 1);
      } else {
        EXPECT_TRUE(o.from_vector == 1 && o.to_vector == 1);
      }
    }
  }
  // Groups that take four leaves at a time are there to be measured.
  const auto measured =
      std::count_if(std::begin(kVariants), std::end(kVariants),
                    [](const Variant& v) { return v.lanes != 0 && v.at_once == 4; });
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kVariantCount - measured));
  const Operand nothing = operand(nullptr, 64, 1, nullptr, 64, 1, 0, 64, 64);
  EXPECT_EQ(choose(nothing, 132).grid, 0);
  EXPECT_EQ(choose(operand(nullptr, 64, 1, nullptr, 64, 1, 5, 0, 64), 132).grid, 0);
}

}  // namespace
}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The kernels' own code against the rule of core/contract/quantize.hpp, block by block: every
// type, layout, tail and address. A launch runs the kernel that was chosen on the host.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "cuda/quantize/block.hpp"
#include "cuda/quantize/launch.hpp"

namespace detgemm::cuda {
namespace quantize {
namespace {

using detgemm::flatten;

/// What may be planted: the last lane's numbers are left out of the largest.
bool without_last_lane = false;
int last_kernel = -1;

struct HostWarp {
  LaneNumbers lanes[32];

  template <class F>
  void each(const F& f) {
    for (int lane = 0; lane < 32; ++lane) f(lane, lanes[lane]);
  }
  template <class F>
  std::uint32_t max(const F& f) {
    std::uint32_t most = 0;
    for (int lane = 0; lane < (without_last_lane ? 31 : 32); ++lane) {
      most = std::max(most, f(lanes[lane]));
    }
    return most;
  }
};

struct HostLong {
  template <class F>
  void each(std::int64_t count, const F& f) {
    for (std::int64_t i = count; i-- > 0;) f(i);
  }
  template <class F>
  std::uint32_t max(std::int64_t count, const F& f) {
    std::uint32_t most = 0;
    each(count - (without_last_lane && count > 1 ? 1 : 0),
         [&](std::int64_t i) { most = std::max(most, f(i)); });
    return most;
  }
};

template <DType T>
void run_leaves(const QuantizeArguments& q) {
  for (std::int64_t line = 0; line < q.scales.blocks; ++line) {
    for (std::int64_t leaf = 0; leaf < q.scales.leaves; leaf += kLeavesPerWarp) {
      HostWarp teams[kLeavesPerWarp];
      quantize_leaves<T>(q, line, leaf, teams);
    }
  }
}

void run_any(const QuantizeArguments& q) {
  for (std::int64_t block = 0; block < q.scales.blocks; ++block) {
    for (std::int64_t leaf = 0; leaf < q.scales.leaves; ++leaf) {
      HostLong team;
      quantize_any(q, block, leaf, team);
    }
  }
}

struct Given {
  DType type = DType::bf16;
  KDimension k = KDimension::cols;
  ScaleType scales = ScaleType::fp32;
  std::int64_t lines = 5, length = 300, leaf = 128, per = 1;
  std::int64_t pad = 0;  ///< elements between lines
  int offset = 0;        ///< of the first number, in elements
  bool col_major = false;
};

/// Both results over the same fill, so that what nobody may write is compared too.
struct Results {
  std::vector<std::uint8_t> q, scales;
};

/// `by_rule`: one block after the other by the contract's own code.
Results quantized(const Given& g, bool by_rule) {
  std::mt19937_64 random(static_cast<std::uint64_t>(g.lines * 7 + g.length * 3 + g.leaf));
  const bool along = g.k == KDimension::cols;
  const std::int64_t rows = along ? g.lines : g.length, cols = along ? g.length : g.lines;
  const std::int64_t run = g.col_major ? rows : cols, others = g.col_major ? cols : rows;
  const std::int64_t ld = run + g.pad;
  const auto count = static_cast<std::size_t>(others * ld + 64);
  const std::size_t size = size_of(g.type);
  std::vector<std::uint64_t> from(count * size / 8 + 4);
  auto* numbers = reinterpret_cast<std::uint8_t*>(from.data());
  for (std::size_t i = 0; i < count; ++i) {
    // Random patterns, NaN, Inf and subnormals among them; and blocks of numbers that are near.
    std::uint64_t bits = random();
    if (i / 512 % 3 != 0 && size == 4) bits = (bits & 0x807fffffU) | (110U + bits % 24U) << 23;
    if (i / 512 % 3 != 0 && size == 2) bits = (bits & 0x80ffU) | 0x3f00U;
    std::memcpy(numbers + i * size, &bits, size);
  }
  Results made;
  std::vector<std::uint64_t> to(count / 8 + 8, 0x5555555555555555U);
  const std::int64_t blocks = ceil_div(g.lines, g.per), leaves = ceil_div(g.length, g.leaf);
  made.scales.assign(static_cast<std::size_t>(blocks * leaves + 3) * 4, 0x55);
  auto* out = reinterpret_cast<std::uint8_t*>(to.data()) + g.offset;
  const auto view = [&](void* data, DType type) {
    return g.col_major ? col_major(data, rows, cols, type, ld)
                       : row_major(data, rows, cols, type, ld);
  };
  const ScalesOut scales{made.scales.data(), g.scales, blocks, leaves, leaves, 1};
  const QuantizeArguments q =
      flatten(QuantizeSpec{g.leaf, g.per, g.k},
              view(numbers + static_cast<std::size_t>(g.offset) * size, g.type),
              view(out, DType::e4m3), scales);
  if (by_rule) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t leaf = 0; leaf < leaves; ++leaf) quantize_block(q, block, leaf);
    }
  } else {
    EXPECT_EQ(enqueue(q, 132, {}), cudaSuccess);
  }
  made.q.assign(reinterpret_cast<std::uint8_t*>(to.data()),
                reinterpret_cast<std::uint8_t*>(to.data() + to.size()));
  return made;
}

std::vector<Given> all() {
  std::vector<Given> list;
  for (const DType type : {DType::bf16, DType::fp16, DType::fp32}) {
    for (const ScaleType scales : {ScaleType::fp32, ScaleType::e8m0}) {
      for (const std::int64_t length : {1, 3, 127, 128, 129, 300, 512, 1026}) {
        for (const std::int64_t leaf : {4, 32, 64, 128, 100, 5, 256, 2048}) {
          list.push_back(
              {type, KDimension::cols, scales, 7, length, leaf, 1, (4 - length % 4) % 4});
        }
        list.push_back({type, KDimension::cols, scales, 9, length, 128, 1, 1});
        list.push_back(
            {type, KDimension::cols, scales, 9, length, 128, 1, (4 - length % 4) % 4, 1});
        list.push_back({type, KDimension::cols, scales, 9, length, 128, 1, 0, 0, true});
        list.push_back({type, KDimension::rows, scales, 12, length, 128, 1});
        for (const KDimension k : {KDimension::cols, KDimension::rows}) {
          list.push_back({type, k, scales, 260, length, 128, 128, 2, 3, false});
          list.push_back({type, k, scales, 130, length, 64, 128, 0, 0, true});
        }
      }
    }
  }
  return list;
}

TEST(CudaQuantize, EveryKernelHasTheRulesBits) {
  std::vector<int> ran(kKernels);
  for (const Given& g : all()) {
    const Results expected = quantized(g, true), got = quantized(g, false);
    ++ran[static_cast<std::size_t>(last_kernel)];
    ASSERT_EQ(got.q, expected.q) << "type " << static_cast<int>(g.type) << " lines " << g.lines
                                 << " K " << g.length << " leaf " << g.leaf << " per " << g.per;
    ASSERT_EQ(got.scales, expected.scales) << g.length << " " << g.leaf;
  }
  for (const int count : ran) EXPECT_GE(count, 60);
}

TEST(CudaQuantize, ALargestNumberThatIsLeftOutIsSeen) {
  without_last_lane = true;
  int seen = 0, kernels[kKernels] = {};
  for (const Given& g : all()) {
    const bool differs = quantized(g, true).scales != quantized(g, false).scales;
    seen += differs;
    kernels[last_kernel] += differs;
  }
  without_last_lane = false;
  EXPECT_GE(seen, 40);
  for (const int count : kernels) EXPECT_GE(count, 1);
}

TEST(CudaQuantize, TheGridFollowsTheBlocks) {
  Given g;
  QuantizeArguments q;
  EXPECT_EQ(choose(q, 132).grid, 0);
  q.scales.blocks = 1;
  q.scales.leaves = 1;
  EXPECT_EQ(choose(q, 132).grid, 1);
  q.scales.blocks = std::int64_t{1} << 40;
  q.scales.leaves = std::int64_t{1} << 40;
  EXPECT_EQ(choose(q, 132).grid, 132 * 8);
}

}  // namespace

Kernel kernel(int index) {
  last_kernel = index;
  return {};
}

}  // namespace quantize

/// The kernel runs at once, on the host.
cudaError_t launch(const Kernel&, int, const Queue&, void** arguments) {
  using namespace quantize;
  const auto& q = *static_cast<const detgemm::QuantizeArguments*>(arguments[0]);
  if (last_kernel == 0) run_leaves<detgemm::DType::bf16>(q);
  if (last_kernel == 1) run_leaves<detgemm::DType::fp16>(q);
  if (last_kernel == 2) run_leaves<detgemm::DType::fp32>(q);
  if (last_kernel == kAny) run_any(q);
  return cudaSuccess;
}

}  // namespace detgemm::cuda

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "cuda/host/snapped.hpp"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

// Contracts of snap3: what is split, where the copies lie, and which kernels multiply them.

namespace detgemm::test {
namespace {

using namespace cuda;

constexpr std::uintptr_t kBase = std::uintptr_t{1} << 40;

struct Drawn {
  GemmArguments g;
  DType input;
  LaunchOptions options;
};

Drawn draw(Random& random) {
  Layout l;
  l.m = 1 + random.below(random.below(2) != 0 ? 64 : 3000);
  l.n = 1 + random.below(random.below(2) != 0 ? 100 : 5000);
  l.k = random.below(16) == 0 ? 0 : 1 + random.below(4000);
  l.a_mn = random.below(3) == 0;
  l.b_mn = random.below(3) == 0;
  l.unit = random.below(3) == 0 ? 8 : 1 + random.below(8);
  Drawn d{arguments(l), random.below(2) != 0 ? DType::fp32 : DType::bf16, {}};
  d.g.reduction = {random.below(2) != 0 ? ReductionKind::tree : ReductionKind::fold,
                   64 * (1 + random.below(20))};
  d.g.continue_from_c = d.g.reduction.kind == ReductionKind::fold && random.below(4) == 0;
  d.g.output = DType::fp32;
  d.g.cs = d.g.ds;
  d.options.sms = random.below(3) == 0 ? 1 + static_cast<int>(random.below(60)) : 132;
  d.options.wgmma = random.below(3) != 0;
  d.options.a_is_stable = random.below(2) == 0;
  d.options.b_is_stable = !d.options.a_is_stable;
  d.options.overlap = random.below(4) != 0;
  return d;
}

void expect_split(const snap::SplitOperand& s, const void* from, std::int64_t vectors,
                  std::int64_t vector, std::int64_t along, const Drawn& d, bool of_a) {
  const std::int64_t leaf = std::min(d.g.reduction.leaf_k, (d.g.k + 63) / 64 * 64);
  EXPECT_EQ(s.from, from);
  EXPECT_EQ(s.vectors, vectors);
  EXPECT_EQ(s.k, d.g.k);
  EXPECT_EQ(s.leaf, leaf);
  EXPECT_EQ(s.leaves, leaves_of(d.g.k, d.g.reduction.leaf_k));
  EXPECT_EQ(s.to_vector, 3 * leaf * s.leaves);
  EXPECT_EQ(s.from_vector, vectors > 1 ? vector : 0);
  EXPECT_EQ(s.from_k, d.g.k > 1 ? along : 1);
  EXPECT_EQ(s.of_a, of_a);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.to) % 256, 0U);
  const auto size = static_cast<std::uintptr_t>(size_of(d.input));
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  const auto wide = static_cast<std::uintptr_t>(s.from_bytes);
  EXPECT_GE(wide, size);
  if (wide > size) {
    EXPECT_EQ(s.from_k, 1);
    EXPECT_EQ(at % wide, 0U);
    EXPECT_EQ(static_cast<std::uintptr_t>(s.from_vector) * size % wide, 0U);
  }
}

TEST(CudaSnap3, CopiesAreMultipliedAsThreeTimesTheLeaves) {
  Random random(20261123);
  int on_cores = 0, on_tensor_cores = 0, wide = 0;
  for (int i = 0; i < 4000; ++i) {
    Drawn d = draw(random);
    const Contract contract =
        *Contract::make(Arithmetic::snap3, d.input, d.g.reduction, d.g.output);
    const std::size_t needed = workspace_bytes(contract, d.g.m, d.g.n, d.g.k, d.options);
    d.options.workspace_bytes = needed;
    EXPECT_EQ(fast_workspace_bytes({d.g, Arithmetic::snap3, d.input}, d.options), needed);
    EXPECT_EQ(fast_workspace_bound(contract, d.g.m, d.g.n, d.g.k, d.options), needed);
    Recorded& r = record();
    const Ran ran = run(d.g, d.input, d.options, reinterpret_cast<void*>(kBase), Arithmetic::snap3);
    ASSERT_TRUE(ran.ok());
    ASSERT_EQ(r.launches, 1);
    EXPECT_TRUE(r.snaps.empty());
    EXPECT_EQ(cuda::name(ran.decision).ends_with("/snap3"), d.g.k > 0);
    (r.kernel.simt ? on_cores : on_tensor_cores)++;
    EXPECT_EQ(r.kernel.simt, !d.options.wgmma);
    EXPECT_EQ(r.kernel.input, DType::bf16);
    if (d.g.k == 0) {
      EXPECT_TRUE(r.splits.empty());
      continue;
    }
    ASSERT_EQ(r.splits.size(), 2U);
    for (const FakeKernel& kernel : r.split_kernels) {
      EXPECT_EQ(kernel.input, d.input);
      const int longest = snap::kSplitLeaves[kernel.split];
      EXPECT_TRUE(longest == 0 || longest >= r.splits[0].leaf);
    }
    wide += d.input == DType::fp32;
    expect_split(r.splits[0], d.g.a, d.g.m, d.g.as.row, d.g.as.col, d, true);
    expect_split(r.splits[1], d.g.b, d.g.n, d.g.bs.col, d.g.bs.row, d, false);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(r.splits[0].to), kBase);
    const auto end_of = [](const snap::SplitOperand& s) {
      return reinterpret_cast<std::uintptr_t>(s.to + s.vectors * s.to_vector);
    };
    EXPECT_LE(end_of(r.splits[0]), reinterpret_cast<std::uintptr_t>(r.splits[1].to));
    EXPECT_LE(end_of(r.splits[1]), kBase + needed);
    const snap::SnappedCall call({d.g, Arithmetic::snap3, d.input}, d.options,
                                 reinterpret_cast<void*>(kBase));
    const GemmArguments& over = call.problem().g();
    EXPECT_EQ(over.k, r.splits[0].to_vector);
    EXPECT_EQ(over.reduction.leaf_k, r.splits[0].leaf);
    EXPECT_EQ(leaves_of(over.k, over.reduction.leaf_k), 3 * r.splits[0].leaves);
    EXPECT_FALSE(call.options().a_is_stable || call.options().b_is_stable);
    if (r.kernel.simt) {
      EXPECT_EQ(r.params.g.a, static_cast<const void*>(r.splits[0].to));
      EXPECT_EQ(r.params.g.b, static_cast<const void*>(r.splits[1].to));
      EXPECT_EQ(r.params.g.k, over.k);
    } else if (r.maps.size() == 2) {
      EXPECT_EQ(r.packs, 0);
      const std::size_t a = ran.decision.swapped ? 1 : 0;
      EXPECT_EQ(r.maps.at(a).data, static_cast<const void*>(r.splits[0].to));
      EXPECT_EQ(r.maps.at(1 - a).data, static_cast<const void*>(r.splits[1].to));
    }
  }
  EXPECT_GE(on_cores, 500);
  EXPECT_GE(on_tensor_cores, 500);
  EXPECT_GE(wide, 500);
}

/// Workspace grows with the rows, and what does not fit any memory is said to be too much.
TEST(CudaSnap3, Workspace) {
  const Contract contract = *Contract::parse("snap3/fp32/fold:128->fp32");
  LaunchOptions options;
  options.sms = 132;
  const auto bytes = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return workspace_bytes(contract, m, n, k, options);
  };
  EXPECT_LT(bytes(1, 4096, 4096), bytes(4096, 4096, 4096));
  EXPECT_GE(bytes(4096, 4096, 4096), std::size_t{2} * 4096 * 3 * 4096 * 2);
  EXPECT_GT(bytes(1, 1, INT64_MAX), std::size_t{1} << 58);
}

}  // namespace
}  // namespace detgemm::test

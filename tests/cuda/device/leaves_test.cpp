// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Fold and tree on tensor cores through plans: ranks, cuts of a gradient, one workspace for many
// calls, and mistakes that the comparison must see.

#include <algorithm>
#include <random>

#include "tests/cuda/device/fixture.hpp"
#include "tests/cuda/planted_leaves.hpp"

namespace detgemm::test {
namespace {

/// Scratch of a plan, as an earlier user has left it.
struct Scratch {
  explicit Scratch(const Plan& plan, std::int64_t m)
      : bytes(*plan.workspace_bytes(m)), memory(bytes + 1) {}
  Workspace workspace() const { return {bytes != 0 ? memory.data() : nullptr, bytes}; }
  std::size_t bytes;
  Array memory;
};

int differing(const std::vector<std::uint8_t>& x, const std::vector<std::uint8_t>& y) {
  int count = 0;
  for (std::size_t i = 0; i < x.size(); i += 4) count += !std::equal(&x[i], &x[i] + 4, &y[i]);
  return count;
}

TEST(Leaves, PlantedFaultsAreCaught) {
  // 7 leaves, the last one short: halves of k are not halves of the leaves.
  const GemmSpec spec = spec_of("hopper/bf16/tree:128->fp32", 72, 128 * 6 + 40);
  const Product p(spec, 24, 5);
  const auto expected = p.expected();
  for (int i = 0; i < kLeafFaults; ++i) {
    const Array d = p.output();
    const GemmArguments g = flatten(spec, p.operands(d.data()));
    ASSERT_EQ(planted_tree(g, static_cast<LeafFault>(i), nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const int count = differing(d.bytes(), expected);
    if (i == 0) {
      EXPECT_EQ(count, 0);
    } else {
      EXPECT_GE(count, 24 * 72 / 10) << i;
    }
  }
}

TEST(Leaves, EveryWayHasTheOraclesBits) {
  for (const char* contract : {"hopper/bf16/tree:256->fp32", "hopper/fp16/fold:512->fp16"}) {
    const GemmSpec spec = spec_of(contract, 96, 256 * 8);
    GemmSpec transposed = spec;
    const Product p(transposed, 16, 9);
    const auto expected = p.expected();
    int ways = 0;
    for (const std::string& variant : cuda_backend().variants(spec)) {
      const Plan plan = plan_of(spec, {variant});
      const Scratch scratch(plan, p.m);
      const OwnStream stream;
      const Array d = p.output();
      RunInfo info;
      const Status s = plan.run(stream, p.operands(d.data()), scratch.workspace(), &info);
      stream.wait();
      if (s.code() == Errc::unsupported) continue;
      EXPECT_OK(s);
      EXPECT_EQ(d.bytes(), expected) << info.kernel;
      ways += info.kernel.find("-cluster") != std::string::npos ? 1 : 0;
    }
    EXPECT_GE(ways, 1) << contract;
  }
}

/// One workspace serves call after call, whatever the last one left in it, in any of the ways.
TEST(Leaves, AWorkspaceServesManyCalls) {
  const GemmSpec spec = spec_of("hopper/bf16/tree:256->fp32", 64, 256 * 8);
  const Product p(spec, 16, 11);
  const auto expected = p.expected();
  for (const std::string& variant : cuda_backend().variants(spec)) {
    if (variant.find("-grid") == std::string::npos) continue;
    const Plan plan = plan_of(spec, {variant});
    const Scratch scratch(plan, p.m);
    const OwnStream stream;
    const Array d = p.output();
    for (int i = 0; i < 50; ++i) {
      const Status s = plan.run(stream, p.operands(d.data()), scratch.workspace());
      if (s.code() == Errc::unsupported) break;
      EXPECT_OK(s);
    }
    stream.wait();
    EXPECT_EQ(d.bytes(), expected) << variant;
  }
}

TEST(Leaves, RanksGiveTheUncutBits) {
  constexpr std::int64_t kM = 33, kN = 72, kLeaf = 64, kK = kLeaf * 24;
  const GemmSpec spec = spec_of("hopper/bf16/tree:64->bf16", kN, kK);
  const Product p(spec, kM, 41);
  const auto expected = p.expected();
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    std::vector<Array> memory;
    std::vector<ConstMatrix> roots;
    const OwnStream stream;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const KRange range = *rank_share(spec.contract, kK, rank, ranks);
      const Plan share = plan_of(spec_of("hopper/bf16/tree:64->fp32", kN, range.end - range.begin));
      memory.emplace_back(kM * kN * 4);
      Operands o = p.operands();
      o.a.data = static_cast<const std::uint16_t*>(o.a.data) + range.begin;
      o.a.cols = range.end - range.begin;
      o.b.data = static_cast<const std::uint16_t*>(o.b.data) + range.begin * kN;
      o.b.rows = o.a.cols;
      o.d = row_major(memory.back().data(), kM, kN, DType::fp32);
      const Scratch scratch(share, kM);
      EXPECT_OK(share.run(stream, o, scratch.workspace()));
      stream.wait();
      roots.push_back(
          row_major(static_cast<const void*>(memory.back().data()), kM, kN, DType::fp32));
    }
    const Array d = p.output();
    const Plan whole = plan_of(spec);
    const Scratch scratch(whole, kM);
    EXPECT_OK(whole.combine(stream, roots, p.operands(d.data()), scratch.workspace()));
    stream.wait();
    EXPECT_EQ(d.bytes(), expected) << ranks;
  }
}

/// dW = dY^T X over tokens, in pieces: [0, cut) then [cut, tokens), each continuing from fp32 C.
void expect_cuts_are_neutral(const char* contract, std::int64_t unit, std::int64_t tokens) {
  constexpr std::int64_t kM = 72, kN = 40;
  GemmSpec spec = spec_of(contract, kN, tokens);
  spec.op_a = Op::transpose;
  spec.continue_from_c = true;
  const Array dy(static_cast<std::size_t>(tokens * kM) * 2),
      x(static_cast<std::size_t>(tokens * kN) * 2);
  const Array start(kM * kN * 4), whole(kM * kN * 4), d(kM * kN * 4);
  fill_normal(dy, tokens, kM, DType::bf16, 51);
  fill_normal(x, tokens, kN, DType::bf16, 52);
  fill_normal(start, kM, kN, DType::fp32, 53);
  const OwnStream stream;
  const auto add = [&](std::int64_t begin, std::int64_t end, const Array& from, const Array& to) {
    GemmSpec piece = spec;
    piece.k = end - begin;
    const Plan plan = plan_of(piece);
    const Scratch scratch(plan, kM);
    Operands o;
    o.a = row_major(static_cast<const std::uint16_t*>(dy.data()) + begin * kM, piece.k, kM,
                    DType::bf16);
    o.b = row_major(static_cast<const std::uint16_t*>(x.data()) + begin * kN, piece.k, kN,
                    DType::bf16);
    o.c = row_major(static_cast<const void*>(from.data()), kM, kN, DType::fp32);
    o.d = row_major(to.data(), kM, kN, DType::fp32);
    EXPECT_OK(plan.run(stream, o, scratch.workspace()));
    stream.wait();  // the scratch goes away
  };
  add(0, tokens, start, whole);
  const auto expected = whole.bytes();
  std::mt19937_64 random(static_cast<std::uint64_t>(tokens));
  const std::int64_t units = (tokens + unit - 1) / unit;
  for (int i = 0; i < 100; ++i) {
    // Up to three cuts, which may fall together.
    std::vector<std::int64_t> cuts{0, tokens};
    for (int c = 0; c <= i % 3; ++c) {
      cuts.push_back(std::min(
          tokens,
          unit * static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(units + 1))));
    }
    std::sort(cuts.begin(), cuts.end());
    const Array* from = &start;
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      if (cuts[c] == cuts[c + 1]) continue;
      add(cuts[c], cuts[c + 1], *from, d);
      from = &d;
    }
    ASSERT_EQ(d.bytes(), expected) << contract << ", " << tokens << " tokens, cut " << i;
  }
}

TEST(Leaves, CutsOfAGradientAreNeutral) {
  for (const std::int64_t tokens : {1, 7, 15, 100, 1000, 4096, 65536}) {
    expect_cuts_are_neutral("hopper/bf16/chain->fp32", 16, tokens);
    expect_cuts_are_neutral("hopper/bf16/fold:1024->fp32", 1024, tokens);
    expect_cuts_are_neutral("hopper/bf16/fold:64->fp32", 64, tokens);
  }
}

}  // namespace
}  // namespace detgemm::test

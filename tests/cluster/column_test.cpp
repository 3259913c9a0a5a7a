// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/cluster/ranks.hpp"

// N spread over ranks: D has the bits of one rank wherever A comes from, under any contract.

namespace detgemm::cluster {
namespace {

constexpr std::array kInputs{Placement::replicated, Placement::rows, Placement::columns};

/// This rank's operands of a sample under the options.
Operands local_of(const Sample& s, const Communicator& ranks, const ColumnParallelPlan& plan,
                  const ColumnParallelOptions& options, float* d) {
  const auto share = [&](bool has, std::int64_t extent) {
    return has ? rows_of(extent, ranks.rank(), ranks.size()) : Range{0, extent};
  };
  const Range rows = share(options.input == Placement::rows, s.m);
  const Range products = share(options.input == Placement::columns, s.spec.k);
  const Range columns = plan.columns();
  const Range of_d = options.output == Placement::columns ? columns : Range{0, s.spec.n};
  return {row_major(static_cast<const void*>(s.a.data() + rows.begin * s.spec.k + products.begin),
                    rows.size(), products.size(), DType::bf16, s.spec.k),
          row_major(static_cast<const void*>(s.b.data() + columns.begin), s.spec.k, columns.size(),
                    DType::bf16, s.spec.n),
          row_major(static_cast<void*>(d + of_d.begin), s.m, of_d.size(), DType::fp32, s.spec.n),
          row_major(static_cast<const void*>(s.c.data() + of_d.begin), s.m, of_d.size(),
                    DType::fp32, s.spec.n),
          {s.bias.data() + columns.begin, columns.size(), DType::fp32}};
}

TEST(ColumnParallel, BitsOfOneRank) {
  for (const char* contract : {"ieee_fma/bf16/chain->fp32", "hopper/bf16/fold:64->fp32"}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Sample sample(contract, seed * 17 + static_cast<std::uint64_t>(ranks));
        ColumnParallelOptions options;
        options.input = kInputs[seed % 3];
        options.output = seed % 2 == 0 ? Placement::columns : Placement::replicated;
        options.chunks = static_cast<std::int32_t>(seed % 5);
        on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
          const auto communicator = *Communicator::create(transport);
          const auto plan =
              ColumnParallelPlan::create(communicator, skeleton_backend(), sample.spec, options);
          ASSERT_TRUE(plan) << plan.status().message();
          std::vector<float> d(sample.d.size() + 1, -7.0F);
          const Scratch scratch(*plan->workspace_bytes(sample.m));
          const Status ran = plan->run(
              {}, sample.m, local_of(sample, communicator, *plan, options, d.data()), scratch);
          ASSERT_TRUE(ran) << ran.message();
          std::vector<float> expected(d.size(), -7.0F);
          const Range mine =
              options.output == Placement::columns ? plan->columns() : Range{0, sample.spec.n};
          for (std::int64_t i = 0; i < sample.m * sample.spec.n; ++i) {
            const std::int64_t column = i % sample.spec.n;
            if (column < mine.begin || column >= mine.end) continue;
            expected[static_cast<std::size_t>(i)] = sample.d[static_cast<std::size_t>(i)];
          }
          EXPECT_EQ(std::memcmp(d.data(), expected.data(), d.size() * sizeof(float)), 0)
              << contract << ", " << ranks << " ranks, seed " << seed << ", m " << sample.m;
        });
      }
    }
  }
}

/// One token as a stored transpose: K x 1, whose transposed view has rows that are 1 element apart.
TEST(ColumnParallel, ATransposedToken) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Sample sample("ieee_fma/bf16/chain->fp32", seed, 1);
    ASSERT_EQ(sample.m, 1);
    for (const Placement input : kInputs) {
      GemmSpec spec = sample.spec;
      spec.op_a = Op::transpose;
      ColumnParallelOptions options;
      options.input = input;
      options.output = Placement::replicated;
      on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator = *Communicator::create(transport);
        const auto plan =
            *ColumnParallelPlan::create(communicator, skeleton_backend(), spec, options);
        std::vector<float> d(sample.d.size(), -7.0F);
        Operands local = local_of(sample, communicator, plan, options, d.data());
        local.a = row_major(local.a.data, local.a.cols, local.a.rows, DType::bf16, 1);
        const Scratch scratch(*plan.workspace_bytes(1));
        const Status ran = plan.run({}, 1, local, scratch);
        ASSERT_TRUE(ran) << ran.message();
        EXPECT_EQ(std::memcmp(d.data(), sample.d.data(), d.size() * sizeof(float)), 0);
      });
    }
  }
}

TEST(ColumnParallel, RefusesInSentences) {
  const Sample sample("ieee_fma/bf16/chain->fp32", 6);
  const auto one = *Communicator::create(threads(1)[0]);
  ColumnParallelOptions options;
  options.input = static_cast<Placement>(9);
  const auto says = [&] {
    return ColumnParallelPlan::create(one, skeleton_backend(), sample.spec, options)
        .status()
        .message();
  };
  EXPECT_EQ(says(),
            "rank 0 refuses: input is unknown (9): it must be replicated (0), rows (1) or columns "
            "(2)");
  options.input = Placement::replicated;
  options.chunks = -1;
  EXPECT_EQ(says(), "rank 0 refuses: chunks is -1: it must be 0 (automatic) or positive");
  options.chunks = 0;
  options.output = Placement::rows;
  EXPECT_EQ(says(), "rank 0 refuses: output is rows (1): it must be replicated (0) or columns (2)");
  on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
    ColumnParallelOptions gathered;
    gathered.input = Placement::rows;
    gathered.output = Placement::replicated;
    const auto communicator = *Communicator::create(transport);
    const auto plan =
        *ColumnParallelPlan::create(communicator, skeleton_backend(), sample.spec, gathered);
    std::vector<float> d(sample.d.size(), -7.0F);
    const std::size_t bytes = *plan.workspace_bytes(sample.m);
    const Scratch scratch(bytes);
    const Workspace room = scratch;
    const Operands good = local_of(sample, communicator, plan, gathered, d.data());
    const auto told = [&](std::int64_t m, const Operands& operands, Workspace with) {
      return plan.run({}, m, operands, with).message();
    };
    EXPECT_EQ(told(-1, good, room), "m is -1: it must not be negative");
    EXPECT_EQ(told(sample.m + 1, good, room),
              "d has " + std::to_string(sample.m) + " rows: m is " + std::to_string(sample.m + 1));
    EXPECT_EQ(told(sample.m, good, {room.data, bytes - 1}),
              "workspace.bytes is " + std::to_string(bytes - 1) + ": this m needs at least " +
                  std::to_string(bytes));
    Operands bad = good;
    bad.a.rows += 1;
    EXPECT_NE(told(sample.m, bad, room).find("a "), std::string::npos);
    bad = good;
    bad.b.cols += 1;
    EXPECT_NE(told(sample.m, bad, room).find("b "), std::string::npos);
    bad = good;
    bad.d.data = nullptr;
    EXPECT_NE(told(sample.m, bad, room).find("d.data is null"), std::string::npos);
    EXPECT_EQ(plan.workspace_bytes(-1).status().message(), "max_m is -1: it must not be negative");
    for (const float value : d) EXPECT_EQ(value, -7.0F) << "a refused call wrote";
  });
}

}  // namespace
}  // namespace detgemm::cluster

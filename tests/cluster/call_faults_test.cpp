// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "tests/cluster/messages.hpp"

// Faults inside of a call: a rank that is gone in the middle of it, ranks that call their plans in
// different orders; and calls that have nothing to do. The others are in faults_test.cpp.

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;

constexpr const char* kContract = "ieee_fma/bf16/tree:16->fp32";

/// Is gone in its second step, as a process is that was killed: sends nothing and tells nobody.
class Vanishing final : public Recorder {
 public:
  using Recorder::Recorder;
  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    if (steps.size() == 1) return {Errc::peer, "gone"};
    return Recorder::exchange(stream, sends, receives, patience);
  }
};

TEST(CallFaults, ARankThatIsGoneInTheMiddleOfACall) {
  const Sample sample = sample_of_rows(24, 3);  // 8 rows for each: roots, then rows
  std::vector<std::string> said(3);
  std::vector<Status> health(3);
  on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    Options options;
    options.patience = 300ms;
    const auto dying = std::make_shared<Vanishing>(transport);
    const auto communicator = *Communicator::create(rank == 2 ? dying : transport, options);
    const auto begin = std::chrono::steady_clock::now();
    said[rank] = run_sample(communicator, sample, {});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    health[rank] = communicator.health();
  });
  EXPECT_EQ(said[2], "gone");
  for (const std::size_t rank : {0U, 1U}) {
    // Whoever waits for rank 2 first says so for both.
    EXPECT_TRUE(said[rank] == "rank 2 of 3 did not send within 300 ms" ||
                said[rank] == "a rank does not receive within 300 ms")
        << said[rank];
    EXPECT_EQ(health[rank].code(), Errc::peer);
    EXPECT_EQ(health[rank].message(), said[rank]) << "it stays";
  }
}

TEST(CallFaults, NewTransportsAfterAFailure) {
  const Sample sample = sample_of_rows(24, 2);
  for (int round = 0; round < 2; ++round) {
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport);
      EXPECT_EQ(run_sample(communicator, sample, {}), "");
      std::byte mine{}, all[2];
      ASSERT_TRUE(transport->agree({&mine, 1}, all, 10s));
      communicator.abort();
      EXPECT_NE(run_sample(communicator, sample, {}), "");
    });
  }
}

/// Two plans on two ranks, the second rank beginning with the other one: what the ranks are told.
/// `more_columns` of the second plan make it another problem.
std::set<std::string> in_another_order(bool check_calls, std::int64_t more_columns) {
  std::vector<std::string> said(2);
  on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
    Options options;
    options.check_calls = check_calls;
    options.patience = 5s;
    const auto communicator = *Communicator::create(transport, options);
    GemmSpec spec;
    spec.contract = *Contract::parse(kContract);
    spec.n = 4;
    spec.k = 64;
    std::vector<RowParallelPlan> plans;
    for (int i = 0; i < 2; ++i) {
      plans.push_back(*RowParallelPlan::create(communicator, skeleton_backend(), spec));
      spec.n += more_columns;
    }
    const int rank = transport->rank();
    const RowParallelPlan& plan = plans[static_cast<std::size_t>(rank)];
    const std::int64_t n = 4 + rank * more_columns, m = 3;
    const std::vector<std::uint16_t> zeros(1000);
    std::vector<float> d(static_cast<std::size_t>(m * n));
    const Scratch scratch(*plan.workspace_bytes(m));
    const void* data = zeros.data();
    said[static_cast<std::size_t>(rank)] =
        plan.run({}, m,
                 {row_major(data, m, 32, DType::bf16), row_major(data, 32, n, DType::bf16),
                  row_major(d.data(), m, n, DType::fp32)},
                 scratch)
            .message();
  });
  return {said.begin(), said.end()};
}

TEST(CallFaults, PlansInAnotherOrder) {
  using Said = std::set<std::string>;
  const Said number{
      "ranks disagree: rank 1 has plan number 2 and rank 0 has plan number 1: it must be the same "
      "on all"};
  EXPECT_EQ(in_another_order(true, 4), number);
  EXPECT_EQ(in_another_order(true, 0), number) << "two layers of one shape";
  const Said by_size = in_another_order(false, 4);
  ASSERT_EQ(by_size.size(), 1U);
  EXPECT_NE(by_size.begin()->find("the ranks call with different m or different plans"),
            std::string::npos);
  // Nothing tells two layers of one shape apart but the check.
  EXPECT_EQ(in_another_order(false, 0), Said{""});
}

TEST(CallFaults, CallsWithNothingToDoMoveNothing) {
  struct Problem {
    int ranks;
    std::int64_t m, n, k;
    bool silent;
  };
  for (const Problem& p :
       {Problem{3, 0, 4, 64, true}, Problem{3, 5, 0, 64, true}, Problem{1, 30, 4, 64, true},
        Problem{3, 5, 4, 0, true}, Problem{3, 30, 4, 0, true}, Problem{3, 30, 4, 64, false}}) {
    for (const Placement output : {Placement::replicated, Placement::rows}) {
      on_ranks(p.ranks, [&](const std::shared_ptr<Transport>& transport) {
        const auto recorder = std::make_shared<Recorder>(transport);
        const auto communicator = *Communicator::create(recorder);
        GemmSpec spec;
        spec.contract = *Contract::parse(kContract);
        spec.n = p.n;
        spec.k = p.k;
        spec.bias = DType::fp32;
        RowParallelOptions options;
        options.output = output;
        const auto plan = *RowParallelPlan::create(communicator, skeleton_backend(), spec, options);
        const std::int64_t rows =
            output == Placement::rows ? rows_of(p.m, transport->rank(), p.ranks).size() : p.m;
        const std::int64_t depth = plan.k_range().end - plan.k_range().begin;
        const std::vector<std::uint16_t> zeros(10000);
        const std::vector<float> bias{1, 2, 3, 4};
        std::vector<float> d(static_cast<std::size_t>(rows * p.n), -7.0F);
        const Scratch scratch(*plan.workspace_bytes(p.m));
        const void* data = zeros.data();
        Operands all{row_major(data, p.m, depth, DType::bf16),
                     row_major(data, depth, p.n, DType::bf16),
                     row_major(d.data(), rows, p.n, DType::fp32)};
        all.bias = {bias.data(), p.n, DType::fp32};
        const Status ran = plan.run({}, p.m, all, scratch);
        EXPECT_TRUE(ran) << ran.message();
        for (std::size_t i = 0; i < d.size(); ++i) EXPECT_EQ(d[i], bias[i % 4]);
        std::size_t messages = 0;
        for (const Step& step : recorder->steps) messages += step.to.size() + step.from.size();
        if (p.silent) {
          EXPECT_EQ(messages, 0U) << "m " << p.m << ", n " << p.n << ", k " << p.k;
        } else {
          EXPECT_GT(messages, 0U) << "the control: the recorder sees messages where there are some";
        }
      });
    }
  }
}

}  // namespace
}  // namespace detgemm::cluster

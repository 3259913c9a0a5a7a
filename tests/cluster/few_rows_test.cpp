// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <mutex>

#include "tests/cluster/messages.hpp"

// A scatter that is asked for where a rank has no rows gathers, in one step in place of two. The
// call that led here did not end for another reason (docs/log/cluster.md). Over the stand-in:
// few_rows_nccl_test.cpp.

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;

/// A call of m rows: "" or what is wrong with D on a rank, and what was sent.
struct Told {
  std::string bits;
  std::vector<std::vector<Step>> steps;
};
Told run_rows(int ranks, std::int64_t m, const RowParallelOptions& options) {
  const Sample sample = sample_of_rows(m, ranks);
  Told told;
  told.steps.resize(static_cast<std::size_t>(ranks));
  std::mutex mutex;
  on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
    const auto recorder = std::make_shared<Recorder>(transport);
    Options limits;
    limits.patience = 10s;  // a message that nobody sends ends the call with `peer`
    const auto communicator = *Communicator::create(recorder, limits);
    const std::string wrong = run_sample(communicator, sample, options);
    const std::scoped_lock lock(mutex);
    if (!wrong.empty()) told.bits = wrong;
    told.steps[static_cast<std::size_t>(transport->rank())] = recorder->steps;
  });
  return told;
}

TEST(FewRows, AScatterThatIsAskedForGathers) {
  RowParallelOptions options;
  options.algorithm = Algorithm::scatter;
  int calls = 0;
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (std::int64_t m = 0; m <= 8 * ranks; ++m) {
      if (m >= ranks && m % 8 > 1) continue;  // all M < P, and both sides of every border behind
      const Told told = run_rows(ranks, m, options);
      const auto where = std::to_string(ranks) + " ranks, m " + std::to_string(m);
      EXPECT_EQ(told.bits, "") << where;
      EXPECT_EQ(check_steps(told.steps, true), "") << where;
      const std::size_t expected = m == 0 || ranks == 1           ? 0
                                   : a_rank_has_no_rows(m, ranks) ? 1   // roots to all
                                                                  : 2;  // roots, then rows
      EXPECT_EQ(told.steps[0].size(), expected) << where;
      ++calls;
    }
  }
  EXPECT_GT(calls, 100);
}

/// The control: with rows out there is nothing to gather, so a rank without rows only sends; the
/// check above finds it. And a size that one rank has wrong is found.
TEST(FewRows, TheCheckFindsOneWayMessagesAndWrongSizes) {
  RowParallelOptions options;
  options.output = Placement::rows;
  Told told = run_rows(3, 2, options);
  EXPECT_EQ(told.bits, "");
  EXPECT_EQ(check_steps(told.steps, false), "");
  EXPECT_EQ(check_steps(told.steps, true), "step 0, ranks 0 and 1: messages run one way");
  told.steps[1][0].to[0].front() += 4;
  EXPECT_EQ(check_steps(told.steps, false), "step 0, ranks 1 and 0: sizes differ");
  told.steps[2].clear();
  EXPECT_NE(check_steps(told.steps, false), "");
}

}  // namespace
}  // namespace detgemm::cluster

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <mutex>

#include "tests/cluster/fake_nccl/on_nccl.hpp"
#include "tests/cluster/messages.hpp"
#include "tests/cluster/one_way.hpp"

// few_rows_test.cpp on the stand-in for NCCL, under which a message of a size that nobody expects,
// or that nobody sends, leaves a stream unfinished.

namespace detgemm::cluster {
namespace {

/// A scatter of m rows that is asked for: "" or what is wrong with this rank.
std::string scatter(const Communicator& communicator, const Sample& sample) {
  RowParallelOptions options;
  options.algorithm = Algorithm::scatter;
  const auto plan = *RowParallelPlan::create(communicator, backend(), sample.spec, options);
  const SampleOnDevice arrays(device(), sample, plan.k_range(), {0, sample.m});
  const std::size_t bytes = *plan.workspace_bytes(sample.m);
  const OnDevice room(device(), bytes);
  const OwnStream stream(device());
  const Status ran = plan.run(stream, sample.m, arrays.operands(sample), {room.data(), bytes});
  if (!ran) return ran.message();
  const auto from = std::chrono::steady_clock::now();
  while (!*device().finished(stream)) {
    if (std::chrono::steady_clock::now() - from > 10s) {
      communicator.abort();
      return "the stream did not end";
    }
    std::this_thread::sleep_for(100us);
  }
  return arrays.verdict(sample);
}

TEST(FewRowsNccl, AScatterThatIsAskedForGathers) {
  std::atomic<int> equal = 0;
  int expected = 0;
  for (int ranks = 1; ranks <= 9; ++ranks) {
    expected += ranks * ranks;
    std::vector<std::vector<Step>> steps(static_cast<std::size_t>(ranks));
    on_nccl(ranks, [&](Rank& self) {
      const auto recorder = std::make_shared<Recorder>(self.transport);
      const auto communicator = *Communicator::create(recorder);
      for (std::int64_t m = 0; m < ranks; ++m) {
        const std::string wrong = scatter(communicator, sample_of_rows(m, ranks));
        ASSERT_EQ(wrong, "") << ranks << " ranks, m " << m;
        ++equal;
      }
      steps[static_cast<std::size_t>(self.rank)] = recorder->steps;
    });
    EXPECT_EQ(check_steps(steps, true), "") << ranks << " ranks";
  }
  EXPECT_EQ(equal, expected);
}

/// One-way messages themselves keep NCCL's rules, so the stand-in moves them; and the last kind,
/// in which nobody sends, is found.
TEST(FewRowsNccl, MessagesOneWayAndThenTheOther) {
  for (const int ranks : {2, 3}) {
    for (const OneWay& kind : kOneWay) {
      std::atomic<int> late = 0;
      on_nccl(ranks, [&](Rank& self) {
        const auto communicator = *Communicator::create(self.transport);
        const std::string wrong = run_one_way(communicator, *self.transport, backend(), kind,
                                              kind.nobody_sends ? 100ms : 10'000ms);
        if (kind.nobody_sends && self.rank == ranks - 1) {
          EXPECT_EQ(wrong, "did not end");
          ++late;
        } else {
          EXPECT_EQ(wrong, "") << kind.name << ", rank " << self.rank << " of " << ranks;
        }
      });
      EXPECT_EQ(late, kind.nobody_sends ? 1 : 0) << kind.name;
    }
  }
}

}  // namespace
}  // namespace detgemm::cluster

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cluster/ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace detgemm::bench {
namespace {

using Start = int (*)(int, const RankBody&);

/// What each way of starting ranks says on stderr.
std::pair<int, std::string> started(Start start, int ranks, const RankBody& body) {
  testing::internal::CaptureStderr();
  const int code = start(ranks, body);
  return {code, testing::internal::GetCapturedStderr()};
}

TEST(Ranks, TellEachOther) {
  for (const Start start : {Start{run_as_processes}, Start{run_as_threads}}) {
    for (const int count : {1, 2, 5}) {
      const auto [code, said] = started(start, count, [&](Ranks& ranks) {
        if (ranks.size() != count) return 1;
        for (int i = 0; i < 200; ++i) {
          const double own = ranks.rank() + 10 * i;
          const auto largest = ranks.largest({own, -own});
          if (largest[0] != count - 1 + 10 * i || largest[1] != -10 * i) return 2;
          const auto all = ranks.gather(static_cast<std::uint64_t>(ranks.rank() * i));
          for (int r = 0; r < count; ++r) {
            if (all[static_cast<std::size_t>(r)] != static_cast<std::uint64_t>(r * i)) return 3;
          }
        }
        std::array<std::byte, 128> bytes{};
        bytes[127] = std::byte(ranks.rank() == 0 ? 42 : 7);
        if (ranks.from_first(bytes)[127] != std::byte{42}) return 4;
        return ranks.all(true) && !ranks.all(ranks.rank() != 0) ? 0 : 5;
      });
      EXPECT_EQ(code, 0) << said;
    }
  }
}

TEST(Ranks, AFailureEndsAllInOneSentence) {
  for (const Start start : {Start{run_as_processes}, Start{run_as_threads}}) {
    const auto [code, said] = started(start, 3, [](Ranks& ranks) {
      if (ranks.rank() == 1) throw std::runtime_error("it is broken");
      ranks.meet();
      return 0;
    });
    EXPECT_EQ(code, 1);
    EXPECT_EQ(said, "rank 1 of 3: it is broken\n");
    EXPECT_EQ(started(start, 2, [](Ranks& ranks) { return 6 * ranks.rank(); }).second,
              "rank 1 of 2 failed with code 6\n");
  }
}

TEST(Ranks, AKilledProcessIsNamed) {
  const auto [code, said] = started(run_as_processes, 3, [](Ranks& ranks) {
    if (ranks.rank() == 2) raise(SIGKILL);
    ranks.meet();
    return 0;
  });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(said, "rank 2 was ended by signal 9\n");
}

TEST(Ranks, AsManyAsThereIsRoomFor) {
  EXPECT_THROW(run_as_threads(0, {}), std::invalid_argument);
  EXPECT_THROW(run_as_processes(17, {}), std::invalid_argument);
}

TEST(Ranks, AQuestionInAnotherProcess) {
  EXPECT_EQ(ask_in_a_process([] { return 37; }), 37);
  EXPECT_EQ(ask_in_a_process([] { return raise(SIGKILL); }), 0);
}

}  // namespace
}  // namespace detgemm::bench

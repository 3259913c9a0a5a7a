// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "tests/cluster/windows.hpp"

// Whoever does not come to a step of peers, or comes with another call: the others are told within
// their patience, have canonical NaN in all of D, and are told the same ever after.

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;
constexpr std::int64_t kN = 4, kK = 128;

GemmSpec spec() {
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->fp32");
  spec.n = kN;
  spec.k = kK;
  return spec;
}

RowParallelOptions by(Algorithm algorithm, Placement output = Placement::replicated) {
  RowParallelOptions options;
  options.algorithm = algorithm;
  options.output = output;
  return options;
}

struct Told {
  Status status;
  std::size_t elements = 0, nan = 0, untouched = 0;
};

/// A product of ones on this rank, with what became of D.
Told call(const RowParallelPlan& plan, std::int64_t m) {
  const std::int64_t depth = plan.k_range().end - plan.k_range().begin;
  const std::vector<std::uint16_t> ones(100000, 0x3f80);
  std::vector<float> d(static_cast<std::size_t>(m * kN), -7.0F);
  const Scratch scratch(*plan.workspace_bytes(m));
  const void* data = ones.data();
  Told told;
  told.status =
      plan.run({}, m,
               {row_major(data, m, depth, DType::bf16), row_major(data, depth, kN, DType::bf16),
                row_major(d.data(), m, kN, DType::fp32)},
               scratch);
  told.elements = d.size();
  for (const float x : d) {
    told.nan += std::bit_cast<std::uint32_t>(x) == 0x7fffffffU ? 1U : 0U;
    told.untouched += x == -7.0F ? 1U : 0U;
  }
  return told;
}

Options limited(std::chrono::milliseconds patience) {
  Options options;
  options.patience = patience;
  options.window_bytes = 1U << 20;
  return options;
}

/// D is NaN, the sentence is the expected one, and it stays.
void expect_nan(const Communicator& communicator, const RowParallelPlan& plan, const Told& told,
                const std::string& sentence) {
  EXPECT_EQ(told.status.code(), Errc::peer);
  EXPECT_EQ(told.status.message(), sentence);
  EXPECT_EQ(told.nan, told.elements) << "a plausible number is left";
  EXPECT_GT(told.elements, 0U);
  EXPECT_EQ(communicator.health().message(), sentence);
  const Told again = call(plan, 4);
  EXPECT_EQ(again.status.message(), sentence);
  EXPECT_EQ(again.untouched, again.elements) << "a broken job refuses before it writes";
}

TEST(PeersFaults, ARankThatNeverComes) {
  for (const Algorithm algorithm : kPeerAlgorithms) {
    on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport, limited(200ms));
      const auto plan =
          *RowParallelPlan::create(communicator, skeleton_backend(), spec(), by(algorithm));
      if (transport->rank() == 2) return;
      const auto begin = std::chrono::steady_clock::now();
      const Told told = call(plan, 30);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
      expect_nan(communicator, plan, told,
                 "rank 2 of 3 timed out in an exchange of peers after 200 ms");
    });
  }
}

/// Comes to the first step of a call and never to the second, as if it had died between them.
class Dying final : public AroundWindow {
 public:
  using AroundWindow::AroundWindow;
  Status meet(const PeerStep& step, std::chrono::milliseconds patience,
              const std::function<Status()>& health) override {
    if (step.phase == 1) return {Errc::peer, "gone"};
    return AroundWindow::meet(step, patience, health);
  }
};

TEST(PeersFaults, ARankThatIsGoneInTheMiddleOfACall) {
  for (const Algorithm algorithm : kPeerAlgorithms) {
    on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport, limited(200ms));
      const auto plan =
          *RowParallelPlan::create(communicator, skeleton_backend(), spec(), by(algorithm));
      if (transport->rank() == 1) {
        replace_window(communicator, [](std::shared_ptr<Window> window, int) {
          return std::make_shared<Dying>(std::move(window));
        });
        EXPECT_EQ(call(plan, 30).status.message(), "gone");
        return;
      }
      expect_nan(communicator, plan, call(plan, 30),
                 "rank 1 of 3 timed out in an exchange of peers after 200 ms");
    });
  }
}

TEST(PeersFaults, DifferentRowsAndPlansInAnotherOrder) {
  const std::string sentence =
      "ranks 0 and 1 are in one exchange of peers with different m or different plans";
  for (const Algorithm algorithm : kPeerAlgorithms) {
    for (const bool other_plan : {false, true}) {
      on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator = *Communicator::create(transport, limited(20s));
        const auto first =
            *RowParallelPlan::create(communicator, skeleton_backend(), spec(), by(algorithm));
        const auto second =
            *RowParallelPlan::create(communicator, skeleton_backend(), spec(), by(algorithm));
        const bool odd = transport->rank() == 1;
        const auto& plan = odd && other_plan ? second : first;
        expect_nan(communicator, plan, call(plan, odd && !other_plan ? 29 : 30), sentence);
      });
    }
  }
}

TEST(PeersFaults, AnAbortLetsGoOfEverybody) {
  on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, limited(0ms));  // for ever
    const auto plan =
        *RowParallelPlan::create(communicator, skeleton_backend(), spec(), by(Algorithm::two_shot));
    if (transport->rank() == 2) {
      std::this_thread::sleep_for(50ms);
      communicator.abort();
      return;
    }
    expect_nan(communicator, plan, call(plan, 30), "rank 2 aborted");
  });
}

/// Windows that cannot be had are no reason to refuse what needs none.
TEST(PeersFaults, WindowsThatAreNotThere) {
  std::set<std::string> said;
  std::mutex mutex;
  on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 62}) {
      Options options;
      options.window_bytes = bytes;
      const auto communicator = *Communicator::create(transport, options);
      const auto plan = RowParallelPlan::create(communicator, skeleton_backend(), spec(),
                                                by(Algorithm::two_shot));
      EXPECT_EQ(plan.status().code(), Errc::unsupported);
      EXPECT_TRUE(communicator.health());
      EXPECT_EQ(run_sample(communicator, Sample("ieee_fma/bf16/tree:16->fp32", 9), {}), "");
      const std::scoped_lock lock(mutex);
      said.insert(plan.status().message());
    }
  });
  ASSERT_EQ(said.size(), 2U) << "the same on both ranks";
  EXPECT_EQ(said.count("rank 0 refuses: algorithm is two_shot: these ranks have no windows: "
                       "window_bytes is 0"),
            1U);
  EXPECT_NE(said.begin()->find("making shared memory of"), std::string::npos) << *said.begin();
}

TEST(PeersFaults, Refusals) {
  on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
    Options options;
    options.window_bytes = 1024;
    const auto communicator = *Communicator::create(transport, options);
    const auto says = [&](const GemmSpec& whole, const RowParallelOptions& choices) {
      return RowParallelPlan::create(communicator, skeleton_backend(), whole, choices)
          .status()
          .message();
    };
    GemmSpec wide = spec();
    wide.n = 1000;
    EXPECT_EQ(says(wide, by(Algorithm::one_shot)),
              "rank 0 refuses: window_bytes leaves 1024 bytes: one row of n = 1000 takes 6912 with "
              "one_shot");
    EXPECT_EQ(says(spec(), by(Algorithm::one_shot, Placement::rows)),
              "rank 0 refuses: algorithm is one_shot: with output rows it must be automatic, "
              "scatter, two_shot or push");
    EXPECT_EQ(says(spec(), by(static_cast<Algorithm>(6))),
              "rank 0 refuses: algorithm is unknown (6): it must be automatic (0), gather (1), "
              "scatter (2), one_shot (3), two_shot (4) or push (5)");
    // The size that the sentence asks for is enough.
    options.window_bytes = 6912;
    const auto larger = *Communicator::create(transport, options);
    EXPECT_TRUE(RowParallelPlan::create(larger, skeleton_backend(), wide, by(Algorithm::one_shot)));
  });
  std::set<std::string> said;
  std::mutex mutex;
  on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
    Options options;
    options.window_bytes = transport->rank() == 0 ? 0 : 4096;
    const auto made = Communicator::create(transport, options);
    const std::scoped_lock lock(mutex);
    said.insert(made.status().message());
  });
  EXPECT_EQ(said,
            std::set<std::string>{"ranks disagree: rank 1 has window_bytes 4096 and rank 0 has "
                                  "window_bytes 0: it must be the same on all"});
}

}  // namespace
}  // namespace detgemm::cluster

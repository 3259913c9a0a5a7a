// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/cuda/peers/jobs.hpp"

// Whoever does not come to a step, or comes with another call: the kernels of all others end within
// the patience, leave canonical NaN, and the communicator says why from then on.

namespace detgemm::test {
namespace {

using namespace cluster;
using namespace std::chrono_literals;

struct Told {
  Status run;
  std::size_t outputs = 0, nan = 0;
};

/// One call, and what it leaves in D.
Told call(const RowParallelPlan& plan, const Sample& sample, std::int64_t m, Placement output,
          int rank, int ranks) {
  Device& device = fake::device();
  const Range rows = output == Placement::rows ? rows_of(m, rank, ranks) : Range{0, m};
  const OwnStream stream(device);
  const SampleOnDevice arrays(device, sample, plan.k_range(), rows);
  const std::size_t bytes = *plan.workspace_bytes(m);
  const OnDevice scratch(device, bytes);
  Operands operands = arrays.operands(sample);
  operands.a.rows = m;
  Told told;
  told.run = plan.run(stream, m, operands, {scratch.data(), bytes});
  static_cast<void>(device.synchronize(stream));
  const auto d = arrays.d.read();
  for (std::size_t i = 4; i + 4 < d.size(); i += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &d[i], sizeof bits);
    ++told.outputs;
    told.nan += bits == 0x7fffffffU ? 1U : 0U;
  }
  return told;
}

struct Way {
  Algorithm algorithm;
  Placement output;
};
constexpr Way kWays[] = {{Algorithm::one_shot, Placement::replicated},
                         {Algorithm::two_shot, Placement::replicated},
                         {Algorithm::two_shot, Placement::rows},
                         {Algorithm::push, Placement::replicated},
                         {Algorithm::push, Placement::rows}};

class OneRank {
 public:
  OneRank(const std::shared_ptr<Transport>& transport, const Way& way,
          std::chrono::milliseconds patience)
      : way_(way),
        ranks_(*Communicator::create(transport, with_windows(std::size_t{1} << 20, patience))),
        plan_(make()) {}
  const Communicator& communicator() const { return ranks_; }
  Told call(std::int64_t m) const { return call(plan_, m); }
  Told call(const RowParallelPlan& plan, std::int64_t m) const {
    return test::call(plan, sample_, m, way_.output, ranks_.rank(), ranks_.size());
  }
  RowParallelPlan make() const { return make(way_); }
  RowParallelPlan make(const Way& way) const {
    RowParallelOptions options;
    options.algorithm = way.algorithm;
    options.output = way.output;
    return *RowParallelPlan::create(ranks_, peer_backend(), sample_.spec, options);
  }

  /// The call has ended in NaN with the sentence, which stays; the next one writes nothing.
  void expect_nan(const Told& told, const std::string& sentence) const {
    EXPECT_EQ(told.run.message(), "") << "it was put on the stream";
    EXPECT_EQ(told.nan, told.outputs) << "a plausible number is left";
    EXPECT_GT(told.outputs, 0U);
    EXPECT_EQ(ranks_.health().code(), Errc::peer);
    EXPECT_EQ(ranks_.health().message(), sentence);
    const Told again = call(30);
    EXPECT_EQ(again.run.message(), sentence);
    EXPECT_EQ(again.nan, 0U) << "a broken job refuses before it writes";
  }

 private:
  Way way_;
  Sample sample_{kContract, 5, 40};
  Communicator ranks_;
  RowParallelPlan plan_;
};

TEST(CudaPeerFaults, ARankThatNeverComes) {
  for (const Way& way : kWays) {
    on_devices(3, [&](const std::shared_ptr<Transport>& transport) {
      const OneRank one(transport, way, 300ms);
      if (transport->rank() == 2) return;
      const auto begun = std::chrono::steady_clock::now();
      const Told told = one.call(30);
      EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
      one.expect_nan(told, "rank 2 of 3 timed out in an exchange of peers after 300 ms");
    });
  }
}

/// Good calls before it, so that old signals and old roots are in the windows.
TEST(CudaPeerFaults, ARankThatComesNoMore) {
  for (const Way& way : kWays) {
    on_devices(3, [&](const std::shared_ptr<Transport>& transport) {
      const OneRank one(transport, way, 1000ms);
      for (int i = 0; i < 3; ++i) {
        const Told told = one.call(30);
        EXPECT_EQ(told.nan, 0U) << told.run.message() << one.communicator().health().message();
      }
      if (transport->rank() == 0) return;
      one.expect_nan(one.call(30), "rank 0 of 3 timed out in an exchange of peers after 1000 ms");
    });
  }
}

TEST(CudaPeerFaults, ARankThatIsGoneBetweenTwoSteps) {
  for (const Way& way : kWays) {
    if (way.algorithm == Algorithm::one_shot) continue;  // it has one step
    fake_cuda().fault = PeerFault::gone_between;
    on_devices(3, [&](const std::shared_ptr<Transport>& transport) {
      const OneRank one(transport, way, 300ms);
      if (transport->rank() == 0) {
        EXPECT_EQ(one.call(30).run.message(), "");
        return;
      }
      one.expect_nan(one.call(30), "rank 0 of 3 timed out in an exchange of peers after 300 ms");
    });
    fake_cuda().fault = PeerFault::none;
  }
}

TEST(CudaPeerFaults, AnotherMAndAnotherPlan) {
  for (const Way& way : kWays) {
    for (const bool other_plan : {false, true}) {
      on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
        const OneRank one(transport, way, 20s);
        const RowParallelPlan second = one.make();
        const bool odd = transport->rank() == 1;
        const Told told =
            other_plan ? (odd ? one.call(second, 30) : one.call(30)) : one.call(odd ? 29 : 30);
        one.expect_nan(
            told, "ranks 0 and 1 are in one exchange of peers with different m or different plans");
      });
    }
  }
}

/// Some wait for mail and others for signals.
TEST(CudaPeerFaults, AnotherAlgorithm) {
  for (const Way& other : {kWays[1], kWays[3]}) {
    on_devices(3, [&](const std::shared_ptr<Transport>& transport) {
      const OneRank one(transport, kWays[0], 20s);
      const RowParallelPlan second = one.make(other);
      const auto begun = std::chrono::steady_clock::now();
      const Told told = transport->rank() == 1 ? one.call(second, 30) : one.call(30);
      EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s) << "not the patience";
      EXPECT_EQ(told.nan, told.outputs);
      EXPECT_NE(one.communicator().health().message().find("different m or different plans"),
                std::string::npos);
    });
  }
}

TEST(CudaPeerFaults, AnAbortLetsGoOfEverybody) {
  for (const Way& way : kWays) {
    on_devices(3, [&](const std::shared_ptr<Transport>& transport) {
      const OneRank one(transport, way, 20s);
      if (transport->rank() == 2) {
        std::this_thread::sleep_for(50ms);
        one.communicator().abort();
        return;
      }
      const auto begun = std::chrono::steady_clock::now();
      const Told told = one.call(30);
      EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s) << "not the patience";
      EXPECT_EQ(told.nan, told.outputs);
      EXPECT_EQ(one.communicator().health().code(), Errc::peer);
      EXPECT_EQ(one.call(30).nan, 0U) << "a broken job refuses before it writes";
    });
  }
}

/// A launch that fails is that rank's own status; the others find it late.
TEST(CudaPeerFaults, ALaunchThatFails) {
  on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
    const OneRank one(transport, kWays[0], 500ms);
    if (transport->rank() == 1) {
      one.expect_nan(one.call(30), "rank 0 of 2 timed out in an exchange of peers after 500 ms");
      return;
    }
    fake_cuda().launch_error = cudaErrorLaunchFailure;
    fake_cuda().launch_error_of = 0;
    const Told told = one.call(30);
    EXPECT_EQ(told.run.message(),
              "cuda: launching peers/one_shot/single failed: a planted error (cudaErrorPlanted)");
    EXPECT_EQ(told.nan, 0U);
  });
}

}  // namespace
}  // namespace detgemm::test

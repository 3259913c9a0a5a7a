// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <barrier>

#include "tests/cluster/fake_nccl/on_nccl.hpp"

// What goes wrong under NCCL ends in a sentence, and nothing waits longer than it was told to.

namespace detgemm::cluster {
namespace {

/// Until no work of the stand-in is left on any stream.
void wait_for_streams() {
  while (library().steering->open_calls() != 0) std::this_thread::sleep_for(1ms);
}

TEST(NcclFaults, ARankThatNeverComes) {
  for (const bool blocking : {true, false}) {
    const auto prepare = [&](int, void* comm) {
      if (!blocking) library().steering->be_nonblocking(comm);
    };
    const auto body = [](Rank& self) {
      if (self.rank == 2) return;
      Options options;
      options.patience = 150ms;
      const auto begin = std::chrono::steady_clock::now();
      const auto communicator = Communicator::create(self.transport, options);
      EXPECT_EQ(communicator.status().code(), Errc::peer);
      EXPECT_EQ(communicator.status().message(), "a rank of 3 timed out after 150 ms");
      EXPECT_GE(std::chrono::steady_clock::now() - begin, 150ms);
      EXPECT_EQ(self.transport->health().message(), "a rank of 3 timed out after 150 ms");
      EXPECT_FALSE(library().steering->was_aborted(self.comm)) << "it is the program's own";
      self.transport->abort();
      EXPECT_TRUE(library().steering->was_aborted(self.comm));
      self.transport->abort();  // once more is nothing
    };
    on_nccl(3, body, prepare);
  }
}

TEST(NcclFaults, ARankThatNeverComesToACall) {
  const Sample sample = large_sample();
  std::barrier<> both(2);
  on_nccl(2, [&](Rank& self) {
    const auto communicator = *Communicator::create(self.transport);
    const Call call(communicator, sample);
    if (self.rank == 0) {
      ASSERT_TRUE(call.run());
      std::this_thread::sleep_for(20ms);
      EXPECT_FALSE(*device().finished(call.stream));
      EXPECT_TRUE(communicator.health()) << "nothing is known to be wrong";
      communicator.abort();
      EXPECT_TRUE(device().synchronize(call.stream)) << "the stream is let go of";
      EXPECT_EQ(communicator.health().message(), "rank 0 aborted");
      EXPECT_EQ(call.run().message(), "rank 0 aborted");
    }
    both.arrive_and_wait();
  });
  wait_for_streams();
}

TEST(NcclFaults, AnAsynchronousErrorStays) {
  const Sample sample = large_sample();
  std::barrier<> both(2);
  on_nccl(2, [&](Rank& self) {
    const auto communicator = *Communicator::create(self.transport);
    const Call call(communicator, sample);
    both.arrive_and_wait();
    if (self.rank == 0) {
      library().steering->fail(self.comm, 6);
      const std::string said =
          "NCCL 2.28.9: asynchronous error: remote process exited or there was a network error";
      EXPECT_EQ(communicator.health().code(), Errc::peer);
      EXPECT_EQ(communicator.health().message(), said);
      library().steering->fail(self.comm, 0);
      EXPECT_EQ(communicator.health().message(), said);
      EXPECT_EQ(self.transport->health().message(), said) << "the transport itself remembers";
      EXPECT_EQ(self.transport->exchange(call.stream, {}, {}, 1s).message(), said);
      EXPECT_EQ(call.run().message(), said);
      EXPECT_EQ(call.arrays.verdict(sample), "other bits") << "nothing ran";
    }
    both.arrive_and_wait();
  });
}

TEST(NcclFaults, AnErrorWhileWaitingForOthers) {
  on_nccl(2, [&](Rank& self) {
    if (self.rank == 1) return;
    Options options;
    options.patience = 0ms;  // for ever
    std::thread fails([&] {
      std::this_thread::sleep_for(50ms);
      library().steering->fail(self.comm, 6);
    });
    const auto communicator = Communicator::create(self.transport, options);
    EXPECT_NE(communicator.status().message().find("remote process exited"), std::string::npos)
        << communicator.status().message();
    fails.join();
    self.transport->abort();
  });
}

TEST(NcclFaults, AnAbortLetsGoOfWhoWaitsForEver) {
  on_nccl(2, [&](Rank& self) {
    if (self.rank == 1) return;
    Options options;
    options.patience = 0ms;
    std::thread aborts([&] {
      std::this_thread::sleep_for(50ms);
      self.transport->abort();
    });
    const auto communicator = Communicator::create(self.transport, options);
    EXPECT_EQ(communicator.status().message(), "rank 0 aborted");
    aborts.join();
  });
}

TEST(NcclFaults, DifferentRowsWithoutAndWithACheck) {
  const Sample sample = large_sample();
  std::barrier<> both(2);
  on_nccl(2, [&](Rank& self) {
    const auto communicator = *Communicator::create(self.transport);
    const Call call(communicator, sample);
    const std::int64_t m = sample.m - self.rank;
    Operands operands = call.arrays.operands(sample);
    for (auto* rows : {&operands.a.rows, &operands.c.rows, &operands.d.rows}) *rows = m;
    ASSERT_TRUE(call.plan.run(call.stream, m, operands, {call.scratch.data(), call.bytes}));
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(*device().finished(call.stream)) << "sizes that do not fit never match";
    both.arrive_and_wait();
    communicator.abort();
    ASSERT_TRUE(device().synchronize(call.stream));
  });
  on_nccl(2, [&](Rank& self) {
    Options options;
    options.check_calls = true;
    const auto communicator = *Communicator::create(self.transport, options);
    const Call call(communicator, sample);
    const std::int64_t m = sample.m - self.rank;
    Operands operands = call.arrays.operands(sample);
    for (auto* rows : {&operands.a.rows, &operands.c.rows, &operands.d.rows}) *rows = m;
    EXPECT_EQ(call.plan.run(call.stream, m, operands, {call.scratch.data(), call.bytes}).message(),
              "ranks disagree: rank 1 has m " + std::to_string(sample.m - 1) +
                  " and rank 0 has m " + std::to_string(sample.m) + ": it must be the same on all");
  });
}

/// A graph of one rank is a call of the others, replay by replay: nothing sees it, and nothing is
/// wrong until the numbers of calls differ, which leaves streams unfinished.
TEST(NcclFaults, AGraphOnOneRankAlone) {
  const Sample sample = large_sample();
  std::barrier<> both(2);
  on_nccl(2, [&](Rank& self) {
    const auto communicator = *Communicator::create(self.transport);
    const Call call(communicator, sample);
    const auto enqueue = [&](Stream on) {
      return call.plan.run(on, sample.m, call.arrays.operands(sample),
                           {call.scratch.data(), call.bytes});
    };
    if (self.rank == 0) {
      ASSERT_TRUE(device().replay(call.stream, enqueue, 2));
    } else {
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(enqueue(call.stream));
    }
    both.arrive_and_wait();
    EXPECT_EQ(call.arrays.verdict(sample), "");
    if (self.rank == 1) {
      EXPECT_FALSE(*device().finished(call.stream)) << "its third call has no other rank";
    }
    communicator.abort();
    ASSERT_TRUE(device().synchronize(call.stream));
  });
  wait_for_streams();
}

TEST(NcclFaults, AnotherCommunicatorAfterAnAbort) {
  const Sample sample = large_sample();
  for (int round = 0; round < 2; ++round) {
    std::barrier<> both(2);
    on_nccl(2, [&](Rank& self) {
      const auto communicator = *Communicator::create(self.transport);
      EXPECT_EQ(run_on_device(communicator, backend(), sample, {}, 0), "");
      both.arrive_and_wait();
      communicator.abort();
      EXPECT_NE(run_on_device(communicator, backend(), sample, {}, 0), "") << "of no use any more";
    });
  }
}

TEST(NcclFaults, Refusals) {
  const auto says = [](void* comm, DeviceKind kind, const NcclFunctions* functions = nullptr) {
    return nccl(comm, kind, functions).status().message();
  };
  int something = 0;
  EXPECT_EQ(says(nullptr, DeviceKind::cuda), "comm is null: it must be an ncclComm_t");
  EXPECT_EQ(says(&something, DeviceKind::host),
            "kind is host: it must be cuda (NCCL) or hip (RCCL); threads and MPI move the host's "
            "memory");
  on_nccl(1, [&](Rank& self) {
    auto found = *find_nccl(DeviceKind::cuda, nullptr);
    EXPECT_EQ(make_nccl(found, &something, device()).status().message(),
              "comm is not a communicator: NCCL 2.28.9: its size and rank cannot be read: invalid "
              "argument");
    device().ordinal = 1;
    EXPECT_EQ(make_nccl(found, self.comm, device()).status().message(),
              "comm is of device 0 and the calling thread's current device is 1: make the "
              "communicator's device the current one first");
    device().ordinal = 0;
    EXPECT_TRUE(find_nccl(DeviceKind::cuda, &found.call));
    found.call.Recv = nullptr;
    EXPECT_EQ(says(self.comm, DeviceKind::cuda, &found.call),
              "functions.Recv is null: every function but GetLastError is needed");
    const OwnStream stream(device());
    EXPECT_EQ(self.transport->exchange({}, {}, {}, 1s).message(),
              "stream.kind is host: NCCL 2.28.9 moves memory of the kind cuda");
    EXPECT_TRUE(self.transport->health());
    // What NCCL itself refuses breaks the transport, since the others may have sent already.
    const Send beyond{5, &something, sizeof something};
    EXPECT_EQ(self.transport->exchange(stream, {&beyond, 1}, {}, 1s).message(),
              "NCCL 2.28.9: sends and receives: invalid argument");
    EXPECT_EQ(self.transport->health().code(), Errc::peer);
  });
}

}  // namespace
}  // namespace detgemm::cluster

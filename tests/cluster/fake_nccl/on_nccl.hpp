// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include "cluster/nccl/library.hpp"
#include "tests/cluster/fake_nccl/communicators.hpp"
#include "tests/cluster/fake_nccl/device.hpp"
#include "tests/cluster/on_device.hpp"

// Ranks over the stand-in for NCCL, and a call of theirs that can be looked at in the middle.

namespace detgemm::cluster {

using namespace std::chrono_literals;
using fake::backend;
using fake::device;

inline const fake::Library& library() {
  static const fake::Library one(FAKE_NCCL);
  return one;
}

/// Ranks as threads, each with a communicator of NCCL's and what detgemm makes of it.
struct Rank {
  int rank = 0;
  void* comm = nullptr;
  std::shared_ptr<Transport> transport;
};

inline void on_nccl(int ranks, const std::function<void(Rank&)>& body,
                    const std::function<void(int, void*)>& prepare = {}) {
  const auto id = library().id();
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      Rank self{r, library().comm(id, ranks, r), nullptr};
      if (prepare) prepare(r, self.comm);
      const auto found = find_nccl(DeviceKind::cuda, nullptr);
      ASSERT_TRUE(found) << found.status().message();
      const auto made = make_nccl(*found, self.comm, device());
      ASSERT_TRUE(made) << made.status().message();
      self.transport = *made;
      body(self);
      self.transport.reset();
      if (!library().steering->was_aborted(self.comm)) library().destroy(self.comm);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// What a product of ranks needs, for tests that look at a single call.
struct Call {
  Call(const Communicator& communicator, const Sample& one)
      : sample(one),
        plan(*RowParallelPlan::create(communicator, backend(), sample.spec)),
        arrays(device(), sample, plan.k_range(), {0, sample.m}),
        bytes(*plan.workspace_bytes(sample.m)),
        scratch(device(), bytes),
        stream(device()) {}
  Status run() const {
    return plan.run(stream, sample.m, arrays.operands(sample), {scratch.data(), bytes});
  }

  const Sample& sample;
  RowParallelPlan plan;
  SampleOnDevice arrays;
  std::size_t bytes;
  OnDevice scratch;
  OwnStream stream;  // the last one: when it ends, its work has ended
};

inline Sample large_sample() {
  std::uint64_t seed = 0;
  for (;; ++seed) {
    Sample sample("ieee_fma/bf16/tree:16->fp32", seed);
    if (sample.m > 30 && sample.spec.k > 300) return sample;
  }
}

}  // namespace detgemm::cluster

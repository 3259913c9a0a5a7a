// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>

#include "detgemm/nccl.hpp"
#include "tests/cluster/fake_nccl/communicators.hpp"
#include "tests/cluster/on_device.hpp"

// Ranks of the HIP backend over a stand-in for RCCL, on an emulated chip: not run on AMD hardware.
// The stand-in copies by the runtime, which refuses what is not the device's memory.

namespace detgemm::cluster {
namespace {

TEST(Rccl, BitsOfOneRankOnAnEmulatedChip) {
  const fake::Library library(FAKE_RCCL_LIBRARY);
  const Backend& hip = **find_backend("hip");
  ASSERT_TRUE(hip.available()) << hip.available().message();
  std::atomic<int> equal = 0;
  for (const int ranks : {1, 2, 3}) {
    const auto id = library.id();
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        void* const comm = library.comm(id, ranks, r);
        {
          const auto transport = nccl(comm, DeviceKind::hip);
          ASSERT_TRUE(transport) << transport.status().message();
          EXPECT_EQ((*transport)->description(), "RCCL 2.22.3");
          const auto communicator = *Communicator::create(*transport);
          for (std::uint64_t seed = 0; seed < 6; ++seed) {
            const Sample sample("cdna3/bf16/tree:32->fp32", seed);
            RowParallelOptions options;
            options.output = seed % 2 == 0 ? Placement::rows : Placement::replicated;
            ASSERT_EQ(run_on_device(communicator, hip, sample, options, 0), "") << "seed " << seed;
            ++equal;
          }
        }
        library.destroy(comm);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(equal, 6 * (1 + 2 + 3));
}

}  // namespace
}  // namespace detgemm::cluster

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "backends/cuda/peer_memory.hpp"
#include "backends/cuda/reached.hpp"
#include "backends/cuda/runtime.hpp"
#include "backends/gpu/address_rules.hpp"
#include "tests/cuda/peers/jobs.hpp"

// Who reaches whose window: by peer access in one process, by CUDA IPC between processes; and what
// becomes of ranks that do not.

namespace detgemm::test {
namespace {

using namespace cluster;
using cuda::CudaCard;
using cuda::CudaPeerMemory;
using cuda::Reached;

CudaCard card_on(int device) {
  cudaSetDevice(device);
  return (*CudaPeerMemory::make(4096))->facts();
}
std::string refusal(const CudaCard& other) {
  return Reached::open(card_on(0), other, 1).status().message();
}
const std::string kNotReached = "cuda: the window of rank 1 is not reached from device 0: ";

TEST(CudaPeerCards, Refusals) {
  const CudaCard good = card_on(1);
  EXPECT_EQ(refusal(good), "");
  CudaCard other = good;
  other.host[0] = '?';
  EXPECT_EQ(refusal(other), kNotReached + "it is on another host");
  other = good;
  other.bytes += 256;
  EXPECT_EQ(refusal(other), kNotReached + "it has another size");
  fake_cuda().peer_access = false;
  EXPECT_EQ(refusal(good), kNotReached + "there is no peer access to device 1");
  EXPECT_EQ(refusal(card_on(0)), "") << "the same device";
  fake_cuda().peer_access = true;
  other = good;
  ++other.process[0];
  EXPECT_EQ(refusal(other), "");
  fake_cuda().ipc = false;
  EXPECT_EQ(refusal(other), kNotReached +
                                "it is in another process, and CUDA IPC does not open it: "
                                "a planted error (cudaErrorPlanted)");
  other.handle = {};
  EXPECT_EQ(refusal(other),
            kNotReached + "it is in another process, and CUDA IPC gave no handle for it");
  EXPECT_EQ(card_on(0).handle.reserved[0], 0) << "no handle is no failure of its own";
  fake_cuda().ipc = true;
  EXPECT_EQ(fake_cuda().allocated, 0);
  EXPECT_EQ(fake_cuda().opened, 0) << "a handle stayed open";
}

/// Two ranks that take each other for another process: mapped by IPC, and unmapped in the end.
TEST(CudaPeerCards, WindowsOfOtherProcesses) {
  const PeerEngine& engine = *peer_backend().peers();
  std::vector<std::unique_ptr<PeerMemory>> memory;
  std::vector<std::shared_ptr<PeerWindow>> windows;
  std::vector<PeerCard> cards;
  for (int r = 0; r < 2; ++r) {
    cudaSetDevice(r);
    auto made = engine.allocate(1 << 16);
    ASSERT_TRUE(made) << made.status().message();
    memory.push_back(std::move(made).value());
    cards.push_back(memory.back()->card());
  }
  for (std::size_t r = 0; r < 2; ++r) {
    std::vector<PeerCard> seen = cards;
    CudaCard other;
    std::memcpy(&other, seen[1 - r].bytes.data(), sizeof other);
    ++other.process[0];
    std::memcpy(seen[1 - r].bytes.data(), &other, sizeof other);
    auto opened =
        engine.open(std::move(memory[r]), static_cast<int>(r), seen, std::chrono::seconds(1));
    ASSERT_TRUE(opened) << opened.status().message();
    windows.push_back(*opened);
  }
  EXPECT_EQ(fake_cuda().opened, 2);
  EXPECT_EQ(windows[0]->bytes(), std::size_t{1} << 16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(windows[0]->data()) % 256, 0U);
  EXPECT_TRUE(windows[0]->mark_all());
  EXPECT_EQ(windows[1]->find_marks().message(),
            "cuda: a write of rank 1 did not reach the window of rank 1");
  EXPECT_TRUE(windows[1]->mark_all());
  EXPECT_TRUE(windows[0]->find_marks());
  EXPECT_TRUE(windows[1]->find_marks());
  std::thread first([&] { windows[0].reset(); });  // each waits for the other
  windows[1].reset();
  first.join();
  EXPECT_EQ(fake_cuda().opened, 0);
  EXPECT_EQ(fake_cuda().allocated, 0);
}

TEST(CudaPeerCards, ARankThatDoesNotSayFarewellKeepsTheMemory) {
  std::shared_ptr<PeerWindow> stays;
  {
    std::vector<Communicator> communicators;
    std::mutex mutex;
    on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport, with_windows(1 << 16));
      const std::scoped_lock lock(mutex);
      if (transport->rank() == 1) stays = communicator.state().device_window;
    });
  }
  EXPECT_EQ(fake_cuda().allocated, 2) << "the other rank's kernels may still write to both";
  stays.reset();
  EXPECT_EQ(fake_cuda().allocated, 1) << "rank 0 has left, so rank 1's memory is free";
  fake_cuda().allocated = 0;
}

/// What all ranks of a job say of their windows, while plans that need none are made.
std::string no_windows(const Options& options) {
  std::set<std::string> said;
  std::mutex mutex;
  on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, options);
    EXPECT_FALSE(communicator.has_windows());
    const Sample sample(kContract, 9);
    EXPECT_TRUE(RowParallelPlan::create(communicator, peer_backend(), sample.spec)) << "messages";
    EXPECT_TRUE(communicator.health());
    RowParallelOptions choices;
    choices.algorithm = Algorithm::two_shot;
    const auto refused =
        RowParallelPlan::create(communicator, peer_backend(), sample.spec, choices);
    EXPECT_EQ(refused.status().code(), Errc::unsupported);
    EXPECT_NE(refused.status().message().find(communicator.state().no_window), std::string::npos);
    const std::scoped_lock lock(mutex);
    said.insert(communicator.state().no_window);
  });
  EXPECT_EQ(said.size(), 1U) << "the same on both ranks";
  EXPECT_EQ(fake_cuda().opened, 0);
  fake_cuda().allocated = 0;  // what others may have opened is kept
  return *said.begin();
}

TEST(CudaPeerCards, RanksThatGetNoWindows) {
  const Options options = with_windows(1 << 16);
  fake_cuda().peer_access = false;
  EXPECT_EQ(no_windows(options),
            "rank 0 refuses: cuda: the window of rank 1 is not reached from device 0: there is no "
            "peer access to device 1");
  fake_cuda().peer_access = true;
  fake_cuda().out_of_memory = true;
  EXPECT_EQ(no_windows(options).substr(0, 60),
            "rank 0 refuses: cuda: allocating a window of 4194304 bytes f");
  fake_cuda().out_of_memory = false;
  fake_cuda().lost_writes = true;
  EXPECT_EQ(no_windows(options),
            "rank 0 refuses: cuda: a write of rank 0 did not reach the window of rank 0");
  fake_cuda().lost_writes = false;
  EXPECT_EQ(no_windows(with_windows(1 << 16, std::chrono::milliseconds(0))),
            "rank 0 refuses: patience is 0 ms: windows of devices need a limit, above 0");
  Options others = options;
  others.window_backend = &fake::backend();
  EXPECT_EQ(no_windows(others),
            "rank 0 refuses: window_backend is stand-in: it has no windows in memory of its "
            "devices");
}

TEST(CudaPeerCards, PlansThatWindowsDoNotTake) {
  on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(1 << 16));
    const auto says = [&](const GemmSpec& spec, Algorithm algorithm, const Backend& backend) {
      RowParallelOptions options;
      options.algorithm = algorithm;
      return RowParallelPlan::create(communicator, backend, spec, options).status().message();
    };
    GemmSpec spec;
    spec.contract = *Contract::parse(kContract);
    spec.n = 8;
    spec.k = 256;
    EXPECT_EQ(says(spec, Algorithm::two_shot, peer_backend()), "");
    EXPECT_EQ(says(spec, Algorithm::push, peer_backend()), "");
    EXPECT_NE(says(spec, Algorithm::one_shot, skeleton_backend()).find("in memory of the kind"),
              std::string::npos);
    spec.n = 100'000;
    for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
      EXPECT_EQ(says(spec, way, peer_backend()),
                "rank 0 refuses: window_bytes leaves 65536 bytes: not one row of n = 100000 and 2 "
                "nodes has room with " +
                    std::string(name(way)));
    }
    EXPECT_EQ(says(spec, Algorithm::automatic, peer_backend()), "") << "it sends messages";
    // More nodes of the tree than kernels join: 2 * 33 of 33 ranks at most, so here by hand.
    const std::vector<LeafRange> many(65, LeafRange{0, 1});
    EXPECT_EQ(communicator.state().device_window->supports(spec, many).message(),
              "cuda: shares have 65 nodes of the tree: kernels of peers join at most 64");
  });
}

/// A window of another device is no memory of this one, but a D for its plans while it is reached.
TEST(CudaPeerCards, WindowsAreReachedWhileTheyLive) {
  using cuda::ReachedRange;
  alignas(256) static std::byte memory[512];
  const auto says = [&](const void* data, int device) {
    return gpu::check_array<cuda::Cuda>("d", data, device).message();
  };
  const std::string refused = says(memory, 0);
  EXPECT_NE(
      refused.find("memory that CUDA has not allocated: it must be memory of the plan's device 0"),
      std::string::npos)
      << refused;
  {
    ReachedRange first(memory, 256, 0);
    const ReachedRange range(std::move(first));
    const ReachedRange again(memory, 256, 0);  // of another communicator
    EXPECT_EQ(says(memory, 0), "");
    EXPECT_EQ(says(memory + 255, 0), "");
    EXPECT_NE(says(memory + 256, 0), "");
    EXPECT_NE(says(memory, 1), "") << "it is another device that reaches it";
  }
  EXPECT_EQ(says(memory, 0), refused);
}

TEST(CudaPeerCards, NineRanks) {
  std::set<std::string> said;
  std::mutex mutex;
  fake_cuda().devices = 9;
  on_devices(9, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(1 << 16));
    const std::scoped_lock lock(mutex);
    said.insert(communicator.state().no_window);
  });
  fake_cuda().devices = 8;
  EXPECT_EQ(said, std::set<std::string>{"rank 0 refuses: cuda: there are 9 ranks: windows of "
                                        "devices are for at most 8"});
  EXPECT_EQ(fake_cuda().allocated, 0);
}

}  // namespace
}  // namespace detgemm::test

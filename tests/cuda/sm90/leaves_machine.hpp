// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <deque>
#include <map>

#include "core/arithmetic/formats.hpp"

#define DETGEMM_MACHINE_HAS_A_RING
#include "tests/cuda/sm90/epilogue_machine.hpp"

/// Stands in for the headers of cuda/sm90/ptx where the producers and one thread of a consumer
/// group of a leaf kernel run on the host (leaves_machine_test.cpp). A stage holds the number of
/// its k block. wgmma runs as late as it may: when the thread waits for it, so that a register that
/// is read too early still has its old value, and a stage that is handed back too early is empty.
namespace detgemm::test {

/// A step of 16 k, which reads a stage and adds a made-up product to every accumulator.
struct Step {
  float* d;
  int count;
  bool fresh;
  std::uint64_t x, y;  ///< addresses in units of 16 bytes
};

struct Ring {
  std::uint32_t stages = 0, full = 0, empty = 0;
  int count = 0, stage_bytes = 0, x_bytes = 0;  ///< stages, their size, and that of X in them
  struct Load {
    int stage, block;
  };
  std::vector<Load> x, y;         ///< what the producer warps brought, in order
  std::vector<int> held;          ///< per stage: the block, or -1 where it is empty
  std::vector<int> turns, freed;  ///< per stage: how often it was filled and handed back
  std::size_t taken = 0;          ///< loads that the consumer has waited for
  std::vector<Step> open;
  std::deque<std::vector<Step>> pending;
  int faults = 0;
};
inline Ring ring;

/// What 16 k of one output come to.
inline float product(int step, int output) {
  std::uint32_t h = static_cast<std::uint32_t>(step) * 2654435761U +
                    static_cast<std::uint32_t>(output) * 40503U +
                    static_cast<std::uint32_t>(threadIdx.x) * 97U;
  h ^= h >> 15;
  h *= 2246822519U;
  h ^= h >> 13;
  const std::uint32_t exponent = 120 + h % 16;
  return arithmetic::float_of((h & 0x80000000U) | exponent << 23 | (h >> 4 & 0x7fffffU));
}

inline void execute(const Step& s) {
  const auto at = static_cast<std::uint32_t>(s.x << 4) - ring.stages;
  const int stage = static_cast<int>(at) / ring.stage_bytes;
  const int step = static_cast<int>(at) % 128 / 32;
  const auto y_at = static_cast<std::uint32_t>(s.y << 4) - ring.stages;
  ring.faults += static_cast<int>(y_at) / ring.stage_bytes != stage;
  ring.faults += static_cast<int>(y_at - at) % 128 != 0 || static_cast<int>(y_at - at) < 0;
  const int block = ring.held[static_cast<std::size_t>(stage)];
  if (block < 0) {
    ++ring.faults;
    return;
  }
  for (int i = 0; i < s.count; ++i) {
    s.d[i] = arithmetic::add_rn(s.fresh ? 0.0F : s.d[i], product(block * 4 + step, i));
  }
}

/// The consumer waits for a stage: it has been filled if it was empty in time.
inline void take(std::uint32_t barrier, std::uint32_t parity) {
  Ring& r = ring;
  const auto stage = static_cast<std::size_t>(barrier - r.full) / 8;
  if (barrier < r.full || stage >= r.held.size() || r.taken >= r.x.size()) {
    ++r.faults;
    return;
  }
  const Ring::Load x = r.x[r.taken];
  const Ring::Load y = r.y[r.taken++];
  r.faults += x.stage != static_cast<int>(stage) || y.stage != x.stage || y.block != x.block;
  if (threadIdx.x % 128 == 0) {  // the thread that hands stages back for its group
    r.faults += r.turns[stage] != r.freed[stage];  // nobody could fill it: a deadlock
  }
  r.faults += parity != static_cast<std::uint32_t>(r.turns[stage] % 2);
  ++r.turns[stage];
  r.held[stage] = x.block;
}
inline void hand_back(std::uint32_t barrier) {
  const auto stage = static_cast<std::size_t>(barrier - ring.empty) / 8;
  ++ring.freed[stage];
  ring.held[stage] = -1;
}

/// Copies of bytes between global and shared memory. They run as late as they may: a store reads
/// when its thread waits until it has read and writes when its thread waits for its end, and a load
/// runs when a thread waits at its barrier.
struct BulkCopy {
  char* global;
  std::uint32_t shared, bytes, barrier;
  std::vector<unsigned char> read;
};
inline std::vector<BulkCopy> bulk_stores, bulk_loads;
inline std::map<std::uint32_t, std::uint32_t> bulk_turns;  ///< by barrier: loads that have ended
inline void read_bulk_stores() {
  for (BulkCopy& c : bulk_stores) {
    if (!c.read.empty()) continue;
    const auto from = shared_memory.begin() + c.shared;
    c.read.assign(from, from + c.bytes);
  }
}
inline void end_bulk_stores() {
  read_bulk_stores();
  for (const BulkCopy& c : bulk_stores) std::memcpy(c.global, c.read.data(), c.bytes);
  bulk_stores.clear();
}
inline void run_bulk_load(std::uint32_t barrier, std::uint32_t parity) {
  ring.faults += bulk_loads.size() != 1 || bulk_loads[0].barrier != barrier;
  ring.faults += parity != bulk_turns[barrier]++ % 2;  // another turn's: a deadlock, or old bytes
  for (const BulkCopy& c : bulk_loads) {
    std::memcpy(shared_memory.data() + c.shared, c.global, c.bytes);
  }
  bulk_loads.clear();
}

}  // namespace detgemm::test

inline float4 __ldcg(const float4* from) { return *from; }
inline void __stcg(float4* to, float4 v) { *to = v; }

namespace detgemm::cuda::sm90::ptx {

inline void bar_sync(std::uint32_t, std::uint32_t) {}
inline bool of_producer() { return threadIdx.x < 128; }
inline void mbarrier_init(std::uint32_t, std::uint32_t) {}
inline void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  if (of_producer()) return;
  if (barrier < test::ring.full) return test::run_bulk_load(barrier, parity);
  test::take(barrier, parity);
}
inline void mbarrier_arrive(std::uint32_t barrier) { test::hand_back(barrier); }
inline void mbarrier_arrive_cluster(std::uint32_t barrier) { test::hand_back(barrier); }
inline void mbarrier_arrive_expect_tx(std::uint32_t, std::uint32_t) {}
inline void add_rn_f32(float& sum, float value) { sum = arithmetic::add_rn(sum, value); }
inline void fma_rn_f32(float& sum, float scale, float value) {
  sum = arithmetic::fma_rn(scale, value, sum);
}
inline void fence_proxy_async_all() {}
template <int kPending>
void tma_store_wait_read() {
  test::read_bulk_stores();
}
inline void tma_store_wait() { test::end_bulk_stores(); }
inline void bulk_store(void* to, std::uint32_t from, std::uint32_t bytes) {
  test::bulk_stores.push_back({static_cast<char*>(to), from, bytes, 0, {}});
}
inline void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes,
                      std::uint32_t barrier) {
  test::ring.faults += !test::bulk_stores.empty();  // the sum may not be there yet
  test::bulk_loads.push_back(
      {const_cast<char*>(static_cast<const char*>(from)), to, bytes, barrier, {}});
}
inline void st_async(std::uint32_t, float4, std::uint32_t) {}
inline void griddepcontrol_launch_dependents() {}
inline void tma_prefetch(const CUtensorMap*, int, int) {}

inline void wgmma_commit() {
  test::ring.pending.push_back(std::move(test::ring.open));
  test::ring.open.clear();
}
template <int kPending>
void wgmma_wait() {
  auto& pending = test::ring.pending;
  for (; pending.size() > kPending; pending.pop_front()) {
    for (const test::Step& s : pending.front()) test::execute(s);
  }
}
inline std::uint64_t descriptor(std::uint32_t address, std::uint32_t) { return address >> 4; }
template <DType T, int N, bool kAMn, bool kBMn>
struct Wgmma {
  template <bool kFresh = false>
  static void run(float (&d)[N / 2], std::uint64_t x, std::uint64_t y) {
    test::ring.open.push_back({d, N / 2, kFresh, x, y});
  }
};

/// A box of one k block of 64: (k, row). X comes before Y in a stage.
inline void tma_load(std::uint32_t to, const CUtensorMap*, int k, int, std::uint32_t) {
  const int at = static_cast<int>(to - test::ring.stages);
  auto& loads = at % test::ring.stage_bytes < test::ring.x_bytes ? test::ring.x : test::ring.y;
  loads.push_back({at / test::ring.stage_bytes, k / 64});
}
inline void tma_load(std::uint32_t, const CUtensorMap*, int, int, int, std::uint32_t) {}
inline void tma_multicast(std::uint32_t to, const CUtensorMap* map, int k, int row,
                          std::uint32_t barrier, std::uint16_t) {
  tma_load(to, map, k, row, barrier);
}

}  // namespace detgemm::cuda::sm90::ptx

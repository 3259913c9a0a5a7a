// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <ucontext.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/arithmetic/formats.hpp"
#include "detgemm/types.hpp"

/// Stands in for the headers of cuda/sm90/ptx where the kernel of chains runs on the host, clusters
/// and all (cluster_machine_test.cpp). Of each CTA the threads that decide something run: one of
/// each producing warp and the first four of each consumer group, as coroutines that take turns in
/// an order drawn from a seed. Barriers, multicasts and the end of earlier kernels are real; copies
/// arrive late and in any order. Numbers are not: a chunk of 16 bytes in shared memory is a tag
/// that says which operand, row, block of k and chunk it holds, and a wgmma is a look at the tags,
/// when it ends.
#undef __device__
#define __device__
#undef __host__
#define __host__
#undef __global__
#define __global__
#undef __shared__
#define __shared__
#undef __forceinline__
#define __forceinline__ inline
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__

namespace detgemm::test {

struct Index {
  unsigned x = 0;
};

/// What a tensor map stands for: the first word of a map says which one.
struct Source {
  int operand = 0;  ///< 0: X, 1: Y, 2: C
  int rows = 0;     ///< of the operand
  int box_rows = 0;
  int box_bytes = 0;
  bool stable = false;  ///< may be read before earlier kernels have ended
};

struct Barrier {
  int arrivals = 0, pending = 0;
  std::int64_t bytes = 0;
  unsigned phase = 0;
};

/// The operands of the wgmma group that a consumer has started and not yet waited for.
struct Group {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reads;
};

struct Actor {
  ucontext_t context{};
  std::vector<unsigned char> stack;
  Index thread;
  int cta = 0;
  bool done = false;
  std::function<bool()> ready;  ///< empty: it can go on
  std::vector<std::pair<std::uint32_t, std::uint32_t>> started;
  std::deque<Group> running;
  int groups_ended = 0;
  int tiles_stored = 0;
};

/// A copy on its way to one CTA.
struct Copy {
  int cta;
  std::uint32_t to, barrier;
  const Source* from;
  int column, row;
};

struct Cta {
  std::vector<std::uint64_t> chunks = std::vector<std::uint64_t>(16 * 1024);
  std::map<std::uint32_t, Barrier> barriers;
  std::map<std::uint32_t, std::pair<unsigned, unsigned>> named;  ///< arrived, generation
  unsigned speed = 1;                                            ///< 1 in so many turns is taken
};

constexpr unsigned kLanes = 4;  ///< that run of a consumer group
constexpr std::uint32_t kRemote = 1U << 24;

inline std::uint64_t tag_of(int operand, int row, int block, int chunk) {
  return (std::uint64_t{1} << 60) | static_cast<std::uint64_t>(operand) << 56 |
         static_cast<std::uint64_t>(row) << 28 | static_cast<std::uint64_t>(block) << 4 |
         static_cast<std::uint64_t>(chunk);
}

struct ClusterMachine {
  std::mt19937 random;
  std::vector<Source> sources;
  std::vector<Cta> ctas;
  std::vector<std::unique_ptr<Actor>> actors;
  std::vector<Copy> copies;
  std::vector<std::pair<unsigned, unsigned>> cluster_barriers;  ///< arrived, generation
  std::string failure;
  Actor* current = nullptr;
  ucontext_t scheduler{};
  Index grid;
  int cluster = 1;
  bool earlier_ended = false;
  int early_copies = 0;
  std::function<void()> kernel;
  /// Of one wgmma group, when it has ended; and of a box of D that is stored.
  std::function<void(Actor&, const Group&)> ended;
  std::function<void(Actor&, int x, int y, std::uint32_t box)> stored;
  std::map<std::pair<int, std::uint32_t>, std::vector<std::pair<std::uint32_t, int>>> staged;
  int parts = 1;  ///< instructions that share the columns of a step
  /// A fault: what a barrier's count becomes.
  std::function<std::uint32_t(std::uint32_t)> count = [](std::uint32_t n) { return n; };
  bool no_turns = false;  ///< a fault: groups that take tiles in turn do not wait for their turn

  void fail(const std::string& what) {
    if (failure.empty()) {
      failure = what + " (CTA " + std::to_string(current != nullptr ? current->cta : -1) + ")";
    }
    if (current != nullptr) pass();
  }
  void pass() { swapcontext(&current->context, &scheduler); }
  void wait_until(std::function<bool()> ready) {
    current->ready = std::move(ready);
    pass();
  }
  Cta& own() { return ctas[static_cast<std::size_t>(current->cta)]; }
  int first_of_cluster(int cta) const { return cta / cluster * cluster; }

  Barrier& barrier_at(std::uint32_t address) {
    const auto remote = static_cast<int>(address / kRemote);
    const int cta = remote > 0 ? first_of_cluster(current->cta) + remote - 1 : current->cta;
    return barrier_of(cta, address % kRemote);
  }
  Barrier& barrier_of(int cta, std::uint32_t address) {
    auto& barriers = ctas[static_cast<std::size_t>(cta)].barriers;
    if (!barriers.contains(address)) fail("a barrier that was not made");
    return barriers[address];
  }
  void settle(Barrier& b) {
    if (b.pending != 0 || b.bytes != 0) return;
    b.pending = b.arrivals;
    ++b.phase;
  }
  void arrive(Barrier& b) {
    if (b.pending == 0) fail("more arrivals than a barrier counts");
    --b.pending;
    settle(b);
  }

  void copy(int cta, std::uint32_t to, const CUtensorMap* map, int column, int row,
            std::uint32_t barrier) {
    const Source& from = sources.at(map->opaque[0]);
    if (!earlier_ended) {
      if (!from.stable) fail("an operand is read that earlier kernels may still write");
      ++early_copies;
    }
    copies.push_back({cta, to, barrier, &from, column, row});
  }

  /// The copy ends: its rows are there, zeros for those that do not exist.
  void deliver(const Copy& c) {
    Cta& cta = ctas[static_cast<std::size_t>(c.cta)];
    for (int r = 0; r < c.from->box_rows && c.from->operand < 2; ++r) {
      for (int chunk = 0; chunk < 8; ++chunk) {
        const std::uint32_t line = c.to + static_cast<std::uint32_t>(r) * 128;
        const std::uint32_t turned = static_cast<std::uint32_t>(chunk) ^ (line >> 7 & 7U);
        const bool exists = c.row + r < c.from->rows;
        cta.chunks.at(line / 16 + turned) =
            exists ? tag_of(c.from->operand, c.row + r, c.column / 64, chunk) : 0;
      }
    }
    Barrier& b = barrier_of(c.cta, c.barrier);
    b.bytes -= c.from->box_bytes;
    settle(b);
  }

  void sync_cluster() {
    auto& b = cluster_barriers[static_cast<std::size_t>(current->cta / cluster)];
    const unsigned mine = b.second;
    const std::size_t all = actors.size() / cluster_barriers.size();
    if (++b.first == all) {
      b = {0, mine + 1};
    } else {
      wait_until([&b, mine] { return b.second != mine; });
    }
  }

  static void enter();
  std::string run(unsigned seed, int blocks, int groups);
};
inline ClusterMachine machine;

inline void ClusterMachine::enter() {
  machine.kernel();
  machine.current->done = true;
  machine.pass();
}

/// Runs `kernel` on all CTAs. Returns what went wrong, or nothing.
inline std::string ClusterMachine::run(unsigned seed, int blocks, int groups) {
  random.seed(seed);
  ctas.assign(static_cast<std::size_t>(blocks), {});
  cluster_barriers.assign(static_cast<std::size_t>(blocks / cluster), {});
  actors.clear();
  copies.clear();
  staged.clear();
  failure.clear();
  current = nullptr;
  earlier_ended = false;
  early_copies = 0;
  grid.x = static_cast<unsigned>(blocks);
  for (int cta = 0; cta < blocks; ++cta) {
    ctas[static_cast<std::size_t>(cta)].speed = random() % 3 == 0 ? 1 + random() % 40 : 1;
    std::vector<unsigned> threads = {0, 32};
    for (int g = 1; g <= groups; ++g) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        threads.push_back(static_cast<unsigned>(g) * 128 + lane);
      }
    }
    for (const unsigned thread : threads) {
      auto a = std::make_unique<Actor>();
      a->stack.resize(64 * 1024);
      a->thread.x = thread;
      a->cta = cta;
      getcontext(&a->context);
      a->context.uc_stack.ss_sp = a->stack.data();
      a->context.uc_stack.ss_size = a->stack.size();
      a->context.uc_link = nullptr;
      makecontext(&a->context, &ClusterMachine::enter, 0);
      actors.push_back(std::move(a));
    }
  }
  const unsigned end_in = random() % 3 == 0 ? 0 : random() % 3000;
  for (unsigned turn = 0;; ++turn) {
    if (turn >= end_in) earlier_ended = true;
    std::vector<Actor*> able;
    std::size_t done = 0;
    for (const auto& a : actors) {
      done += a->done ? 1 : 0;
      if (!a->done && (!a->ready || a->ready())) able.push_back(a.get());
    }
    if (done == actors.size() && copies.empty()) return failure;
    if (able.empty() && copies.empty()) {
      if (earlier_ended) return "no thread can go on";
      earlier_ended = true;
      continue;
    }
    const std::size_t at = random() % (able.size() + (copies.size() + 3) / 4);
    if (at < able.size()) {
      Actor& a = *able[at];
      if (random() % ctas[static_cast<std::size_t>(a.cta)].speed != 0) continue;
      a.ready = nullptr;
      current = &a;
      swapcontext(&scheduler, &a.context);
      current = nullptr;
    } else {
      const std::size_t which = random() % copies.size();
      const Copy one = copies[which];
      copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(which));
      deliver(one);
    }
    if (!failure.empty()) return failure;
  }
}

}  // namespace detgemm::test

#define threadIdx detgemm::test::machine.current->thread
#define blockIdx \
  detgemm::test::Index { static_cast<unsigned>(detgemm::test::machine.current->cta) }
#define gridDim detgemm::test::machine.grid
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline void __syncwarp() {}
inline void __syncthreads() {
  if (detgemm::test::machine.cluster > 1) detgemm::test::machine.fail("__syncthreads in a cluster");
  detgemm::test::machine.sync_cluster();
}
inline unsigned __shfl_sync(unsigned, unsigned value, int) { return value; }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline float __uint_as_float(std::uint32_t bits) { return detgemm::arithmetic::float_of(bits); }
inline std::uint32_t __byte_perm(std::uint32_t low, std::uint32_t, std::uint32_t) { return low; }

namespace detgemm::cuda::sm90::ptx {

using test::machine;

inline void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  const auto n = static_cast<int>(machine.count(arrivals));
  machine.own().barriers[barrier] = {n, n, 0, 0};
}
inline void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  test::Barrier& b = machine.barrier_at(barrier);
  machine.wait_until([&b, parity] { return (b.phase & 1U) != parity; });
}
inline void mbarrier_arrive(std::uint32_t barrier) {
  machine.pass();
  machine.arrive(machine.barrier_at(barrier));
}
inline void mbarrier_arrive_cluster(std::uint32_t remote) { mbarrier_arrive(remote); }
inline void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
  machine.pass();
  test::Barrier& b = machine.barrier_at(barrier);
  b.bytes += bytes;
  machine.arrive(b);
}
inline std::uint32_t cluster_ctarank() {
  return static_cast<std::uint32_t>(machine.current->cta % machine.cluster);
}
inline std::uint32_t mapa(std::uint32_t address, std::uint32_t rank) {
  return address + (rank + 1) * test::kRemote;
}
inline void cluster_sync() { machine.sync_cluster(); }
inline void bar_arrive(std::uint32_t id, std::uint32_t threads) {
  auto& b = machine.own().named[id];
  if (++b.first == threads * test::kLanes / 128) b = {0, b.second + 1};
}
inline void bar_sync(std::uint32_t id, std::uint32_t threads) {
  if (machine.no_turns && threads == 256) return;
  auto& b = machine.own().named[id];
  const unsigned mine = b.second;
  bar_arrive(id, threads);
  if (b.second == mine) machine.wait_until([&b, mine] { return b.second != mine; });
}
inline void griddepcontrol_wait() {
  machine.wait_until([] { return machine.earlier_ended; });
}
inline void griddepcontrol_launch_dependents() {}
inline bool elect_sync() { return true; }
template <int kCount>
void setmaxnreg_dec() {}
template <int kCount>
void setmaxnreg_inc() {}

inline void tma_load(std::uint32_t to, const CUtensorMap* map, int x, int y,
                     std::uint32_t barrier) {
  machine.pass();
  machine.copy(machine.current->cta, to, map, x, y, barrier);
}
inline void tma_load(std::uint32_t, const CUtensorMap*, int, int, int, std::uint32_t) {
  machine.fail("a box of three dimensions in a cluster");
}
inline void tma_multicast(std::uint32_t to, const CUtensorMap* map, int x, int y,
                          std::uint32_t barrier, std::uint16_t ctas) {
  machine.pass();
  for (int rank = 0; rank < 16; ++rank) {
    if ((ctas >> rank & 1) == 0) continue;
    if (rank >= machine.cluster) machine.fail("a multicast beyond the cluster");
    machine.copy(machine.first_of_cluster(machine.current->cta) + rank, to, map, x, y, barrier);
  }
}
inline void tma_store(const CUtensorMap*, int x, int y, std::uint32_t box) {
  machine.stored(*machine.current, x, y, box);
}
/// Of kernels over groups, which no test on this machine runs.
inline void tma_store(const CUtensorMap*, int, int, int, std::uint32_t) {
  machine.fail("a store of a matrix of several");
}

inline std::uint64_t descriptor(std::uint32_t address, std::uint32_t) { return address >> 4; }
inline void wgmma_fence() {}
/// Accumulators hold the number of their column.
template <DType T, int N, bool kAMn, bool kBMn>
struct Wgmma {
  template <bool kFresh = false>
  static void run(float (&d)[N / 2], std::uint64_t a, std::uint64_t b) {
    const int first = static_cast<int>(machine.current->started.size()) % machine.parts * N;
    for (int i = 0; i < N / 2; ++i) {
      const int column = 8 * (i / 4) + 2 * static_cast<int>(threadIdx.x % 4) + i % 2;
      d[i] = static_cast<float>(first + column);
    }
    machine.current->started.emplace_back(static_cast<std::uint32_t>(a << 4),
                                          static_cast<std::uint32_t>(b << 4));
  }
};
inline void wgmma_commit() {
  test::Actor& a = *machine.current;
  a.running.push_back({std::move(a.started)});
  a.started.clear();
  machine.pass();
}
/// The threads of a group, which are one warp here, wait together.
template <int kPending>
void wgmma_wait() {
  machine.pass();  // it runs on while others work
  test::Actor& a = *machine.current;
  const std::uint32_t together = 100 + a.thread.x / 128;
  bar_sync(together, 128);
  while (a.running.size() > kPending) {
    machine.ended(a, a.running.front());
    a.running.pop_front();
    ++a.groups_ended;
  }
  bar_sync(together, 128);
}
/// The first thread's part of four 8 x 8 matrices: which column went into which line of the box.
template <bool kTransposed>
void stmatrix_x4(std::uint32_t to, std::uint32_t r0, std::uint32_t, std::uint32_t, std::uint32_t) {
  if (kTransposed && threadIdx.x % 128 == 0) {
    const auto column = static_cast<int>(arithmetic::float_of(r0 << 16));
    machine.staged[{machine.current->cta, 0}].emplace_back(to, column);
  }
}
template <bool kTransposed>
void stmatrix_x2(std::uint32_t to, std::uint32_t r0, std::uint32_t r1) {
  stmatrix_x4<kTransposed>(to, r0, r1, 0, 0);
}
inline std::uint32_t cvt_rn_bf16x2_f32(float high, float low) {
  return (arithmetic::bits_of(high) & 0xffff0000U) | arithmetic::bits_of(low) >> 16;
}

// What is named beside it, and does nothing here.
inline std::uint32_t cvt_rn_f16x2_f32(float, float) { return 0; }
inline float max_nan_f32(float a, float) { return a; }
inline float ex2_approx_f32(float v) { return v; }
inline float rcp_approx_f32(float v) { return v; }
inline float cvt_f32_f16(std::uint32_t) { return 0; }
inline void pin(std::uint32_t&) {}
inline void pin(float&) {}
template <int kCount>
void pin(float (&)[kCount]) {}
inline void copy(float& to, float from) { to = from; }
inline std::uint32_t shared_address(const void*) { return 1000; }
inline std::uint16_t ld_shared_u16(std::uint32_t) { return 0; }
inline std::uint32_t ld_shared_u32(std::uint32_t) { return 0; }
inline float ld_shared_f32(std::uint32_t) { return 0; }
inline float2 ld_shared_v2_f32(std::uint32_t) { return {}; }
inline float4 ld_shared_v4_f32(std::uint32_t) { return {}; }
inline uint4 ld_shared_v4_u32(std::uint32_t) { return {}; }
inline void ld_shared_v2_f32_if(std::uint32_t, std::uint32_t, float*) {}
inline void st_shared_u32(std::uint32_t, std::uint32_t) {}
inline void st_shared_f32(std::uint32_t, float) {}
inline void st_shared_v2_f32(std::uint32_t, float2) {}
inline void st_shared_v4_f32(std::uint32_t, float4) {}
inline void st_shared_v4_u32(std::uint32_t, uint4) {}
inline void st_global_v2_u32(void*, std::uint32_t, std::uint32_t) {}
inline void st_global_v4_u32(void*, uint4) {}
inline void prefetch_global_l2(const void*) {}
template <bool kTransposed>
void ldmatrix_x4(std::uint32_t (&a)[4], std::uint32_t) {
  for (auto& one : a) one = 0;
}
template <bool kTransposed>
void ldmatrix_x2(std::uint32_t (&a)[2], std::uint32_t) {
  for (auto& one : a) one = 0;
}
inline void fence_proxy_async() {}
inline void fence_mbarrier_init() {}
inline void tma_store_commit() {}
template <int kPending>
void tma_store_wait_read() {}

}  // namespace detgemm::cuda::sm90::ptx

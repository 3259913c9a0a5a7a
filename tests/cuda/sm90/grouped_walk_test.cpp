// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

// The code with which a warp finds the tiles of groups, on a warp of 32 coroutines: a shuffle hands
// over to the next lane until all have come to it.

namespace {

struct HostWarp {
  static constexpr int kLanes = 32;
  struct Lane {
    ucontext_t context{};
    std::vector<char> stack = std::vector<char>(64 * 1024);
    bool done = false;
  };
  std::array<Lane, kLanes> lanes;
  std::array<std::int64_t, kLanes> slots{};
  std::function<void()> body;
  ucontext_t back{};
  int lane = 0;
};
HostWarp* warp = nullptr;

void start_lane() {
  warp->body();
  warp->lanes[static_cast<std::size_t>(warp->lane)].done = true;
}

/// Runs `body` as all lanes of a warp, each up to the next shuffle in turn.
void run_warp(const std::function<void()>& body) {
  HostWarp all;
  warp = &all;
  all.body = body;
  for (auto& lane : all.lanes) {
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.data();
    lane.context.uc_stack.ss_size = lane.stack.size();
    lane.context.uc_link = &all.back;
    makecontext(&lane.context, start_lane, 0);
  }
  for (bool running = true; running;) {
    running = false;
    for (all.lane = 0; all.lane < HostWarp::kLanes; ++all.lane) {
      auto& lane = all.lanes[static_cast<std::size_t>(all.lane)];
      if (lane.done) continue;
      swapcontext(&all.back, &lane.context);
      running |= !lane.done;
    }
  }
  warp = nullptr;
}

/// All lanes have come here when this returns.
void meet() {
  swapcontext(&warp->lanes[static_cast<std::size_t>(warp->lane)].context, &warp->back);
}

struct HostThread {
  struct X {
    operator unsigned() const { return static_cast<unsigned>(warp->lane); }
  } x;
} host_thread;

/// Every lane shows a value; then `look` sees those of all.
template <class Look>
auto exchange(std::int64_t value, const Look& look) {
  warp->slots[static_cast<std::size_t>(warp->lane)] = value;
  meet();
  const auto seen = look(warp->slots);
  meet();
  return seen;
}

std::int64_t shuffle(std::int64_t value, int from) {
  return exchange(value, [&](const auto& slots) { return slots[static_cast<std::size_t>(from)]; });
}

}  // namespace

#define threadIdx host_thread
#undef __device__
#define __device__
#undef __forceinline__
#define __forceinline__ inline
inline std::int64_t __shfl_sync(unsigned, std::int64_t value, int from) {
  return shuffle(value, from);
}
inline std::int64_t __shfl_up_sync(unsigned, std::int64_t value, int by) {
  return shuffle(value, std::max(warp->lane - by, 0));
}
inline unsigned __ballot_sync(unsigned, bool mine) {
  return exchange(mine ? 1 : 0, [](const auto& slots) {
    unsigned all = 0;
    for (std::size_t lane = 0; lane < slots.size(); ++lane) {
      all |= static_cast<unsigned>(slots[lane]) << lane;
    }
    return all;
  });
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
using std::min;

#include "cuda/sm90/grouped/job.cuh"
#include "tests/support/random_bits.hpp"

namespace detgemm::test {
namespace {

using namespace cuda::sm90;

/// 64 x 32 and 16 rows of weights alike: a tile of the right proportions for the test.
struct SmallTile {
  static constexpr int kX = 64, kN = 16;
  static constexpr bool kByK = false;
};
struct SmallTileByK : SmallTile {
  static constexpr bool kByK = true;
};

struct Walked {
  GroupedArguments p;
  GroupedShape s;
  LaunchShape shape;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> narrow;
  std::vector<TileJob> jobs;
};

/// All jobs of a grid, as its warps find them.
template <class T = SmallTile>
void walk(Walked& w, int grid) {
  if (w.p.offset_type == OffsetType::i32) {
    w.narrow.assign(w.offsets.begin(), w.offsets.end());
    w.p.offsets = w.narrow.data();
  } else {
    w.p.offsets = w.offsets.data();
  }
  const int down = w.shape.swapped ? SmallTile::kN : SmallTile::kX;
  const int wide = w.shape.swapped ? SmallTile::kX : SmallTile::kN;
  const std::int64_t across = ceil_div(w.p.all.n, wide);
  for (int cta = 0; cta < grid; ++cta) {
    run_warp([&] {
      cuda::grouped::GroupWalk walk(w.p, down, across);
      for (std::int64_t tile = cta;; tile += grid) {
        cuda::grouped::GroupTile found;
        if (!walk.find(tile, found)) return;
        if (warp->lane == 0) w.jobs.push_back(job_of<T>(w.p, w.s, w.shape, found));
      }
    });
  }
}

/// A problem of `groups` groups over `limit` rows.
Walked drawn(Random& random, GroupKind kind, std::int64_t groups, std::int64_t limit) {
  Walked w;
  w.p.kind = kind;
  w.p.groups = groups;
  w.p.all.m = limit;
  w.p.all.n = 1 + random.below(150);
  w.p.offset_type = random.below(2) == 0 ? OffsetType::i32 : OffsetType::i64;
  w.shape.swapped = random.below(2) == 0;
  w.shape.raster.group = static_cast<int>(1 + random.below(4));
  const auto n = static_cast<int>(w.p.all.n);
  const bool ends_early = random.below(2) == 0;  // the last tile along N begins where it can
  const int last = std::max(0, n - (w.shape.swapped ? SmallTile::kX : SmallTile::kN));
  w.shape.x_last = ends_early ? last : 1 << 30;
  w.shape.y_last = w.shape.x_last;
  const bool stacked = kind != GroupKind::m_grouped;
  w.s.a_step = stacked ? static_cast<int>(random.below(2) * (limit + 3)) : 0;
  const bool spread = random.below(3) == 0;  // rows of C and D count from 0 in each group
  w.s.d_step = stacked && !spread ? static_cast<int>(limit + 2) : 0;
  w.s.overlaps = random.below(2) == 0;
  return w;
}

/// The rows that a job stores and the first row that it loads, along tokens and along N.
struct Side {
  int from, at, end, tile;
};
Side tokens_of(const Walked& w, const TileJob& job) {
  if (w.shape.swapped) return {job.y_from, job.y, job.y_end, SmallTile::kN};
  return {job.x_from, job.x, job.x_end, SmallTile::kX};
}
Side columns_of(const Walked& w, const TileJob& job) {
  if (w.shape.swapped) return {job.x_from, job.x, job.x_end, SmallTile::kX};
  return {job.y_from, job.y, job.y_end, SmallTile::kN};
}

TEST(GroupedWalk, EveryOutputOfEveryGroupHasATileOfItsOwnGroup) {
  Random random(5);
  for (int problem = 0; problem < 60; ++problem) {
    constexpr GroupKind kKinds[] = {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked};
    constexpr std::int64_t kGroups[] = {1, 2, 3, 31, 32, 33, 70};
    constexpr std::int64_t kSizes[] = {0, 0, 1, 15, 16, 17, 63, 64, 65, 130};
    const GroupKind kind = kKinds[problem % 3];
    const std::int64_t groups = kGroups[random.below(7)];
    std::vector<std::int64_t> sizes, begins;
    std::int64_t all = 0;
    for (std::int64_t g = 0; g < groups; ++g) {
      sizes.push_back(kind == GroupKind::batched ? 40 : kSizes[random.below(10)]);
      begins.push_back(all);
      all += sizes.back();
    }
    const std::int64_t limit = kind == GroupKind::m_grouped  ? all + random.below(3)
                               : kind == GroupKind::m_masked ? 131
                                                             : 40;
    Walked w = drawn(random, kind, groups, limit);
    for (std::size_t g = 0; g < sizes.size(); ++g) {
      w.offsets.push_back(kind == GroupKind::m_masked ? sizes[g] : begins[g] + sizes[g]);
    }
    walk(w, 3);
    std::map<std::array<int, 3>, int> counted;  // (group, row of D, column)
    for (const TileJob& job : w.jobs) {
      const auto g = static_cast<std::size_t>(job.group);
      const Side tokens = tokens_of(w, job), columns = columns_of(w, job);
      const std::int64_t begin = kind == GroupKind::m_grouped ? begins[g] : 0;
      EXPECT_EQ(tokens.end, begin + job.group * w.s.d_step + sizes[g]);
      EXPECT_EQ(tokens.at - job.group * w.s.d_step, tokens.from - job.group * w.s.a_step);
      EXPECT_GE(tokens.at, begin + job.group * w.s.d_step);
      EXPECT_EQ(columns.from, columns.at);
      EXPECT_EQ(columns.end, w.p.all.n);
      if (w.s.overlaps && sizes[g] >= tokens.tile) EXPECT_LE(tokens.at + tokens.tile, tokens.end);
      for (int row = tokens.at; row < std::min(tokens.at + tokens.tile, tokens.end); ++row) {
        for (int col = columns.at; col < std::min(columns.at + columns.tile, columns.end); ++col) {
          ++counted[{job.group, row, col}];
        }
      }
    }
    std::int64_t outputs = 0;
    for (const std::int64_t size : sizes) outputs += size * w.p.all.n;
    EXPECT_EQ(static_cast<std::int64_t>(counted.size()), outputs) << problem;
    if (w.shape.x_last != 1 << 30 || w.s.overlaps) continue;  // else tiles share outputs
    for (const auto& [at, times] : counted) ASSERT_EQ(times, 1) << at[1] << ", " << at[2];
  }
}

TEST(GroupedWalk, GarbageStaysInsideOfTheArrays) {
  Random random(6);
  for (int problem = 0; problem < 60; ++problem) {
    const GroupKind kind = problem % 2 == 0 ? GroupKind::m_grouped : GroupKind::m_masked;
    constexpr std::int64_t kLimit = 150;
    Walked w = drawn(random, kind, 1 + random.below(40), kLimit);
    for (std::int64_t g = 0; g < w.p.groups; ++g) {
      const std::int64_t wild = static_cast<std::int64_t>(random.next()) >> random.below(60);
      w.offsets.push_back(random.below(2) == 0 ? wild : random.below(kLimit + 20));
    }
    walk(w, 2);
    for (const TileJob& job : w.jobs) {
      const Side tokens = tokens_of(w, job);
      const std::int64_t first = std::int64_t{job.group} * w.s.d_step;
      if (tokens.at >= tokens.end) continue;  // nothing is stored
      EXPECT_GE(tokens.at, first);
      EXPECT_LE(tokens.end, first + kLimit);
      EXPECT_TRUE(job.group >= 0 && job.group < w.p.groups);
    }
  }
}

/// Offsets that change between the walk and the job: a group has fewer rows than when the tile was
/// found. A job that ends at row 0 would clamp what it reads to row -1.
TEST(GroupedWalk, ATileThatItsGroupNoLongerHasStoresNothingAndReadsTheFirstRow) {
  Random random(8);
  int jobs = 0, none = 0;
  for (int problem = 0; problem < 400; ++problem) {
    const GroupKind kind = problem % 2 == 0 ? GroupKind::m_grouped : GroupKind::m_masked;
    Walked w = drawn(random, kind, 1 + random.below(4), 300);
    w.p.offset_type = OffsetType::i64;
    std::int64_t end = 0;
    for (std::int64_t g = 0; g < w.p.groups; ++g) {
      end = (kind == GroupKind::m_grouped ? end : 0) + random.below(2) * 70;
      w.offsets.push_back(end);
    }
    w.p.offsets = w.offsets.data();
    const cuda::grouped::GroupTile found{random.below(w.p.groups), random.below(12)};
    const TileJob job = job_of<SmallTile>(w.p, w.s, w.shape, found);
    EXPECT_GT(job.x_end, 0);
    EXPECT_GT(job.y_end, 0);
    EXPECT_EQ(job.exists, 1);
    const bool stores = job.x < job.x_end && job.y < job.y_end;
    ++(stores ? jobs : none);
    if (stores) continue;
    EXPECT_TRUE(job.x_end == 1 && job.y_end == 1);
    EXPECT_TRUE(job.x % 64 == 0 && job.y % 64 == 0 && job.x > 0 && job.y > 0);
    EXPECT_TRUE(job.x_from == 0 && job.y_from == 0 && job.k_end == job.k_begin);
  }
  EXPECT_GT(jobs, 50);
  EXPECT_GT(none, 50);
}

TEST(GroupedWalk, SegmentsOfProductsAreBoundsOfAllTilesOfTheirGroup) {
  Random random(7);
  for (const bool garbage : {false, true}) {
    Walked w = drawn(random, GroupKind::k_grouped, 40, 70);
    w.shape.swapped = false;
    w.shape.x_last = w.shape.y_last = 1 << 30;
    w.s.a_step = 0;
    w.s.overlaps = false;
    w.p.all.k = 1000;
    std::int64_t end = 0;
    for (std::int64_t g = 0; g < 40; ++g) {
      end = garbage ? random.below(1300) - 200 : end + random.below(2) * random.below(50);
      w.offsets.push_back(end);
    }
    walk<SmallTileByK>(w, 3);
    const std::int64_t tiles = 40 * 2 * ceil_div(w.p.all.n, SmallTile::kN);
    EXPECT_EQ(static_cast<std::int64_t>(w.jobs.size()), tiles);
    for (const TileJob& job : w.jobs) {
      const Segment wanted = segment_of(w.p.offsets, w.p.offset_type, job.group, 1000);
      EXPECT_EQ(job.k_begin, wanted.begin);
      EXPECT_EQ(job.k_end, wanted.begin + wanted.count);
      EXPECT_EQ(job.x_from, job.x - job.group * w.s.d_step);
      EXPECT_EQ(job.x_end, job.group * w.s.d_step + 70);
    }
  }
}

}  // namespace
}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <functional>
#include <iterator>

#include "cuda/snap/columns.hpp"
#include "cuda/snap/groups.hpp"
#include "cuda/snap/long_leaf.hpp"
#include "cuda/snap/rows.hpp"

/// Warps and CTAs on a host: the kernels' code over them is that of cuda/snap/snap.cu.
namespace detgemm::test {

/// What may be planted: the last lane, or warp, is left out of a sum; or of the largest number.
enum class SnapFault { none, sum_without_last, largest_without_last };

template <int kWords, class Lane = cuda::snap::LaneWords<kWords>>
struct HostWarp {
  Lane lanes[32];
  SnapFault fault = SnapFault::none;

  template <class F>
  void each(const F& f) {
    for (int lane = 0; lane < 32; ++lane) f(lane, lanes[lane]);
  }
  template <class F>
  std::uint32_t max(const F& f) {
    std::uint32_t most = 0;
    const int count = fault == SnapFault::largest_without_last ? 31 : 32;
    for (int lane = 0; lane < count; ++lane) most = std::max(most, f(lanes[lane]));
    return most;
  }
  template <class F>
  std::uint32_t sum(const F& f) {
    std::uint32_t sum = 0;
    const int count = fault == SnapFault::sum_without_last ? 31 : 32;
    for (int lane = 0; lane < count; ++lane) sum += f(lanes[lane]);
    return sum;
  }
};

/// A warp in groups of lanes; a group's last lane may be left out.
template <int kLanes, int kWords>
struct HostGroups {
  cuda::snap::GroupLane<kWords> lanes[32];
  SnapFault fault = SnapFault::none;

  template <class F>
  void each(const F& f) {
    for (int lane = 0; lane < 32; ++lane) f(lane, lanes[lane]);
  }
  template <class F>
  bool any(const F& f) {
    return std::any_of(std::begin(lanes), std::end(lanes), f);
  }
  /// What a group's lanes have together, which all of them take.
  template <class Value, class F, class Join, class Take>
  void join(const F& f, bool whole, const Join& joined, const Take& take) {
    for (int first = 0; first < 32; first += kLanes) {
      Value all{};
      for (int i = 0; i < kLanes - (whole ? 0 : 1); ++i) all = joined(all, f(lanes[first + i]));
      for (int i = 0; i < kLanes; ++i) take(lanes[first + i], all);
    }
  }
  template <class F, class Take>
  void add(const F& f, const Take& take) {
    join<float>(f, fault != SnapFault::sum_without_last, std::plus<>(), take);
  }
  template <class F, class Take>
  void sum(const F& f, const Take& take) {
    join<std::uint32_t>(f, fault != SnapFault::sum_without_last, std::plus<>(), take);
  }
  template <class F, class Take>
  void max(const F& f, const Take& take) {
    const auto larger = [](std::uint32_t x, std::uint32_t y) { return std::max(x, y); };
    join<std::uint32_t>(f, fault != SnapFault::largest_without_last, larger, take);
  }
};

template <int kWords, int kWarps>
struct HostCta {
  cuda::snap::ColumnWords<kWords> threads[kWarps][32];

  template <class F>
  void each(const F& f) {
    for (int warp = 0; warp < kWarps; ++warp) {
      for (int lane = 0; lane < 32; ++lane) f(warp, lane, threads[warp][lane]);
    }
  }
  void sync() {}
};

/// A warp that shares one long leaf, and also one thread that has one: the order does not matter.
struct HostLong {
  template <class F>
  void each(std::int64_t count, const F& f) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
  }
  template <class F>
  std::uint32_t max(std::int64_t count, const F& f) {
    std::uint32_t most = 0;
    each(count, [&](std::int64_t i) { most = std::max<std::uint32_t>(most, f(i)); });
    return most;
  }
  template <class F>
  std::uint64_t sum(std::int64_t count, const F& f) {
    std::uint64_t sum = 0;
    each(count, [&](std::int64_t i) { sum += f(i); });
    return sum;
  }
};

namespace host_kernels {

template <int kWords, int kAtOnce>
void rows(const cuda::snap::Operand& o, SnapFault fault) {
  for (std::int64_t vector = 0; vector < o.vectors; ++vector) {
    for (std::int64_t leaf = 0; leaf < o.leaves; leaf += kAtOnce) {
      HostWarp<kWords> teams[kAtOnce];
      for (auto& team : teams) team.fault = fault;
      cuda::snap::snap_leaves<kAtOnce>(o, {vector, leaf}, teams);
    }
  }
}

template <int kLanes, int kWords, int kAtOnce>
void groups(const cuda::snap::Operand& o, SnapFault fault) {
  constexpr unsigned kLeaves = 32 / kLanes;
  for (unsigned first = 0; first < o.total; first += kAtOnce * kLeaves) {
    HostGroups<kLanes, kWords> teams[kAtOnce];
    for (unsigned i = 0; i < kAtOnce; ++i) {
      teams[i].fault = fault;
      teams[i].each([&](int lane, auto& s) {
        cuda::snap::place(o, first + i * kLeaves + static_cast<unsigned>(lane / kLanes), s);
      });
      cuda::snap::load_groups<kLanes, kWords>(teams[i]);
    }
    for (auto& team : teams) {
      cuda::snap::find_grids<kLanes * kWords * 2>(team);
      cuda::snap::store_groups<kLanes, kWords>(team);
    }
  }
}

template <int kWords, int kWarps>
void across(const cuda::snap::Operand& o) {
  cuda::snap::Shared<kWarps> shared;
  HostCta<kWords, kWarps> team;
  for (std::int64_t leaf = 0; leaf < o.leaves; ++leaf) {
    for (std::int64_t vector = 0; vector < o.vectors; vector += cuda::snap::kColumns) {
      cuda::snap::snap_columns<kWords>(o, {vector, leaf}, team, shared);
    }
  }
}

inline void any(const cuda::snap::Operand& o) {
  for (std::int64_t vector = 0; vector < o.vectors; ++vector) {
    for (std::int64_t leaf = 0; leaf < o.leaves; ++leaf) {
      HostLong team;
      cuda::snap::snap_long_leaf(o, vector, leaf, team);
    }
  }
}

}  // namespace host_kernels

/// What the kernel of a variant does, in the order of cuda::snap::kVariants.
inline void run_on_host(int variant, const cuda::snap::Operand& o,
                        SnapFault fault = SnapFault::none) {
  using namespace host_kernels;
  using Run = void (*)(const cuda::snap::Operand&, SnapFault);
  static constexpr Run kRuns[] = {
      rows<1, 8>,
      rows<1, 1>,
      rows<2, 4>,
      rows<2, 1>,
      rows<4, 2>,
      rows<4, 1>,
      rows<8, 1>,
      rows<16, 1>,
      [](const auto& operand, SnapFault) { any(operand); },
      [](const auto& operand, SnapFault) { across<16, 4>(operand); },
      [](const auto& operand, SnapFault) { across<32, 4>(operand); },
      [](const auto& operand, SnapFault) { across<32, 8>(operand); },
      [](const auto& operand, SnapFault) { across<64, 8>(operand); },
      [](const auto& operand, SnapFault) { any(operand); },
      groups<4, 8, 2>,
      groups<4, 8, 1>,
      groups<4, 8, 4>,
      groups<8, 8, 2>,
      groups<8, 8, 1>,
      groups<8, 8, 4>,
      groups<16, 8, 2>,
      groups<16, 8, 1>,
      groups<16, 8, 4>,
      groups<32, 8, 2>,
      groups<32, 8, 1>,
      groups<32, 8, 4>,
      groups<32, 16, 1>,
  };
  static_assert(sizeof kRuns / sizeof *kRuns == cuda::snap::kVariantCount);
  kRuns[variant](o, fault);
}

}  // namespace detgemm::test

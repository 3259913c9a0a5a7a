// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <atomic>

#include "backends/reference/tile.hpp"
#include "core/arithmetic/floating_point_mode.hpp"

namespace detgemm::reference {

/// Workers take tiles from a counter; each has `bytes` of the scratch for itself. `place(job, t)`
/// says what tile t is. Only plain RangePolicy dispatch is used, which every Kokkos since 3.4 takes
/// from any host thread.
template <class Place>
void run_tiles(const TileKernel& kernel, std::int64_t tiles, std::int64_t max_workers,
               std::byte* scratch, std::size_t bytes, const char* label, const Place& place) {
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t>* counter = &next;
  const auto work = [=, &kernel, &place](std::int64_t worker) {
    const arithmetic::FloatingPointMode ieee;  // a worker's mode is its own, and anybody's
    TileJob job;
    job.scratch = scratch + static_cast<std::size_t>(worker) * bytes;
    for (std::int64_t t = counter->fetch_add(1); t < tiles; t = counter->fetch_add(1)) {
      place(job, t);
      kernel.run(job);
    }
  };
  const std::int64_t workers = std::min(max_workers, tiles);
  if (workers <= 1) {
    work(0);
    return;
  }
  using Space = Kokkos::DefaultHostExecutionSpace;
  const Space space;
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, workers), work);
  space.fence();
}

}  // namespace detgemm::reference

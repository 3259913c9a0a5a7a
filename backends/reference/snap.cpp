// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/reference/snap.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>

#include "backends/reference/element_kernel.hpp"

namespace detgemm::reference {
namespace {

/// Lines that one piece of work takes through one leaf: neighbours, so that a matrix in which K is
/// the slow dimension is read in whole cache lines.
constexpr std::int64_t kLines = 32;

/// Waking a worker costs more than snapping this many numbers.
constexpr std::int64_t kNumbersAWorker = 16384;

}  // namespace

void snap_lines(const TileSet& set, const Lines& from, std::int64_t leaf_k, std::uint16_t* to,
                std::int64_t to_line, std::int64_t to_step, std::int64_t workers) {
  if (from.lines == 0 || from.k == 0) return;
  const std::int64_t leaves = leaves_of(from.k, leaf_k);
  const std::int64_t groups = ceil_div(from.lines, kLines);
  const std::int64_t needed = ceil_div(from.lines * from.k, kNumbersAWorker);
  const auto work = [=, &set](std::int64_t i) {
    const std::int64_t line = i / leaves * kLines;
    const std::int64_t begin = i % leaves * leaf_k;
    SnapJob job;
    job.from = from.data + line * from.line + begin * from.step;
    job.from_line = from.line;
    job.from_k = from.step;
    job.to = to + line * to_line + begin * to_step;
    job.to_line = to_line;
    job.to_k = to_step;
    job.lines = std::min(kLines, from.lines - line);
    job.count = std::min(leaf_k, from.k - begin);
    set.snap(job);
  };
  const Kokkos::DefaultHostExecutionSpace space;
  for_each_output("detgemm::reference::snap", space, leaves * groups, std::min(workers, needed),
                  work);
  space.fence();
}

std::size_t copy_bytes(std::int64_t lines, std::int64_t k) {
  constexpr auto most = std::numeric_limits<std::size_t>::max() / 2;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(lines, k, &bytes) || bytes > most / sizeof(std::uint16_t)) {
    return std::numeric_limits<std::size_t>::max();
  }
  bytes *= sizeof(std::uint16_t);
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace detgemm::reference

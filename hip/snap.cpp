// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "hip/launch.hpp"
#include "hip/reduction_walk.hpp"
#include "hip/simt/tile.hpp"

namespace detgemm::hip {
namespace {

constexpr std::int64_t kLine = 64;  // bf16 numbers of a cache line of 128 bytes
constexpr std::size_t kTooMany = std::numeric_limits<std::size_t>::max();

/// Beyond this many products no memory holds a copy, and its stride is never used.
constexpr std::int64_t kMostK = std::int64_t{1} << 60;

std::int64_t copy_stride(std::int64_t k) { return ceil_div(std::min(k, kMostK), kLine) * kLine; }

/// Bytes of one copy: whole lines, so that a second copy begins at one; and of 256 bytes, as all
/// parts of the workspace do.
std::size_t copy_bytes(std::int64_t rows, std::int64_t k) {
  constexpr std::size_t kAligned = 256;
  if (rows == 0 || k == 0) return 0;
  if (k > kMostK) return kTooMany;
  std::size_t bytes = 0;
  const auto row = static_cast<std::size_t>(copy_stride(k)) * 2;
  if (__builtin_mul_overflow(static_cast<std::size_t>(rows), row, &bytes) ||
      bytes > kTooMany - kAligned) {
    return kTooMany;
  }
  return (bytes + kAligned - 1) / kAligned * kAligned;
}

/// Whether pieces of 8 products are aligned chunks of 16 bytes.
bool in_chunks(const SnapOperand& operand, std::int64_t k) {
  return (operand.k_stride == 1 || k == 1) && operand.row_stride % kSnapPiece == 0 &&
         reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0;
}

/// Grids that are looked at. In units of the first one a number is at most 2^13, in units of grid j
/// at most 2^(13 - j), and n squares of that are at most 2^24 where 4^j is at least 4 n.
int tries_for(std::int64_t leaf_k) {
  const int doublings = std::bit_width(static_cast<std::uint64_t>(leaf_k - 1));
  return (doublings + 2 + 1) / 2 + 1;
}

SnapOperand a_of(const GemmArguments& g) { return {g.a, g.as.row, g.as.col}; }
SnapOperand b_of(const GemmArguments& g) { return {g.b, g.bs.col, g.bs.row}; }

}  // namespace

std::size_t copies_bytes(Snapping which, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::size_t bytes = which.a ? copy_bytes(m, k) : 0;
  if (which.b && __builtin_add_overflow(bytes, copy_bytes(n, k), &bytes)) return kTooMany;
  return bytes;
}

GemmArguments with_copies(const GemmArguments& g, Snapping which, void* workspace) {
  GemmArguments copied = g;
  // By number, because a description of a problem has no memory.
  auto at = reinterpret_cast<std::uintptr_t>(workspace);
  if (which.a) {
    copied.a = reinterpret_cast<const void*>(at);
    copied.as = {copy_stride(g.k), 1};
    at += copy_bytes(g.m, g.k);
  }
  if (which.b) {
    copied.b = reinterpret_cast<const void*>(at);
    copied.bs = {1, copy_stride(g.k)};
  }
  return copied;
}

std::vector<Launch> copy_launches(const GemmArguments& g, Snapping which, void* workspace,
                                  const LaunchOptions& options) {
  std::vector<Launch> launches;
  if (g.k == 0) return launches;
  const GemmArguments copied = with_copies(g, which, workspace);
  const std::int64_t leaf = g.reduction.leaf_k;
  if (which.a) launches.push_back(snap_launch(a_of(g), a_of(copied), g.m, g.k, leaf, options));
  if (which.b) launches.push_back(snap_launch(b_of(g), b_of(copied), g.n, g.k, leaf, options));
  return launches;
}

Launch snap_launch(const SnapOperand& from, const SnapOperand& to, std::int64_t rows,
                   std::int64_t k, std::int64_t leaf_k, const LaunchOptions& options) {
  const bool along_k = k == 1 || std::abs(from.k_stride) <= std::abs(from.row_stride) || rows == 1;
  SnapArguments arguments;
  arguments.from = static_cast<const std::uint16_t*>(from.data);
  arguments.from_row = from.row_stride;
  arguments.from_k = from.k_stride;
  arguments.to = static_cast<std::uint16_t*>(const_cast<void*>(to.data));
  arguments.to_row = to.row_stride;
  arguments.to_k = to.k_stride;
  arguments.rows = rows;
  arguments.k = k;
  arguments.leaf_k = leaf_k;
  // The rows that 256 threads hold at a time: see simt/snap.hpp.
  arguments.row_blocks = ceil_div(rows, along_k ? kSnapRowsAlongK : kSnapRowsAcross);
  arguments.units = arguments.row_blocks * leaves_of(k, leaf_k);
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  std::int64_t blocks = std::min(arguments.units, kMaxBlocks);
  if (options.max_units > 0) blocks = std::min<std::int64_t>(blocks, options.max_units * 4);
  arguments.blocks = static_cast<int>(blocks);
  arguments.tries = tries_for(std::min(leaf_k, k));
  arguments.from_chunks = in_chunks(from, k) ? 1 : 0;
  arguments.to_chunks = in_chunks(to, k) ? 1 : 0;
  Launch launch;
  launch.kernel = snap_index(options.chip, along_k);
  launch.blocks = static_cast<std::uint32_t>(blocks);
  launch.threads = simt::kThreads;
  static_assert(sizeof(arguments) <= sizeof(launch.arguments), "a Launch has room for them");
  std::memcpy(launch.arguments, &arguments, sizeof(arguments));
  launch.bytes = sizeof(arguments);
  return launch;
}

}  // namespace detgemm::hip

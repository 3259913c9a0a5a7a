// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/contract/snap3_copies.hpp"
#include "hip/launch.hpp"
#include "hip/reduction_walk.hpp"
#include "hip/simt/tile.hpp"
#include "hip/split_arguments.hpp"

namespace detgemm::hip {
namespace {

constexpr std::int64_t kLine = 64;  // bf16 numbers of a cache line of 128 bytes
constexpr std::size_t kTooMany = std::numeric_limits<std::size_t>::max();

/// Beyond this many products no memory holds a copy, and its stride is never used.
constexpr std::int64_t kMaxK = std::int64_t{1} << 60;

std::int64_t copy_stride(std::int64_t k) { return ceil_div(std::min(k, kMaxK), kLine) * kLine; }

/// Bytes of one copy: whole lines, so that a second copy begins at one; and of 256 bytes, as all
/// parts of the workspace do.
std::size_t copy_bytes(std::int64_t rows, std::int64_t k) {
  constexpr std::size_t kAligned = 256;
  if (rows == 0 || k == 0) return 0;
  if (k > kMaxK) return kTooMany;
  std::size_t bytes = 0;
  const auto row = static_cast<std::size_t>(copy_stride(k)) * 2;
  if (__builtin_mul_overflow(static_cast<std::size_t>(rows), row, &bytes) ||
      bytes > kTooMany - kAligned) {
    return kTooMany;
  }
  return (bytes + kAligned - 1) / kAligned * kAligned;
}

/// Whether pieces of so many elements along K lie at multiples of their size.
bool in_chunks(const SnapOperand& operand, std::int64_t k, std::int64_t piece, std::size_t bytes) {
  return (operand.k_stride == 1 || k == 1) && operand.row_stride % piece == 0 &&
         reinterpret_cast<std::uintptr_t>(operand.data) % bytes == 0;
}

/// Whether neighbours in memory are neighbours along K.
bool lies_along_k(const SnapOperand& operand, std::int64_t rows, std::int64_t k) {
  return k == 1 || std::abs(operand.k_stride) <= std::abs(operand.row_stride) || rows == 1;
}

/// Workgroups for so many units of work.
int blocks_of(std::int64_t units, const LaunchOptions& options) {
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  std::int64_t blocks = std::min(units, kMaxBlocks);
  if (options.max_units > 0) blocks = std::min<std::int64_t>(blocks, options.max_units * 4);
  return static_cast<int>(blocks);
}

template <class Arguments>
Launch launch_of(int kernel, const Arguments& arguments) {
  Launch launch;
  launch.kernel = kernel;
  launch.blocks = static_cast<std::uint32_t>(arguments.blocks);
  launch.threads = simt::kThreads;
  launch.pack(arguments);
  return launch;
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
  const bool along_k = lies_along_k(from, rows, k);
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
  arguments.blocks = blocks_of(arguments.units, options);
  arguments.tries = tries_for(std::min(leaf_k, k));
  arguments.from_chunks = in_chunks(from, k, kSnapPiece, 16) ? 1 : 0;
  arguments.to_chunks = in_chunks(to, k, kSnapPiece, 16) ? 1 : 0;
  return launch_of(snap_index(options.chip, along_k), arguments);
}

Multiplied multiplied(const Contract& contract, std::int64_t k) {
  if (contract.arithmetic != Arithmetic::snap3) return {contract, k};
  const Snap3Copies copies = snap3_copies(k, contract.reduction.leaf_k);
  Contract over = contract;
  over.arithmetic = Arithmetic::snap;
  over.input = DType::bf16;
  over.reduction.leaf_k = copies.leaf_k;
  return {over, copies.k};
}

GemmArguments with_parts(const GemmArguments& g, void* workspace) {
  if (g.k == 0) return g;
  const Snap3Copies copies = snap3_copies(g.k, g.reduction.leaf_k);
  GemmArguments over = g;
  over.k = copies.k;
  over.reduction.leaf_k = copies.leaf_k;
  return with_copies(over, {true, true}, workspace);
}

namespace {

Launch split_launch(const SnapOperand& from, const SnapOperand& to, std::int64_t rows,
                    std::int64_t k, const Snap3Copies& copies, bool of_a, DType input,
                    const LaunchOptions& options) {
  const bool along_k = lies_along_k(from, rows, k);
  SplitArguments arguments;
  arguments.from = from.data;
  arguments.from_row = from.row_stride;
  arguments.from_k = from.k_stride;
  arguments.to = static_cast<std::uint16_t*>(const_cast<void*>(to.data));
  arguments.to_row = to.row_stride;
  arguments.rows = rows;
  arguments.k = k;
  arguments.leaf_k = copies.leaf_k;
  arguments.row_blocks = ceil_div(rows, along_k ? kSnapRowsAlongK : kSnapRowsAcross);
  arguments.units = arguments.row_blocks * copies.leaves;
  arguments.blocks = blocks_of(arguments.units, options);
  arguments.tries = tries_for(std::min(copies.leaf_k, k));
  arguments.from_chunks = in_chunks(from, k, kSplitPiece, kSplitPiece * size_of(input)) ? 1 : 0;
  arguments.of_a = of_a ? 1 : 0;
  return launch_of(split_index(options.chip, input, along_k), arguments);
}

}  // namespace

std::vector<Launch> split_launches(const GemmArguments& g, DType input, void* workspace,
                                   const LaunchOptions& options) {
  if (g.k == 0) return {};
  const GemmArguments over = with_parts(g, workspace);
  const Snap3Copies copies = snap3_copies(g.k, g.reduction.leaf_k);
  return {split_launch(a_of(g), a_of(over), g.m, g.k, copies, true, input, options),
          split_launch(b_of(g), b_of(over), g.n, g.k, copies, false, input, options)};
}

}  // namespace detgemm::hip

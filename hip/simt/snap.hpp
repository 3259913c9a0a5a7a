// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/snap.hpp"
#include "hip/arguments.hpp"
#include "hip/grid.hpp"
#include "hip/simt/tile.hpp"

/// What comes before a product of `snap`: an operand is rounded, leaf by leaf, to the grid that
/// core/arithmetic/snap.hpp defines, and written as ordinary bf16. Written for any GPU and waves of
/// any width, like simt/kernel.hpp.
namespace detgemm::hip::simt {

/// How 256 threads lie over the rows of an operand. A row's leaf belongs to `kMembers` threads,
/// of which each takes pieces of 8 products:
///
///   along K     thread t: row t / 16, pieces t % 16, t % 16 + 16, ...     neighbours: along K
///   along rows  thread t: row t % 64, pieces t / 64, t / 64 + 4, ...      neighbours: along rows
template <bool kAlongK>
struct SnapThreads {
  static constexpr int kRows = kAlongK ? kSnapRowsAlongK : kSnapRowsAcross;
  static constexpr int kMembers = kThreads / kRows;
  DETGEMM_DEVICE static int row(int thread) { return kAlongK ? thread / kMembers : thread % kRows; }
  DETGEMM_DEVICE static int member(int thread) {
    return kAlongK ? thread % kMembers : thread / kRows;
  }
  /// The thread that is `member` of a row.
  DETGEMM_DEVICE static int thread(int row, int member) {
    return kAlongK ? row * kMembers + member : member * kRows + row;
  }
};

/// 8 products of a leaf, of which the first `count` exist; the others count as zeros.
struct SnapPiece {
  std::uint16_t bits[kSnapPiece];
  int count;
};

/// A piece as it lies in an aligned chunk.
struct alignas(16) SnapChunk {
  std::uint32_t words[kSnapPiece / 2];
};

DETGEMM_DEVICE SnapPiece load_piece(const std::uint16_t* from, std::int64_t stride, bool chunks,
                                    std::int64_t left) {
  SnapPiece piece;
  piece.count = left < kSnapPiece ? static_cast<int>(left) : kSnapPiece;
  if (chunks && piece.count == kSnapPiece) {
    const SnapChunk chunk = *reinterpret_cast<const SnapChunk*>(from);
#pragma unroll
    for (int i = 0; i < kSnapPiece; ++i) {
      piece.bits[i] = static_cast<std::uint16_t>(chunk.words[i / 2] >> (i % 2 * 16));
    }
    return piece;
  }
#pragma unroll
  for (int i = 0; i < kSnapPiece; ++i) {
    // What lies beyond the leaf is not read: it is another leaf, or not the caller's.
    piece.bits[i] = 0;
    if (i < piece.count) piece.bits[i] = from[i * stride];
  }
  return piece;
}

DETGEMM_DEVICE void store_piece(const SnapPiece& piece, std::uint16_t* to, std::int64_t stride,
                                bool chunks) {
  if (chunks && piece.count == kSnapPiece) {
    SnapChunk chunk;
#pragma unroll
    for (int i = 0; i < kSnapPiece / 2; ++i) {
      chunk.words[i] = piece.bits[2 * i] | static_cast<std::uint32_t>(piece.bits[2 * i + 1]) << 16;
    }
    *reinterpret_cast<SnapChunk*>(to) = chunk;
    return;
  }
#pragma unroll
  for (int i = 0; i < kSnapPiece; ++i) {
    if (i < piece.count) to[i * stride] = piece.bits[i];
  }
}

/// Joins a value of every thread of a row, by way of shared memory; each of them has the result.
/// Every thread of the workgroup calls it.
template <class Threads>
struct RowJoin {
  std::uint64_t (&shared)[2][kThreads];
  int thread;
  int row;
  int buffer = 0;

  template <class Both>
  DETGEMM_DEVICE std::uint64_t operator()(std::uint64_t value, Both&& both) {
    // The other buffer may still be read by waves that are behind.
    buffer ^= 1;
    shared[buffer][thread] = value;
    block_barrier();
    std::uint64_t all = shared[buffer][Threads::thread(row, 0)];
#pragma unroll
    for (int i = 1; i < Threads::kMembers; ++i) {
      all = both(all, shared[buffer][Threads::thread(row, i)]);
    }
    return all;
  }
};

/// The grid of a row's leaf, or kSnapNone: each_bits(use) calls use(bits) for the numbers of this
/// thread. Maximum and sums are exact, so it does not matter which thread adds what.
///
///   max exponent -> first grid t -> sum of squares at t, at t + 1, ... until one is small enough
template <class Join, class Each>
DETGEMM_DEVICE int search_grid(Join& join, int tries, Each&& each_bits) {
  int most = arithmetic::kSnapZero;
  each_bits([&](std::uint16_t bits) {
    const int exponent = arithmetic::snap_exponent(bits);
    most = exponent > most ? exponent : most;
  });
  const auto larger = [](std::uint64_t x, std::uint64_t y) { return x > y ? x : y; };
  most = static_cast<int>(join(static_cast<std::uint64_t>(most - arithmetic::kSnapZero), larger)) +
         arithmetic::kSnapZero;
  int t = arithmetic::snap_first_grid(most);
  bool found = false;
#pragma unroll 1
  for (; tries > 0; --tries) {
    std::uint64_t sum = 0;
    if (!found) each_bits([&](std::uint16_t bits) { sum += arithmetic::snap_square(bits, t); });
    const auto plus = [](std::uint64_t x, std::uint64_t y) { return x + y; };
    sum = join(sum, plus);
    if (found) continue;
    found = sum <= arithmetic::kSnapLimit;
    if (!found) ++t;
  }
  return !found || t > arithmetic::kSnapMost ? arithmetic::kSnapNone : t;
}

/// Snaps the leaves that belong to this workgroup: kRows rows of one leaf at a time, leaf by leaf.
/// `to` may be `from`: a thread writes what it alone has read, and after it was read for the last
/// time.
template <bool kAlongK>
DETGEMM_DEVICE void snap_leaves(const SnapArguments& argument) {
  using Threads = SnapThreads<kAlongK>;
  __shared__ std::uint64_t shared[2][kThreads];
  const int thread = thread_index();
  const int row = Threads::row(thread);
  const int member = Threads::member(thread);
  RowJoin<Threads> join{shared, thread, row};
#pragma unroll 1
  for (std::int64_t unit = block_index(); unit < reload(argument).units;
       unit += reload(argument).blocks) {
    const SnapArguments& a = reload(argument);
    const std::int64_t begin = unit / a.row_blocks * a.leaf_k;
    const std::int64_t at = unit % a.row_blocks * Threads::kRows + row;
    std::int64_t count = a.k - begin < a.leaf_k ? a.k - begin : a.leaf_k;
    if (at >= a.rows) count = 0;  // takes part in the barriers alone
    const std::uint16_t* from = a.from + (at * a.from_row + begin * a.from_k);
    std::uint16_t* to = a.to + (at * a.to_row + begin * a.to_k);
    const std::int64_t from_k = a.from_k;
    const bool chunks = a.from_chunks != 0;
    const auto each_piece = [&](auto&& use) {
#pragma unroll 1
      for (std::int64_t i = std::int64_t{member} * kSnapPiece; i < count;
           i += Threads::kMembers * kSnapPiece) {
        use(i, load_piece(from + i * from_k, from_k, chunks, count - i));
      }
    };

    const int t = search_grid(join, reload(argument).tries, [&](auto&& use) {
      each_piece([&](std::int64_t, const SnapPiece& piece) {
#pragma unroll
        for (int i = 0; i < kSnapPiece; ++i) use(piece.bits[i]);
      });
    });

    const std::int64_t to_k = reload(argument).to_k;
    const bool to_chunks = reload(argument).to_chunks != 0;
    each_piece([&](std::int64_t i, SnapPiece piece) {
#pragma unroll
      for (int j = 0; j < kSnapPiece; ++j) piece.bits[j] = arithmetic::snapped(piece.bits[j], t);
      store_piece(piece, to + i * to_k, to_k, to_chunks);
    });
  }
}

}  // namespace detgemm::hip::simt

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/cuda/sm90/fp8_machine.hpp"
// The first one defines what the others are compiled with.
#include <gtest/gtest.h>

#include "cuda/sm90/fp8/lines.cuh"
#include "cuda/sm90/fp8/sums.cuh"

namespace detgemm::test {

/// Where the scales of a tile's lines begin, and how many lines there are.
struct LinesOfTile {
  int x_first, y_first, x_lines, y_lines;
};

/// The barriers of the scales of whole lines, for one consumer thread at a time: all threads that
/// bring scales run before it, and other warps are taken to have read as it has.
template <class T>
struct LineMachine {
  const cuda::sm90::SharedLayout<T>& shared;
  int brought = 0, read = 0;  ///< arrivals

  explicit LineMachine(const cuda::sm90::SharedLayout<T>& all) : shared(all) {}

  static int slot_of(int turn) { return turn % T::kLineSlots; }
  static std::uint32_t parity_of(int turn) {
    return static_cast<std::uint32_t>(turn / T::kLineSlots % 2);
  }

  /// What has been read may be overwritten at once.
  void arrive(std::uint32_t barrier) {
    using namespace cuda::sm90;
    for (int slot = 0; slot < T::kLineSlots; ++slot) {
      if (barrier == lines_full(shared, slot)) ++brought;
      if (barrier != lines_empty(shared, slot)) continue;
      ++read;
      std::memset(machine.shared.data() + line_slot(shared, slot), 0xff, T::kLineBytes);
    }
  }

  /// The tile is the CTA's `turn`-th: the producers have brought its scales into a slot that begins
  /// empty or has been handed back, and the consumer waits for that slot.
  void multiply(const cuda::sm90::Fp8Shape& fp8, const cuda::sm90::LaunchShape& shape, int turn,
                int group, const LinesOfTile& at, cuda::sm90::Accumulators<T>& sum) {
    using namespace cuda::sm90;
    const unsigned mine = threadIdx.x;
    expected_barrier = lines_empty(shared, slot_of(turn));
    expected_parity = parity_of(turn) ^ 1U;
    brought = read = waits = 0;
    for (int i = 0; i < kScaleThreads; ++i) {
      threadIdx.x = static_cast<unsigned>(64 + i);
      LineSlots<T> own;
      for (int t = 0; t < turn; ++t) own.cursor.advance();
      own.bring(shared, fp8, at.x_first, at.y_first, at.x_lines, at.y_lines);
    }
    threadIdx.x = mine;
    EXPECT_EQ(brought, kScaleThreads);
    EXPECT_EQ(waits, kScaleThreads);
    expected_barrier = lines_full(shared, slot_of(turn));
    expected_parity = parity_of(turn);
    RingCursor<T::kLineSlots> cursor;
    for (int t = 0; t < turn; ++t) cursor.advance();
    multiply_by_lines<T>(shared, cursor, shape.swapped, group, sum);
    EXPECT_EQ(waits, kScaleThreads + 1);
    EXPECT_EQ(read, mine % 32 == 0 ? 1 : 0);
    EXPECT_EQ(cursor.stage, slot_of(turn + 1));
  }

  void wait(std::uint32_t barrier, std::uint32_t parity) {
    EXPECT_EQ(barrier, expected_barrier);
    EXPECT_EQ(parity, expected_parity);
    ++waits;
  }

 private:
  std::uint32_t expected_barrier = 0, expected_parity = 0;
  int waits = 0;
};

}  // namespace detgemm::test

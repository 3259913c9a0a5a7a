// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/cuda/sm90/fp8_machine.hpp"
// The first one defines what the others are compiled with.
#include <gtest/gtest.h>

#include <functional>

#include "cuda/sm90/fp8/lines.cuh"
#include "cuda/sm90/fp8/sums.cuh"

namespace detgemm::test {

/// The slots of scales, for one consumer thread at a time: when it waits for one, or for the stage
/// that one comes with, those that bring scales have filled it, and other warps are taken to have
/// read as this one has.
template <class T>
struct SlotMachine {
  const cuda::sm90::SharedLayout<T>& shared;
  int brought = 0, read = 0;  ///< arrivals
  int turn = 0;               ///< slots that have been filled
  /// Brings the scales of the next turn, as every thread that does so.
  std::function<void()> bring;

  explicit SlotMachine(const cuda::sm90::SharedLayout<T>& all) : shared(all) {}

  static int slot_of(int turn) { return turn % T::kSlots; }
  static std::uint32_t parity_of(int turn) {
    return static_cast<std::uint32_t>(turn / T::kSlots % 2);
  }
  std::uint32_t full(int slot) const {
    return T::kStageScales ? shared.full + 8 * static_cast<std::uint32_t>(slot)
                           : cuda::sm90::scales_full(shared, slot);
  }
  std::uint32_t empty(int slot) const {
    return T::kStageScales ? shared.empty + 8 * static_cast<std::uint32_t>(slot)
                           : cuda::sm90::scales_empty(shared, slot);
  }
  /// Barriers of stages are the test's, but for those that bring scales.
  bool owns(std::uint32_t barrier) const {
    if constexpr (T::kStageScales) return bringing;
    return barrier >= full(0) && barrier < full(T::kSlots);
  }

  void arrive(std::uint32_t barrier) {
    for (int slot = 0; slot < T::kSlots; ++slot) {
      if (barrier == full(slot)) ++brought;
      if (barrier != empty(slot)) continue;
      ++read;
      overwrite(slot);
    }
  }
  /// What has been read may be overwritten at once.
  void overwrite(int slot) {
    std::memset(machine.shared.data() + cuda::sm90::scale_slot(shared, slot), 0xff, T::kSlotBytes);
  }
  void wait(std::uint32_t barrier, std::uint32_t parity) {
    if (bringing) {  // a slot begins empty, or was handed back
      EXPECT_EQ(barrier, empty(slot_of(turn)));
      EXPECT_EQ(parity, parity_of(turn) ^ 1U);
      return;
    }
    EXPECT_EQ(barrier, full(slot_of(turn)));
    EXPECT_EQ(parity, parity_of(turn));
    fill();
  }
  void fill() {
    const unsigned mine = threadIdx.x;
    brought = 0;
    bringing = true;
    bring();
    bringing = false;
    threadIdx.x = mine;
    ++turn;
  }

 private:
  bool bringing = false;
};

/// Scales as all threads bring them: two warps, or, where they are in rows, two lanes.
template <class T>
struct Bringers {
  std::vector<cuda::sm90::TileScales<T>> any{cuda::sm90::kScaleThreads};
  std::vector<cuda::sm90::ScaleSlots<T>> slots{cuda::sm90::kScaleThreads};
  cuda::sm90::RowCopy<T> rows;
  cuda::sm90::ColumnCopies<T> columns;
  bool in_rows = false;

  /// `x_array`: lines of the array, of which a group has those before x_all.
  void begin(const cuda::sm90::Fp8Shape& fp8, int x_first, int y_first, int x_all, int y_all,
             int x_array, int leaves) {
    in_rows = fp8.in_rows;
    each([&](auto&, auto& scales) {
      scales.begin(fp8, x_first, y_first, in_rows ? x_array : x_all, y_all, leaves);
    });
  }
  void bring(SlotMachine<T>& machine, const cuda::sm90::Fp8Shape& fp8) {
    // A leaf's scales come with the first of its stages.
    const bool is_first = !T::kStageScales || machine.turn % fp8.leaf_blocks == 0;
    const std::uint32_t before = test::machine.bulk_bytes;
    test::machine.announced = 0;
    each([&](auto& slot, auto& scales) { slot.bring(machine.shared, fp8, is_first, scales); });
    EXPECT_EQ(machine.brought, in_rows ? cuda::sm90::kRowThreads : cuda::sm90::kScaleThreads);
    EXPECT_EQ(test::machine.bulk_bytes - before, test::machine.announced);
    EXPECT_LE(test::machine.announced, 4U * T::kRowScales);
  }

 private:
  template <class Act>
  void each(Act&& act) {
    if (in_rows) {
      act(slots[0], rows);
      act(slots[1], columns);
      return;
    }
    for (std::size_t i = 0; i < any.size(); ++i) {
      threadIdx.x = static_cast<unsigned>(64 + i);
      act(slots[i], any[i]);
    }
  }
};

}  // namespace detgemm::test

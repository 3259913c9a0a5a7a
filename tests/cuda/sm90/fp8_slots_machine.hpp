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

/// The slots of scales, for one consumer thread at a time: when it waits for one, those that bring
/// scales have filled it, and other warps are taken to have read as this one has.
template <class T>
struct SlotMachine {
  const cuda::sm90::SharedLayout<T>& shared;
  int brought = 0, read = 0;  ///< arrivals
  int turn = 0;               ///< slots that the consumer has waited for
  /// Brings the scales of the next turn, as every thread that does so.
  std::function<void()> bring;

  explicit SlotMachine(const cuda::sm90::SharedLayout<T>& all) : shared(all) {}

  static int slot_of(int turn) { return turn % T::kSlots; }
  static std::uint32_t parity_of(int turn) {
    return static_cast<std::uint32_t>(turn / T::kSlots % 2);
  }
  bool owns(std::uint32_t barrier) const {
    using namespace cuda::sm90;
    return barrier >= scales_full(shared, 0) && barrier < scales_full(shared, T::kSlots);
  }

  /// What has been read may be overwritten at once.
  void arrive(std::uint32_t barrier) {
    using namespace cuda::sm90;
    for (int slot = 0; slot < T::kSlots; ++slot) {
      if (barrier == scales_full(shared, slot)) ++brought;
      if (barrier != scales_empty(shared, slot)) continue;
      ++read;
      std::memset(machine.shared.data() + scale_slot(shared, slot), 0xff, T::kSlotBytes);
    }
  }
  void wait(std::uint32_t barrier, std::uint32_t parity) {
    using namespace cuda::sm90;
    if (bringing) {  // a slot begins empty, or was handed back
      EXPECT_EQ(barrier, scales_empty(shared, slot_of(turn)));
      EXPECT_EQ(parity, parity_of(turn) ^ 1U);
      return;
    }
    EXPECT_EQ(barrier, scales_full(shared, slot_of(turn)));
    EXPECT_EQ(parity, parity_of(turn));
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

/// Scales as all threads bring them: two warps, or one where they lie in rows.
template <class T>
struct Bringers {
  std::vector<cuda::sm90::TileScales<T>> any{cuda::sm90::kScaleThreads};
  std::vector<cuda::sm90::RowCopies<T>> rows{cuda::sm90::kRowThreads};
  std::vector<cuda::sm90::ScaleSlots<T>> slots{cuda::sm90::kScaleThreads};
  bool in_rows = false;

  template <class Act>
  void each(Act&& act) {
    const std::size_t count = in_rows ? rows.size() : any.size();
    for (std::size_t i = 0; i < count; ++i) {
      threadIdx.x = static_cast<unsigned>(64 + i);
      if (in_rows) {
        act(slots[i], rows[i]);
      } else {
        act(slots[i], any[i]);
      }
    }
  }
  void begin(const cuda::sm90::Fp8Shape& fp8, int x_first, int y_first, int x_all, int y_all) {
    in_rows = fp8.in_rows;
    each([&](auto&, auto& scales) { scales.begin(fp8, x_first, y_first, x_all, y_all); });
  }
  void bring(SlotMachine<T>& machine, const cuda::sm90::Fp8Shape& fp8) {
    each([&](auto& slot, auto& scales) { slot.bring(machine.shared, fp8, scales); });
    EXPECT_EQ(machine.brought, in_rows ? cuda::sm90::kRowThreads : cuda::sm90::kScaleThreads);
  }
};

}  // namespace detgemm::test

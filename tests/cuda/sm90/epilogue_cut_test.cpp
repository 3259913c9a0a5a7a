// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// store_cut on the host, thread by thread: the rows of a group are stored, and none of the next.

#include "tests/cuda/sm90/epilogue_machine.hpp"
// The first one defines what the others are compiled with.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "cuda/sm90/epilogue/cut.cuh"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::uint16_t kUntouched = 0x5a3c;

/// D of 200 rows, in which the rows of a group end at `end`; two tiles of it, one behind the other.
template <class T>
void check_cut(int end, int x0, int columns, int y0) {
  constexpr int kRows = 200;
  const int ld = columns + 16;
  std::vector<std::uint16_t> memory(static_cast<std::size_t>(kRows * ld + 64), kUntouched);
  test::output_map = {memory.data(), columns, kRows, ld, T::kDSlab, 16};
  std::mt19937 random(static_cast<unsigned>(end + x0));
  std::vector<float> tile(static_cast<std::size_t>(T::kX * T::kN));
  for (float& one : tile) one = static_cast<float>(static_cast<int>(random() % 255) - 127);
  GemmArguments g{};
  g.d = memory.data();
  g.ds = {ld, 1};
  LaunchShape shape;
  shape.x_rows = end;
  shape.y_rows = columns;
  shape.output = DType::bf16;
  const SharedLayout<T> shared(nullptr);
  for (int group = 0; group < T::kGroups; ++group) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 128; ++t) {
      threads.emplace_back([&, t] {
        threadIdx.x = static_cast<unsigned>(group + 1) * 128 + t;
        Accumulators<T> acc;
        for (int i = 0; i < T::kBlocks; ++i) {
          for (int j = 0; j < T::kN / 2; ++j) {
            const int x = (group * T::kBlocks + i) * 64 +
                          static_cast<int>(t / 32 * 16 + t % 32 / 4) + j / 2 % 2 * 8;
            const int y = j / 4 * 8 + static_cast<int>(t % 4) * 2 + j % 2;
            acc[i][j] = tile[static_cast<std::size_t>(x * T::kN + y)];
          }
        }
        int box = 0;
        store_cut<T, true>(shared, {}, shape, g, group, box, acc, x0, y0, 0);
        store_cut<T, true>(shared, {}, shape, g, group, box, acc, x0, y0 + T::kN, 0);
        ptx::tma_store_wait_read<0>();
      });
    }
    for (std::thread& one : threads) one.join();
  }
  int stored = 0;
  for (int x = 0; x < kRows; ++x) {
    for (int y = 0; y < ld; ++y) {
      const bool inside = x >= x0 && x < std::min(end, x0 + T::kX) && y >= y0 &&
                          y < std::min(columns, y0 + 2 * T::kN);
      const float value =
          inside ? tile[static_cast<std::size_t>((x - x0) * T::kN + (y - y0) % T::kN)] : 0.0F;
      const std::uint16_t want = inside ? arithmetic::to_bf16(value) : kUntouched;
      ASSERT_EQ(memory[static_cast<std::size_t>(x * ld + y)], want)
          << name(T::kGeometry) << ", group ends at " << end << ", row " << x << ", column " << y;
      stored += inside;
    }
  }
  EXPECT_GT(stored, 0);
}

template <Geometry kG>
struct CutTile : Tile<DType::bf16, kG, false, false> {
  static constexpr bool kCutsBoxes = true;
};

template <Geometry kG>
void check_all() {
  using T = CutTile<kG>;
  static_assert(kCutsBoxes<T>);
  // Inside a warp's rows, at their ends, in each warp, and behind the tile.
  for (const int end : {6, 21, 64, 67, 199}) check_cut<T>(end, 5, 2 * kG.n - 8, 0);
  check_cut<T>(75, 70, 2 * kG.n + 24, 16);
}

TEST(Sm90Epilogue, BoxesThatAGroupEndsInAreCut) {
  using namespace geometry;
  check_all<tile(1, 1, 16)>();
  check_all<tile(2, 1, 192)>();
  check_all<tile(2, 2, 128)>();
}

}  // namespace
}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The epilogues of the SM90 kernels on the host, thread by thread: every output of a tile has the
// bits of the epilogue's own operations, wherever D begins, and nothing else is written.

#include "tests/cuda/sm90/epilogue_machine.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>

#include "cuda/sm90/epilogue/finish.cuh"

namespace detgemm::cuda::sm90 {
namespace {

using arithmetic::bits_of;
using arithmetic::float_of;

constexpr std::uint16_t kPoison = 0xa5c3;

struct Where {
  DType output;
  Activation activation;
  int x_rows, y_rows, x0, y0;  ///< of the problem, and where the tile begins
  int ld, begin;               ///< elements from line to line, and from a multiple of 16 bytes
};

/// An accumulator: mostly of the size of activations' inputs, some special and some of any bits.
float drawn(std::mt19937& random) {
  const auto word = static_cast<std::uint32_t>(random());
  constexpr float kSpecial[] = {0.0F, -0.0F, INFINITY, -INFINITY, NAN, -11.0F, -112.0F, 0x1p-140F};
  if (word % 16 == 0) return kSpecial[word / 16 % 8];
  if (word % 16 == 1) return float_of(static_cast<std::uint32_t>(random()));
  return std::normal_distribution<float>(0, word % 16 < 8 ? 1.0F : 20.0F)(random);
}

float row_of(std::vector<float>& tile, int x, int y, int n) {
  return tile[static_cast<std::size_t>(x * n + y)];
}

/// What thread `t` of a consumer group holds of a tile.
template <class T>
std::unique_ptr<float[][T::kN / 2]> accumulators(std::vector<float>& tile, int group, unsigned t) {
  auto acc = std::make_unique<float[][T::kN / 2]>(T::kBlocks);
  for (int i = 0; i < T::kBlocks; ++i) {
    for (int j = 0; j < T::kN / 2; ++j) {
      const int x = (group * T::kBlocks + i) * 64 + static_cast<int>(t / 32 * 16 + t % 32 / 4) +
                    j / 2 % 2 * 8;
      acc[i][j] = row_of(tile, x, j / 4 * 8 + static_cast<int>(t % 4) * 2 + j % 2, T::kN);
    }
  }
  return acc;
}

/// Runs the epilogue of a tile whose accumulators are `tile`, (kX, kN), and returns D with poison
/// around it.
template <class T>
std::vector<std::uint16_t> run(const Where& w, std::vector<float>& tile) {
  std::vector<std::uint16_t> memory(static_cast<std::size_t>(w.begin + w.x_rows * w.ld + 64),
                                    kPoison);
  GemmArguments g{};
  g.d = memory.data() + w.begin;
  g.ds = {w.ld, 1};
  g.output = w.output;
  g.epilogue.activation = w.activation;
  LaunchShape shape;
  shape.x_rows = w.x_rows;
  shape.y_rows = w.y_rows;
  shape.d_y_contiguous = true;
  shape.output = w.output;
  shape.in_registers = true;
  const SharedLayout<T> shared(nullptr);
  for (int group = 0; group < T::kGroups; ++group) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 128; ++t) {
      threads.emplace_back([&, t] {
        threadIdx.x = static_cast<unsigned>(group + 1) * 128 + t;
        const auto acc = accumulators<T>(tile, group, t);
        finish_general<T>(shared, g, shape, group, w.x0, w.y0,
                          *reinterpret_cast<const Accumulators<T>*>(acc.get()));
      });
    }
    for (std::thread& one : threads) one.join();
  }
  return memory;
}

template <class T>
void check(const Where& w, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> tile(static_cast<std::size_t>(T::kX * T::kN));
  for (float& one : tile) one = drawn(random);
  const auto found = run<T>(w, tile);
  auto want = std::vector<std::uint16_t>(found.size(), kPoison);
  Epilogue epilogue;
  epilogue.activation = w.activation;
  for (int x = 0; x < std::min(T::kX, w.x_rows - w.x0); ++x) {
    for (int y = 0; y < std::min(T::kN, w.y_rows - w.y0); ++y) {
      store_rounded(want.data(), w.begin + (w.x0 + x) * w.ld + w.y0 + y, w.output,
                    apply_epilogue(epilogue, row_of(tile, x, y, T::kN), 0, 0));
    }
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(found[i], want[i]) << name(T::kGeometry) << ", " << name(w.output) << ", activation "
                                 << static_cast<int>(w.activation) << ", ldd " << w.ld << " from "
                                 << w.begin << ", element " << i;
  }
}

template <Geometry kG>
void check_all() {
  using T = Tile<DType::bf16, kG, false, false>;
  const int rows = std::min(T::kXLoad, 100), columns = T::kN + 3;
  unsigned seed = 0;
  for (const DType output : {DType::bf16, DType::fp16}) {
    for (const Activation activation :
         {Activation::none, Activation::silu, Activation::gelu_tanh, Activation::gelu}) {
      // Lines at multiples of 16 bytes, of 8, of 2; a tile that ends inside, and one that does not.
      check<T>({output, activation, rows, columns, 0, 3, columns + 5, 1}, ++seed);
      check<T>({output, activation, rows, T::kN, 0, 0, (T::kN + 7) / 8 * 8, 0}, ++seed);
      check<T>({output, activation, rows + 5, T::kN - 3, 5, 0, T::kN + 1, 6}, ++seed);
      check<T>({output, activation, 3, 4, 0, 0, 4, 4}, ++seed);
    }
  }
}

TEST(Sm90Epilogue, EveryTileHasTheBitsOfTheOperationsWhereverDBegins) {
  using namespace geometry;
  check_all<tile(2, 1, 256)>();
  check_all<tile(2, 2, 176)>();
  check_all<tile(1, 1, 144)>();
  check_all<stream(16, 248)>();
  check_all<stream(8, 24)>();
  check_all<narrow(8, 4, 1)>();
}

/// Puts the C of a tile where the ring has it, in 16 bits: (x, y) of D's extents, along x or along
/// y.
template <class T>
void fill_ring(const SharedLayout<T>& shared, int stage, bool along_x, int ld,
               const std::vector<std::uint16_t>& c, int x_rows, int y_rows, int x0, int y0) {
  using Slabs = CSlabs<T, true>;
  for (int x = 0; x < T::kX && x0 + x < x_rows; ++x) {
    for (int y = 0; y < T::kN && y0 + y < y_rows; ++y) {
      const int slab = y / Slabs::kSlab, in_slab = y % Slabs::kSlab;
      const std::uint32_t block =
          shared.x((stage + slab / Slabs::kPerStage) % T::kStages) +
          static_cast<std::uint32_t>(slab % Slabs::kPerStage * Slabs::kBytes +
                                     x / 64 * Slabs::kBlockBytes);
      const int row = along_x ? in_slab : x % 64, column = along_x ? x % 64 : in_slab;
      const std::uint32_t chunk = along_x ? swizzled<128>(block, row, column / 8)
                                          : swizzled<Slabs::kRowBytes>(block, row, column / 8);
      test::store(
          chunk + static_cast<std::uint32_t>(column % 8 * 2),
          c[static_cast<std::size_t>(along_x ? (y0 + y) * ld + x0 + x : (x0 + x) * ld + y0 + y)]);
    }
  }
}

/// D through TMA, whose lines are at multiples of 16 bytes, and C in 16 bits through the ring.
struct Through {
  DType output;
  Activation activation;
  bool swapped;        ///< the bias runs along x
  bool along_x;        ///< and lines of D do
  int x_rows, y_rows;  ///< of the problem
  int x0, y0;          ///< where the first tile begins; another one is behind it along y
};

/// Runs the whole epilogue of two tiles with the accumulators `tile`, one after the other, and
/// returns D with poison around it.
template <class T>
std::vector<std::uint16_t> run_through(const Through& w, int ld, const Epilogue& epilogue,
                                       const std::vector<float>& bias,
                                       const std::vector<std::uint16_t>& c,
                                       std::vector<float>& tile) {
  const int lines = w.along_x ? w.y_rows : w.x_rows;
  std::vector<std::uint16_t> memory(static_cast<std::size_t>(lines * ld + 64), kPoison);
  // As make_output_map has it.
  const int slab = takes_chunks(w.activation) ? T::kActivatedSlab : T::kDSlab;
  test::output_map = w.along_x ? test::OutputMap{memory.data(), w.x_rows, w.y_rows, ld, 64, slab}
                               : test::OutputMap{memory.data(), w.y_rows, w.x_rows, ld, slab, 16};
  GemmArguments g{};
  g.d = memory.data();
  g.ds = w.along_x != w.swapped ? Strides{1, ld} : Strides{ld, 1};
  g.output = w.output;
  g.epilogue = epilogue;
  g.bias = bias.data();
  g.bias_type = DType::fp32;
  g.c_type = w.output;
  LaunchShape shape;
  shape.c.is_16 = true;
  shape.c.x_contiguous = w.along_x;
  shape.x_rows = w.x_rows;
  shape.y_rows = w.y_rows;
  shape.d_x_contiguous = w.along_x;
  shape.d_y_contiguous = !w.along_x;
  shape.swapped = w.swapped;
  shape.output = w.output;
  shape.in_registers = shape.finishes = shape.d_by_tma = true;
  const LaunchMaps maps{};
  const SharedLayout<T> shared(nullptr);
  for (int group = 0; group < T::kGroups; ++group) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 128; ++t) {
      threads.emplace_back([&, t] {
        threadIdx.x = static_cast<unsigned>(group + 1) * 128 + t;
        int box_index = 0;
        RingCursor<T::kStages> cursor;
        for (int y0 = w.y0; y0 < w.y0 + 2 * T::kN; y0 += T::kN) {
          const auto acc = accumulators<T>(tile, group, t);
          if (epilogue.beta != 0.0F) {
            ptx::bar_sync(0, 128);
            if (t == 0) {
              fill_ring<T>(shared, cursor.stage, w.along_x, ld, c, w.x_rows, w.y_rows, w.x0, y0);
            }
            ptx::bar_sync(0, 128);
          }
          TileBias<T> of_tile;
          if constexpr (T::kLoadsBiasEarly) of_tile.load(g, shape, group, w.x0, y0);
          finish<T>(shared, maps, shape, g, group, cursor, of_tile, box_index, w.x0, y0,
                    *reinterpret_cast<Accumulators<T>*>(acc.get()));
        }
        test::run_stores(0);
      });
    }
    for (std::thread& one : threads) one.join();
  }
  return memory;
}

template <class T>
void check_through(const Through& w, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> tile(static_cast<std::size_t>(T::kX * T::kN));
  for (float& one : tile) one = drawn(random);
  std::vector<float> bias(static_cast<std::size_t>(w.swapped ? w.x_rows : w.y_rows));
  for (float& one : bias) one = std::normal_distribution<float>()(random);
  const Epilogue epilogue{seed % 2 == 0 ? 1.0F : 0.75F, seed % 3 == 0 ? 0.0F : -1.5F, seed % 7 < 4,
                          w.activation};
  const int ld = (w.along_x ? w.x_rows : w.y_rows) + 8;
  std::vector<std::uint16_t> c(static_cast<std::size_t>((w.along_x ? w.y_rows : w.x_rows) * ld));
  for (std::uint16_t& one : c) {
    const float value = std::normal_distribution<float>()(random);
    one = w.output == DType::bf16 ? arithmetic::to_bf16(value) : arithmetic::to_fp16(value);
  }
  const auto found = run_through<T>(w, ld, epilogue, bias, c, tile);
  auto want = std::vector<std::uint16_t>(found.size(), kPoison);
  for (int x = w.x0; x < std::min(w.x0 + T::kX, w.x_rows); ++x) {
    for (int y = w.y0; y < std::min(w.y0 + 2 * T::kN, w.y_rows); ++y) {
      const int at = w.along_x ? y * ld + x : x * ld + y;
      const std::uint16_t added = c[static_cast<std::size_t>(at)];
      const float of_c = w.output == DType::bf16 ? arithmetic::to_float<DType::bf16>(added)
                                                 : arithmetic::to_float<DType::fp16>(added);
      store_rounded(want.data(), at, w.output,
                    apply_epilogue(epilogue, row_of(tile, x - w.x0, (y - w.y0) % T::kN, T::kN),
                                   of_c, bias[static_cast<std::size_t>(w.swapped ? x : y)]));
    }
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(found[i], want[i]) << name(T::kGeometry) << ", " << name(w.output) << ", activation "
                                 << static_cast<int>(w.activation) << ", swapped " << w.swapped
                                 << ", along x " << w.along_x << ", element " << i;
  }
}

template <Geometry kG>
void check_all_through() {
  using T = Tile<DType::bf16, kG, false, false>;
  unsigned seed = 0;
  for (const bool swapped : {false, true}) {
    for (const bool along_x : {false, true}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu,
                                          Activation::silu, Activation::gelu_tanh}) {
        const DType output = ++seed % 2 == 0 ? DType::bf16 : DType::fp16;
        // Tiles that end inside of D, and tiles of which D ends inside. Extents along lines are
        // whole chunks.
        const int over = seed % 4 < 2 ? 24 : -8;
        const int x_rows = 8 + T::kX + over + (along_x ? 0 : 3);
        const int y_rows = 16 + 2 * T::kN + (over < 0 ? -16 : over) + (along_x ? -5 : 0);
        check_through<T>({output, activation, swapped, along_x, x_rows, y_rows, 8, 16}, seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Sm90Epilogue, OutputsThatLeaveThroughTmaHaveTheBitsOfTheOperationsInEitherRole) {
  using namespace geometry;
  // Boxes of 64, of which from 96 columns on the last one overlaps, and of 32; activated, of 64, 32
  // and 16. Of 56 and 88 the last one of those overlaps too.
  check_all_through<tile(2, 2, 64)>();
  check_all_through<tile(2, 1, 96)>();
  check_all_through<tile(3, 1, 48)>();
  check_all_through<tile(1, 1, 56)>();
  check_all_through<narrow(8, 4, 1)>();
  check_all_through<quad(88)>();
}

/// The special function unit of this test is off by as much as its documentation allows.
TEST(Sm90Epilogue, RoundedActivationsAreRightWhereverTheyAreKnown) {
  std::mt19937 random(5);
  for (const Activation activation : {Activation::silu, Activation::gelu_tanh}) {
    const Logistic logistic = Logistic::of(activation);
    int known = 0, wrong = 0, planted = 0;
    for (int i = 0; i < 1 << 21; ++i) {
      const float x =
          std::uniform_real_distribution<float>(-12, 12)(random) * (i % 2 == 0 ? 1.0F : 0x1p-6F);
      const float value =
          activation == Activation::silu ? arithmetic::silu(x) : arithmetic::gelu_tanh(x);
      for (const DType output : {DType::bf16, DType::fp16}) {
        const std::uint32_t want = pack(value, value, output);
        std::uint32_t packed = 0;
        if (activate_rounded(logistic, x, x, output, packed)) {
          ++known;
          wrong += packed != want ? 1 : 0;
        }
        Logistic narrow = logistic;
        narrow.error /= 64;
        narrow.error_z /= 64;
        if (activate_rounded(narrow, x, x, output, packed)) planted += packed != want ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(known, (1 << 22) / 100 * 95);
    EXPECT_GT(planted, 0) << "a bound below the error is not noticed";
  }
}

}  // namespace
}  // namespace detgemm::cuda::sm90

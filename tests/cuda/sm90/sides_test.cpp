// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/tile/sides.hpp"

#include <gtest/gtest.h>

#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::test {
namespace {

using namespace cuda::sm90;

/// Where element k of a row lies, in elements, by the operand's own description.
std::int64_t place(const Operand& o, std::int64_t row, std::int64_t k) {
  return o.mn_major ? k * o.ld + row : row * o.ld + k;
}

/// All elements of a problem lie where the strides say, for both sides and both majors.
void expect_same_places(const GemmArguments& g, bool swapped) {
  const Sides p = make_sides(g, swapped, false, false);
  const Operand& a = swapped ? p.y : p.x;
  const Operand& b = swapped ? p.x : p.y;
  ASSERT_EQ(p.swapped, swapped);
  ASSERT_EQ(p.k, g.k);
  ASSERT_EQ(a.rows, g.m);
  ASSERT_EQ(b.rows, g.n);
  ASSERT_EQ(a.data, g.a);
  ASSERT_EQ(b.data, g.b);
  for (std::int64_t k = 0; k < g.k; ++k) {
    for (std::int64_t i = 0; i < g.m; ++i) {
      ASSERT_EQ(place(a, i, k), i * g.as.row + k * g.as.col);
    }
    for (std::int64_t j = 0; j < g.n; ++j) {
      ASSERT_EQ(place(b, j, k), k * g.bs.row + j * g.bs.col);
    }
  }
  for (std::int64_t i = 0; i < g.m; ++i) {
    for (std::int64_t j = 0; j < g.n; ++j) {
      const std::int64_t x = swapped ? j : i;
      const std::int64_t y = swapped ? i : j;
      ASSERT_EQ(x * p.d_x + y * p.d_y, i * g.ds.row + j * g.ds.col);
    }
  }
  // A box of D is written row by row of memory: along x only if that is where neighbours lie.
  if (p.d_x_contiguous()) {
    ASSERT_EQ(p.d_x, 1);
  } else if (p.y.rows > 1 && p.x.rows > 1) {
    ASSERT_EQ(p.d_y, 1);
  }
}

TEST(Sm90Problem, OperandsLieWhereTheStridesSay) {
  for (const std::int64_t m : {1, 2, 7}) {
    for (const std::int64_t n : {1, 2, 9}) {
      for (const std::int64_t k : {0, 1, 2, 17}) {
        for (int bits = 0; bits < 16; ++bits) {
          Layout l{m, n, k, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, 4};
          SCOPED_TRACE(text(l));
          expect_same_places(arguments(l), (bits & 8) != 0);
        }
      }
    }
  }
}

/// An extent of 1 has a stride of 0 by then; whatever a map needs in its place must be legal.
TEST(Sm90Problem, ExtentsOfOneGetLegalDistances) {
  const Operand row = make_operand(nullptr, 1, 13, 0, 1);
  EXPECT_FALSE(row.mn_major);
  EXPECT_GE(row.ld, 13);
  EXPECT_EQ(row.ld * 2 % 16, 0);
  const Operand column = make_operand(nullptr, 5, 1, 24, 0);  // one k: its stride means nothing
  EXPECT_FALSE(column.mn_major);
  EXPECT_EQ(column.ld, 24);
  const Operand along_mn = make_operand(nullptr, 5, 1, 1, 0);
  EXPECT_FALSE(along_mn.mn_major);
  EXPECT_EQ(along_mn.ld, 1);
  const Operand spread = make_operand(nullptr, 1, 13, 0, 40);  // one row, its k 40 apart
  EXPECT_TRUE(spread.mn_major);
  EXPECT_EQ(spread.ld, 40);
  const Operand one = make_operand(nullptr, 1, 1, 0, 0);
  EXPECT_FALSE(one.mn_major);
  EXPECT_EQ(one.ld, 8);
}

TEST(Sm90Problem, StabilityFollowsItsMatrix) {
  const GemmArguments g = arguments({3, 5, 7});
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const Sides straight = make_sides(g, false, a, b);
      EXPECT_EQ(straight.x_stable, a);
      EXPECT_EQ(straight.y_stable, b);
      const Sides swapped = make_sides(g, true, a, b);
      EXPECT_EQ(swapped.x_stable, b);
      EXPECT_EQ(swapped.y_stable, a);
    }
  }
}

}  // namespace
}  // namespace detgemm::test

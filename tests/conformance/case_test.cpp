// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/case.hpp"

#include <gtest/gtest.h>

#include "core/conformance/controls/control.hpp"

// What a property relies on: a comparison that looks at every element, and an order that is only
// trusted where another one has other bits.

namespace detgemm::conformance {
namespace {

class Cases : public testing::Test {
 protected:
  Case::Setting setting_{&controls::honest(),
                         {&controls::honest(), {}},
                         *Contract::parse("ieee_fma/fp32/chain->fp32"),
                         Level::quick,
                         1,
                         "repro"};
};

TEST_F(Cases, EveryElementIsCompared) {
  for (const DType type : {DType::bf16, DType::fp32}) {
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t col = 0; col < 4; ++col) {
        Cell cell;
        Evidence evidence;
        Case one(setting_, 0, cell, evidence);
        const Elements expected(type, 3, 4);
        Elements got = expected;
        got.set(row, col, 1);
        EXPECT_FALSE(one.same(expected, got, "them"));
        EXPECT_EQ(cell.mismatches, 1);
        ASSERT_EQ(cell.failures.size(), 1U);
        EXPECT_EQ(cell.failures[0].row, row);
        EXPECT_EQ(cell.failures[0].col, col);
        EXPECT_EQ(name(cell.verdict), "failed");
      }
    }
  }
}

TEST_F(Cases, EqualElementsAreTheSameAndOtherShapesAreNot) {
  Cell cell;
  Evidence evidence;
  Case one(setting_, 0, cell, evidence);
  EXPECT_TRUE(one.same(Elements(DType::fp32, 3, 4), Elements(DType::fp32, 3, 4), "them"));
  EXPECT_FALSE(one.same(Elements(DType::fp32, 3, 4), Elements(DType::fp32, 4, 3), "them"));
  EXPECT_FALSE(one.same(Elements(DType::fp32, 3, 4), Elements(DType::bf16, 3, 4), "them"));
  EXPECT_FALSE(one.same(Elements(DType::fp32, 3, 4), Elements(DType::fp32, 2, 4), "them"));
  EXPECT_FALSE(one.same(Elements(DType::fp32, 3, 4), Elements(DType::fp32, 3, 5), "them"));
  EXPECT_EQ(cell.failures.front().what, "them: the shapes differ");
  EXPECT_EQ(cell.outputs, 12) << "only what has equal shapes is compared";
}

TEST_F(Cases, OnlyDataThatShowsTheOrderCounts) {
  for (const bool shows : {false, true}) {
    Cell cell;
    Evidence evidence;
    Case one(setting_, 0, cell, evidence);
    // Whole numbers are added exactly in any order; residues are nothing but rounding.
    Request request = one.draw({3, 3, 65}, Distribution::residue);
    if (!shows) {
      for (std::int64_t i = 0; i < 65; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
          request.a.set(j, i, 0x3f800000U);
          request.b.set(i, j, 0x40000000U);
        }
      }
    }
    const auto result = one.run(request);
    ASSERT_TRUE(result.has_value());
    one.check_order_matters(request, result->d);
    EXPECT_EQ(evidence.discriminating, shows ? 1 : 0);
  }
}

}  // namespace
}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/buffer.hpp"

#include <gtest/gtest.h>

namespace detgemm::conformance {
namespace {

Elements counted(DType type, std::int64_t rows, std::int64_t cols) {
  Elements e(type, rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      e.set(i, j, static_cast<std::uint32_t>(i * cols + j + 1));
    }
  }
  return e;
}

std::uint16_t* element(const Matrix& view, std::int64_t row, std::int64_t col) {
  return static_cast<std::uint16_t*>(view.data) + row * view.row_stride + col * view.col_stride;
}

class Layouts : public testing::TestWithParam<std::tuple<bool, bool, int, int>> {
 protected:
  Result<Buffer> hold(const Elements& e) const {
    const auto& [transposed, col_major, padding, offset] = GetParam();
    return Buffer::holding(host_device(), e, transposed, {col_major, padding, offset}, 0xa5);
  }
  bool transposed() const { return std::get<0>(GetParam()); }
};

TEST(Sparse, ALargeStrideCostsNoMemoryAndIsTheMatrix) {
  for (const bool col_major : {false, true}) {
    const Elements e = counted(DType::fp32, 5, 6);
    const std::int64_t padding = (std::int64_t{1} << 30) + 4096;
    auto buffer = Buffer::holding(host_device(), e, false, {col_major, padding, 3}, 0xa5);
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    EXPECT_EQ(*buffer->read(), e);
    const Matrix view = buffer->view();
    const std::int64_t far = view.row_stride * 4 + view.col_stride * 5;
    EXPECT_GT(far, std::int64_t{1} << 32);
    auto* last = static_cast<std::uint32_t*>(view.data) + far;
    EXPECT_EQ(*last, e.get(4, 5));
    *last = 0;
    EXPECT_FALSE(*buffer->intact(false));
    EXPECT_TRUE(*buffer->intact(true));
    ASSERT_TRUE(buffer->freeze(true).ok());
    static_cast<std::uint32_t*>(view.data)[padding / 2] = 1;
    EXPECT_NE(buffer->rewritten().find(", between its lines"), std::string::npos);
    ASSERT_TRUE(buffer->restore().ok());
    last[static_cast<std::ptrdiff_t>(static_cast<std::int32_t>(far)) - far] = 0;
    EXPECT_NE(buffer->touched() + buffer->rewritten(), "") << "a 32-bit index is seen";
  }
}

TEST_P(Layouts, TheViewAndTheReadBackAreTheMatrix) {
  const Elements e = counted(DType::bf16, 3, 5);
  auto buffer = hold(e);
  ASSERT_TRUE(buffer.ok());
  const Matrix view = buffer->view();
  EXPECT_EQ(view.rows, transposed() ? 5 : 3);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      EXPECT_EQ(*(transposed() ? element(view, j, i) : element(view, i, j)), e.get(i, j));
    }
  }
  EXPECT_EQ(*buffer->read(), e);
  EXPECT_TRUE(*buffer->intact(false));
}

TEST_P(Layouts, AWriteInsideIsSeenInAnInputAndAllowedInAnOutput) {
  auto buffer = hold(counted(DType::bf16, 3, 5));
  ASSERT_TRUE(buffer.ok());
  *element(buffer->view(), 1, 1) = 0;
  EXPECT_FALSE(*buffer->intact(false));
  EXPECT_TRUE(*buffer->intact(true));
  ASSERT_TRUE(buffer->restore().ok());
  EXPECT_TRUE(*buffer->intact(false));
}

TEST_P(Layouts, AWriteAroundItIsSeen) {
  auto buffer = hold(counted(DType::bf16, 3, 5));
  ASSERT_TRUE(buffer.ok());
  const Matrix view = buffer->view();
  element(view, 0, 0)[-1] = 0;
  EXPECT_FALSE(*buffer->intact(true));
  ASSERT_TRUE(buffer->restore().ok());
  element(view, view.rows - 1, view.cols - 1)[1] = 0;
  EXPECT_FALSE(*buffer->intact(true));
}

TEST_P(Layouts, AWriteBetweenLinesIsSeen) {
  if (std::get<2>(GetParam()) == 0) return;  // there is nothing between them
  auto buffer = hold(counted(DType::bf16, 3, 5));
  ASSERT_TRUE(buffer.ok());
  const Matrix view = buffer->view();
  const bool by_rows = view.col_stride == 1;
  *(by_rows ? element(view, 0, view.cols) : element(view, view.rows, 0)) = 0;
  EXPECT_FALSE(*buffer->intact(true));
}

INSTANTIATE_TEST_SUITE_P(All, Layouts,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Values(0, 3),
                                          testing::Values(0, 1)));

TEST(Scratch, OnlyItsInsideMayChange) {
  auto scratch = Buffer::scratch(host_device(), 100, 0xff);
  ASSERT_TRUE(scratch.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch->data()) % kWorkspaceAlignment, 0U);
  auto* bytes = static_cast<unsigned char*>(scratch->data());
  bytes[0] = bytes[99] = 1;
  EXPECT_TRUE(*scratch->intact(true));
  bytes[100] = 1;
  EXPECT_FALSE(*scratch->intact(true));
}

}  // namespace
}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// snap and is_snapped on matrices: layouts, places, what counts as snapped, and every refusal.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "core/arithmetic/snap.hpp"
#include "detgemm/snap.hpp"
#include "tests/support/finds.hpp"
#include "tests/support/scratch_backend.hpp"

namespace detgemm {
namespace {

constexpr std::int64_t kLines = 5;
constexpr std::int64_t kK = 150;  // leaves of 64, 64 and 22
constexpr std::uint16_t kMark = 0xabcd;

/// Numbers from about 1 to 1000, so that every leaf loses bits.
std::uint16_t element(std::int64_t line, std::int64_t k) {
  const auto mixed = static_cast<std::uint32_t>(line * 7919 + k * 104729 + 1) * 2654435761U;
  return static_cast<std::uint16_t>(0x3f80U + (mixed >> 16) % 0x500U + (mixed & 1U) * 0x8000U);
}

/// What line `line` is, snapped; the first numbers of its leaves are at multiples of 64.
std::vector<std::uint16_t> expected(std::int64_t line) {
  std::vector<std::uint16_t> made(kK);
  for (std::int64_t begin = 0; begin < kK; begin += 64) {
    arithmetic::snap_leaf(
        std::min<std::int64_t>(64, kK - begin),
        [&](std::int64_t i) { return element(line, begin + i); },
        [&](std::int64_t i, std::uint16_t bits) {
          made[static_cast<std::size_t>(begin + i)] = bits;
        });
  }
  return made;
}

/// A matrix in the middle of marked memory.
struct Place {
  std::vector<std::uint16_t> memory;
  Matrix view;

  Place(bool k_rows, bool by_rows, std::int64_t gap) : memory(kLines * kK * 3, kMark) {
    const std::int64_t rows = k_rows ? kK : kLines;
    const std::int64_t cols = k_rows ? kLines : kK;
    std::uint16_t* data = memory.data() + 8;
    view = by_rows ? row_major(static_cast<void*>(data), rows, cols, DType::bf16, cols + gap)
                   : col_major(static_cast<void*>(data), rows, cols, DType::bf16, rows + gap);
  }
  std::uint16_t& at(bool k_rows, std::int64_t line, std::int64_t k) {
    const std::int64_t i = k_rows ? k : line;
    const std::int64_t j = k_rows ? line : k;
    return static_cast<std::uint16_t*>(view.data)[i * view.row_stride + j * view.col_stride];
  }
  void fill(bool k_rows) {
    for (std::int64_t line = 0; line < kLines; ++line) {
      for (std::int64_t k = 0; k < kK; ++k) at(k_rows, line, k) = element(line, k);
    }
  }
};

TEST(SnapMatrix, EveryLayoutInPlaceAndApart) {
  for (int which = 0; which < 32; ++which) {
    SCOPED_TRACE(which);
    const bool k_rows = (which & 1) != 0;
    const bool in_place = (which & 2) != 0;
    Place from(k_rows, (which & 4) != 0, (which & 16) != 0 ? 3 : 0);
    Place apart(k_rows, (which & 8) != 0, 1);
    from.fill(k_rows);
    Place& to = in_place ? from : apart;
    const SnapSpec spec{64, k_rows ? KDimension::rows : KDimension::cols};
    EXPECT_FALSE(*is_snapped(skeleton_backend(), {}, spec, from.view));
    const Status status = snap(skeleton_backend(), {}, spec, from.view, to.view);
    ASSERT_TRUE(status) << status.message();
    EXPECT_TRUE(*is_snapped(skeleton_backend(), {}, spec, to.view));
    std::int64_t marks = 0;
    for (std::int64_t line = 0; line < kLines; ++line) {
      const auto want = expected(line);
      for (std::int64_t k = 0; k < kK; ++k) {
        EXPECT_EQ(to.at(k_rows, line, k), want[static_cast<std::size_t>(k)]);
        if (in_place) continue;
        EXPECT_EQ(from.at(k_rows, line, k), element(line, k));
      }
    }
    for (const std::uint16_t bits : to.memory) marks += bits == kMark ? 1 : 0;
    EXPECT_EQ(marks, static_cast<std::int64_t>(to.memory.size()) - kLines * kK) << "around it";
  }
}

TEST(SnapMatrix, WhatCountsAsSnapped) {
  std::vector<std::uint16_t> x(64, 0x4000);
  const auto view = row_major(static_cast<const void*>(x.data()), 1, 64, DType::bf16);
  const auto is = [&] { return *is_snapped(skeleton_backend(), {}, {64}, view); };
  EXPECT_TRUE(is());
  x[5] = 0x8000;  // -0, which snap would write as +0
  x[6] = 0xff81;  // a NaN of another kind
  x[7] = 0xff80;
  EXPECT_TRUE(is());
  x[8] = 0x0001;  // rounds to zero
  EXPECT_FALSE(is());
  x[8] = 0x7f00;  // has no grid: all would be NaN
  EXPECT_FALSE(is());
  x.assign(64, 0x7fff);
  EXPECT_TRUE(is());
}

TEST(SnapMatrix, NoElements) {
  const SnapSpec spec;
  const Matrix none = row_major(static_cast<void*>(nullptr), 0, 70, DType::bf16);
  EXPECT_TRUE(snap(skeleton_backend(), {}, spec, none, none));
  EXPECT_TRUE(*is_snapped(skeleton_backend(), {}, spec, none));
}

struct Refusal {
  const char* sentence;
  void (*spoil)(SnapSpec&, Stream&, ConstMatrix&, Matrix&);
};
constexpr Refusal kRefusals[] = {
    {R"(leaf_k is 96: it must be a multiple of 64 between 64 and 2\^31)",
     [](SnapSpec& s, Stream&, ConstMatrix&, Matrix&) { s.leaf_k = 96; }},
    {R"(leaf_k is 0: it must)", [](SnapSpec& s, Stream&, ConstMatrix&, Matrix&) { s.leaf_k = 0; }},
    {R"(leaf_k is -64: it must)",
     [](SnapSpec& s, Stream&, ConstMatrix&, Matrix&) { s.leaf_k = -64; }},
    {R"(leaf_k is 2147483712: it must)",
     [](SnapSpec& s, Stream&, ConstMatrix&, Matrix&) { s.leaf_k = kMaxLeaf + 64; }},
    {R"(k is 2: it must be cols \(0\) or rows \(1\))",
     [](SnapSpec& s, Stream&, ConstMatrix&, Matrix&) { s.k = static_cast<KDimension>(2); }},
    {R"(stream\.kind is cuda: backend skeleton needs host)",
     [](SnapSpec&, Stream& q, ConstMatrix&, Matrix&) { q.kind = DeviceKind::cuda; }},
    {R"(from\.dtype is fp16: snap is defined for bf16)",
     [](SnapSpec&, Stream&, ConstMatrix& a, Matrix&) { a.dtype = DType::fp16; }},
    {R"(to\.dtype is fp16: snap is defined for bf16)",
     [](SnapSpec&, Stream&, ConstMatrix&, Matrix& d) { d.dtype = DType::fp16; }},
    {R"(from\.data is null)",
     [](SnapSpec&, Stream&, ConstMatrix& a, Matrix&) { a.data = nullptr; }},
    {R"(to\.rows is -1: it must not be negative)",
     [](SnapSpec&, Stream&, ConstMatrix&, Matrix& d) { d.rows = -1; }},
    {R"(to is 4 x 150: it must be 5 x 150, the shape of from)",
     [](SnapSpec&, Stream&, ConstMatrix&, Matrix& d) { d.rows = 4; }},
    {R"(from is 5 x 150 with strides \(2, 1\): one stride must be 1)",
     [](SnapSpec&, Stream&, ConstMatrix& a, Matrix&) { a.row_stride = 2; }},
    {R"(to at .* overlaps from at .*: it must be from itself)",
     [](SnapSpec&, Stream&, ConstMatrix& a, Matrix& d) {
       d.data = static_cast<std::uint16_t*>(const_cast<void*>(a.data)) + 1;
     }},
    {R"(to at .* overlaps from at .*: it must be from itself)",
     [](SnapSpec&, Stream&, ConstMatrix& a, Matrix& d) {
       d.data = const_cast<void*>(a.data);
       d.row_stride = a.row_stride + 1;
     }},
};

TEST(SnapMatrix, RefusesWithASentenceAndWritesNothing) {
  for (const Refusal& row : kRefusals) {
    SCOPED_TRACE(row.sentence);
    Place from(false, true, 0);
    Place to(false, true, 0);
    from.fill(false);
    const auto before = from.memory;
    SnapSpec spec{64, KDimension::cols};
    Stream stream;
    ConstMatrix a = from.view;
    Matrix d = to.view;
    row.spoil(spec, stream, a, d);
    const Status status = snap(skeleton_backend(), stream, spec, a, d);
    EXPECT_EQ(status.code(), Errc::invalid_argument);
    EXPECT_TRUE(test::finds(status.message(), row.sentence)) << status.message();
    EXPECT_EQ(from.memory, before);
    EXPECT_EQ(to.memory, std::vector<std::uint16_t>(to.memory.size(), kMark));
  }
}

TEST(SnapMatrix, IsSnappedRefusesToo) {
  Place from(false, true, 0);
  const auto refused = is_snapped(skeleton_backend(), {}, {65}, from.view);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.status().message().find("leaf_k is 65"), std::string::npos);
  ConstMatrix half = from.view;
  half.dtype = DType::fp16;
  EXPECT_EQ(is_snapped(skeleton_backend(), {}, {64}, half).status().message(),
            "matrix.dtype is fp16: snap is defined for bf16");
}

TEST(SnapMatrix, ABackendThatDoesNotSnapSaysSo) {
  Place from(false, true, 0);
  Place to(false, true, 0);
  from.fill(false);
  const Status status = snap(scratch_backend(), {}, {64}, from.view, to.view);
  EXPECT_EQ(status.code(), Errc::unsupported);
  EXPECT_NE(status.message().find("this backend does not snap matrices"), std::string::npos);
  EXPECT_EQ(to.memory, std::vector<std::uint16_t>(to.memory.size(), kMark));
  EXPECT_FALSE(*is_snapped(scratch_backend(), {}, {64}, from.view));  // looked at on the host
}

TEST(SnapSpec, APromiseIsForContractsOfSnapAlone) {
  GemmSpec spec;
  spec.n = 4;
  spec.k = 64;
  spec.contract = *Contract::parse("hopper/bf16/fold:64->fp32");
  spec.a_snapped = true;
  EXPECT_EQ(validate(spec).message(),
            "a_snapped is set and the contract is hopper/bf16/fold:64->fp32: only contracts of "
            "snap have snapped operands");
  spec.a_snapped = false;
  spec.b_snapped = true;
  EXPECT_EQ(validate(spec).message().rfind("b_snapped is set", 0), 0U);
  spec.contract = *Contract::parse("snap/bf16/fold:64->fp32");
  EXPECT_TRUE(validate(spec));
}

}  // namespace
}  // namespace detgemm

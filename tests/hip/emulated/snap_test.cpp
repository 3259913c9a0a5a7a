// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/arithmetic/snap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/conformance/buffer.hpp"
#include "core/conformance/random.hpp"
#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"

// The kernels that snap operands, executed by the interpreter, against the rule on the host.

namespace detgemm {
namespace {

using conformance::Elements;
using conformance::Random;
using Words = std::vector<std::uint16_t>;

class HipSnap : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status s = hip_backend().available(); !s) FAIL() << s.message();
  }
};

std::uint16_t word(Random& random) { return static_cast<std::uint16_t>(random.below(1 << 16)); }

/// A finite number whose exponent field is `field`.
std::uint16_t finite(Random& random, std::int64_t field) {
  return static_cast<std::uint16_t>((word(random) & 0x807f) |
                                    std::clamp<std::int64_t>(field, 0, 254) << 7);
}

/// One leaf of numbers of a kind that some part of the rule is about.
void fill_leaf(Random& random, std::int64_t kind, std::uint16_t* leaf, std::int64_t count) {
  const std::int64_t top = random.between(0, 254);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t& to = leaf[i];
    switch (kind) {
      case 0:  // any bits: most leaves hold NaN, Inf and huge numbers
        to = word(random);
        break;
      case 1:  // a few octaves, at any height, so that grids reach -62 and 51 and pass them
        to = finite(random, top - random.below(6));
        break;
      case 2:  // far apart: most numbers are below half a unit
        to = finite(random, top - random.below(40));
        break;
      case 3:  // equal magnitudes: 2^24 exactly, where 4096 units are squared once or 512 64 times
        to = static_cast<std::uint16_t>((word(random) & 0x8000) | 0x3f80);
        break;
      case 4:  // the same but for one, which makes it a little more
        to = i == count / 2 ? 0x3f81 : 0x3f80;
        break;
      case 5:  // zeros of both signs and subnormals
        to = static_cast<std::uint16_t>(word(random) & (random.one_in(2) ? 0x8000 : 0x807f));
        break;
      case 6:  // around the largest grid
        to = finite(random, 127 + random.between(55, 64));
        break;
      case 7:  // around the least grid
        to = finite(random, 127 - random.between(48, 64));
        break;
      default:  // ordinary numbers and a rare Inf or NaN
        to = random.one_in(40) ? (random.one_in(2) ? 0x7f80 : 0xffc1)
                               : finite(random, 127 - random.below(4));
    }
  }
}

/// What the rule makes of every line of `k` numbers.
Words expected(const Words& from, std::int64_t k, std::int64_t leaf) {
  Words to = from;
  for (std::size_t line = 0; line < from.size(); line += static_cast<std::size_t>(k)) {
    for (std::int64_t begin = 0; begin < k; begin += leaf) {
      std::uint16_t* const at = to.data() + line + static_cast<std::size_t>(begin);
      arithmetic::snap_leaf(
          std::min(leaf, k - begin), [&](std::int64_t i) { return at[i]; },
          [&](std::int64_t i, std::uint16_t bits) { at[i] = bits; });
    }
  }
  return to;
}

Elements elements_of(const Words& words, std::int64_t rows, std::int64_t cols) {
  Elements e(DType::bf16, rows, cols);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(words.data()), e.bytes.size(), e.bytes.data());
  return e;
}

struct Problem {
  std::int64_t lines, k, leaf;
  KDimension dimension;
  bool in_place;
  conformance::Layout from, to;
};

/// Snaps on the device and compares every bit, and every byte around the matrices.
void check(Random& random, const Problem& p, std::int64_t& outputs) {
  Words words(static_cast<std::size_t>(p.lines * p.k));
  for (std::int64_t line = 0; line < p.lines; ++line) {
    for (std::int64_t begin = 0; begin < p.k; begin += p.leaf) {
      fill_leaf(random, random.below(9), words.data() + line * p.k + begin,
                std::min(p.leaf, p.k - begin));
    }
  }
  const Elements given = elements_of(words, p.lines, p.k);
  const Elements wanted = elements_of(expected(words, p.k, p.leaf), p.lines, p.k);
  Device& device = hip_backend().device();
  // Stored transposed where K is the views' rows.
  const bool transposed = p.dimension == KDimension::rows;
  auto from = conformance::Buffer::holding(device, given, transposed, p.from, 0xff);
  auto to = conformance::Buffer::holding(device, given, transposed, p.to, 0x5a);
  ASSERT_TRUE(from && to);
  auto& target = p.in_place ? *from : *to;
  const Stream stream{DeviceKind::hip, nullptr};
  const SnapSpec spec{p.leaf, p.dimension};
  const Status status = snap(hip_backend(), stream, spec, from->view(), target.view());
  ASSERT_TRUE(status) << status.message();
  ASSERT_TRUE(device.synchronize(stream));
  const auto got = target.read();
  ASSERT_TRUE(got) << got.status().message();
  EXPECT_EQ(got->bytes, wanted.bytes)
      << p.lines << " lines of " << p.k << " by leaves of " << p.leaf
      << (transposed ? ", rows" : "") << (p.in_place ? ", in place" : "");
  EXPECT_TRUE(*target.intact(true)) << "bytes around the result changed";
  EXPECT_TRUE(p.in_place || *from->intact(false)) << "the input changed";
  const auto is = is_snapped(hip_backend(), stream, spec, target.view());
  EXPECT_TRUE(is && *is);
  outputs += p.lines * p.k;
}

TEST_F(HipSnap, EveryBitIsTheRules) {
  Random random(17);
  constexpr std::int64_t leaves[] = {64, 128, 192, 256, 1024, 4096};
  constexpr std::int64_t paddings[] = {0, 0, 1, 8, 24};
  constexpr std::int64_t offsets[] = {0, 0, 3, 8};
  const auto layout = [&] {
    conformance::Layout l;
    l.col_major = random.one_in(2);
    l.ld_padding = paddings[random.below(5)];
    l.offset = offsets[random.below(4)];
    return l;
  };
  std::int64_t outputs = 0;
  for (int i = 0; i < 120; ++i) {
    Problem p{};
    p.leaf = leaves[random.below(6)];
    p.lines = random.one_in(4) ? 1 : random.between(1, 90);
    p.k = random.one_in(3) ? p.leaf * random.between(1, 3) : random.between(1, 700);
    p.dimension = random.one_in(2) ? KDimension::cols : KDimension::rows;
    p.in_place = random.one_in(3);
    p.from = layout();
    p.to = layout();
    check(random, p, outputs);
    if (HasFailure()) return;
  }
  EXPECT_GT(outputs, 1'000'000);
}

GemmSpec spec_of(std::int64_t n, std::int64_t k) {
  GemmSpec spec;
  spec.n = n;
  spec.k = k;
  spec.contract = *Contract::parse("snap/bf16/tree:128->fp32");
  return spec;
}

/// A copy of what is not promised to be snapped, in rows of whole lines of 64 numbers.
TEST_F(HipSnap, APromiseSavesItsCopy) {
  const auto bytes = [](bool a, bool b) {
    GemmSpec spec = spec_of(300, 1000);
    spec.a_snapped = a;
    spec.b_snapped = b;
    const auto plan = Plan::create(hip_backend(), spec);
    if (!plan) return std::int64_t{-1};
    const auto size = plan->workspace_bytes(40);
    return size ? static_cast<std::int64_t>(*size) : -1;
  };
  EXPECT_EQ(bytes(false, false) - bytes(true, false), 40 * 1024 * 2);
  EXPECT_EQ(bytes(false, false) - bytes(false, true), 300 * 1024 * 2);
  EXPECT_GE(bytes(true, true), 0);
}

TEST_F(HipSnap, RefusalsNameWhatIsWrong) {
  Words host(64);
  const Stream stream{DeviceKind::hip, nullptr};
  const Matrix view = row_major(host.data(), 1, 64, DType::bf16);
  const Status elsewhere = snap(hip_backend(), stream, {64, KDimension::cols}, view, view);
  EXPECT_EQ(elsewhere.code(), Errc::invalid_argument);
  EXPECT_EQ(elsewhere.message().find("from.data is 0x"), 0U) << elsewhere.message();
  GemmSpec spec = spec_of(8, 128);
  const auto variants = hip_backend().variants(spec);
  EXPECT_NE(std::find(variants.begin(), variants.end(), "256x128"), variants.end());
  EXPECT_NE(std::find(variants.begin(), variants.end(), "simt-64x64"), variants.end());
  EXPECT_EQ(std::find(variants.begin(), variants.end(), "256x256"), variants.end());
}

}  // namespace
}  // namespace detgemm

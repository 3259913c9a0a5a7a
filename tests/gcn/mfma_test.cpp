// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The emulator's wide steps against the contract's own, for every instruction set this processor
// has, on random and adversarial operands.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/arithmetic/cdna_step.hpp"
#include "tests/gcn/emulator/wide.hpp"

namespace detgemm::gcn {
namespace {

constexpr int kRows = 32;
constexpr int kProducts = 8;

std::vector<const Wide*> sets() {
  std::vector<const Wide*> all = {&kWideBaseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&kWideAvx2);
  if (&wide() == &kWideAvx512) all.push_back(&kWideAvx512);
#endif
  return all;
}

/// 32 rows of 8 elements, in the registers' layout and row by row.
struct Block {
  std::uint32_t words[2][64] = {};
  std::uint16_t element[kRows][kProducts];

  void pack() {
    for (int l = 0; l < 64; ++l) {
      for (int e = 0; e < 4; ++e) {
        auto& word = words[e / 2][l];
        const std::uint32_t x = element[l % kRows][4 * (l / kRows) + e];
        word = e % 2 == 0 ? x : word | x << 16;
      }
    }
  }
};

/// Kinds of operands, each of which aims at a different part of the step.
enum Kind { bits, near_one, spread, cancelling, tiny, huge, special, kinds };

class Source {
 public:
  Source(bool half, std::uint64_t seed) : half_(half), random_(seed) {}

  std::uint16_t element(Kind kind) {
    const int bias = half_ ? 15 : 127;
    const int top = half_ ? 31 : 255;
    const int r = static_cast<int>(random_() & 0xffff);
    if (random_() % 16 == 0) return static_cast<std::uint16_t>(r & 0x8000);  // a zero
    switch (kind) {
      case near_one:
        return with_field(r, bias + r % 3 - 1);
      case spread:
        return with_field(r, bias + r % (bias / 2) - bias / 4);
      case cancelling:
        return with_field(r & (half_ ? 0x83f0 : 0x8070), bias);
      case tiny:
        return with_field(r, half_ ? r % 3 : bias / 2 + r % 20 - 10);
      case huge:
        return with_field(r, half_ ? top - 1 - r % 3 : bias + 64 - r % 4);
      case special:
        return with_field(r % 5 == 0 ? r & 0x8000 : r, r % 4 == 0 ? top : bias + r % 60);
      default:
        return static_cast<std::uint16_t>(r);
    }
  }
  float accumulator(Kind kind, float near) {
    const auto r = static_cast<std::uint32_t>(random_());
    switch (r >> 28 & 3) {
      case 0:
        return 0.0F * (r & 1 ? 1.0F : -1.0F);
      case 1:
        return arithmetic::float_of(arithmetic::bits_of(-near) ^ (r & 7));  // cancels
      case 2:
        return near * std::ldexp(1.0F, static_cast<int>(r % 60) - 30);
      default:
        break;
    }
    if (kind == tiny) return arithmetic::float_of(r & 0x80ffffff);
    return arithmetic::float_of(static_cast<std::uint32_t>(random_()));
  }
  std::uint64_t operator()() { return random_(); }

 private:
  std::uint16_t with_field(int x, int field) const {
    const int fraction = half_ ? 10 : 7;
    const int mask = (1 << fraction) - 1;
    return static_cast<std::uint16_t>((x & 0x8000) | field << fraction | (x & mask));
  }
  bool half_;
  std::mt19937_64 random_;
};

template <DType T>
std::int64_t mismatches(const Wide& wide, bool cdna3, std::int64_t steps, std::uint64_t seed) {
  constexpr bool half = T == DType::fp16;
  Source random(half, seed);
  std::int64_t wrong = 0;
  for (std::int64_t done = 0; done < steps; done += kRows * kRows) {
    const auto kind = static_cast<Kind>(done / (kRows * kRows) % kinds);
    Block a;
    Block b;
    for (auto* block : {&a, &b}) {
      for (auto& row : block->element)
        for (auto& x : row) x = random.element(kind);
      block->pack();
    }
    const std::uint32_t* wa[] = {a.words[0], a.words[1]};
    const std::uint32_t* wb[] = {b.words[0], b.words[1]};
    Cdna3Operand a3, b3;
    Cdna2Operand a2, b2;
    wide.decode3(wa, kRows, half, a3);
    wide.decode3(wb, kRows, half, b3);
    wide.decode2(wa, kRows, half, a2);
    wide.decode2(wb, kRows, half, b2);
    alignas(64) static float acc[kRows][kRows];
    static float want[kRows][kRows];
    float* rows[kRows];
    for (int i = 0; i < kRows; ++i) {
      rows[i] = acc[i];
      for (int j = 0; j < kRows; ++j) {
        const auto model = [&](float from) {
          return cdna3 ? arithmetic::cdna3_step<T>(a.element[i], b.element[j], from)
                       : arithmetic::cdna2_step<T>(a.element[i], b.element[j], from);
        };
        acc[i][j] = random.accumulator(kind, model(0.0F));
        want[i][j] = model(acc[i][j]);
      }
    }
    cdna3 ? wide.cdna3(a3, b3, 0, kRows, rows) : wide.cdna2(a2, b2, 0, kRows, rows);
    for (int i = 0; i < kRows * kRows; ++i) {
      const float got = acc[i / kRows][i % kRows];
      const float right = want[i / kRows][i % kRows];
      if (arithmetic::bits_of(got) != arithmetic::bits_of(right) && ++wrong <= 3) {
        ADD_FAILURE() << wide.name << " kind " << kind << ": " << std::hexfloat << got
                      << ", the model gives " << right;
      }
    }
  }
  return wrong;
}

TEST(WideSteps, EqualTheModel) {
  const std::int64_t steps = 10'500'000;
  for (const Wide* set : sets()) {
    const std::int64_t share = set == &wide() ? steps : steps / 10;
    for (const bool cdna3 : {true, false}) {
      EXPECT_EQ(mismatches<DType::bf16>(*set, cdna3, share / 2, 1), 0);
      EXPECT_EQ(mismatches<DType::fp16>(*set, cdna3, share / 2, 2), 0);
    }
  }
}

TEST(WideSteps, ADifferenceIsSeen) {
  Wide wrong = wide();
  wrong.cdna3 = [](const Cdna3Operand&, const Cdna3Operand&, int, int, float* const*) {};
  ::testing::TestPartResultArray failures;
  const ::testing::ScopedFakeTestPartResultReporter reporter(
      ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
  EXPECT_GT(mismatches<DType::bf16>(wrong, true, 100'000, 3), 1000);
}

}  // namespace
}  // namespace detgemm::gcn

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// CONTRACT.md, section 4: a step of zeros leaves the accumulator as it is, but for the exceptions
// that the page names. Padding of weight gradients rests on it.

#include <gtest/gtest.h>

#include <cmath>

#include "core/arithmetic/step.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm {
namespace {

/// A 0 or a -0 where the other operand is any finite number.
template <DType T>
void draw_zero_block(test::Random& random, arithmetic::Storage<T>* x, arithmetic::Storage<T>* y,
                     int count) {
  using Raw = arithmetic::Storage<T>;
  using F = arithmetic::Format<T>;
  constexpr int top = F::exponent_bits + F::fraction_bits + F::dropped_bits;
  for (int i = 0; i < count; ++i) {
    const Raw zero = static_cast<Raw>(static_cast<std::uint64_t>(random.below(2)) << top);
    const Raw other = test::random_element<T>(random, test::Data::near_one);
    x[i] = random.below(2) == 0 ? zero : other;
    y[i] = x[i] == zero ? other : zero;
  }
}

template <Arithmetic A, DType T>
void zeros_change_nothing(int& compared, int& lost_bits) {
  constexpr int L = arithmetic::Step<A, T>::products;
  constexpr bool short_sum = (T == DType::e4m3 || T == DType::e5m2) && A == Arithmetic::hopper;
  arithmetic::Storage<T> x[L], y[L];
  test::Random random(static_cast<std::uint64_t>(L) + 5);
  for (int turn = 0; turn < 20000; ++turn) {
    const auto bits = test::random_element<DType::fp32>(
        random, turn % 2 == 0 ? test::Data::bits : test::Data::subnormal);
    float acc = arithmetic::float_of(bits);
    if (!std::isfinite(acc) || (acc == 0 && std::signbit(acc))) continue;
    if (A == Arithmetic::cdna2 && std::fpclassify(acc) == FP_SUBNORMAL) continue;
    draw_zero_block<T>(random, x, y, L);
    const float once = arithmetic::Step<A, T>::apply(x, y, acc);
    if (short_sum) {
      // What a step returned is kept; what has more bits is not.
      lost_bits += arithmetic::bits_of(once) != arithmetic::bits_of(acc) ? 1 : 0;
      acc = once;
    }
    const float again = short_sum ? arithmetic::Step<A, T>::apply(x, y, acc) : once;
    ASSERT_EQ(arithmetic::bits_of(again), arithmetic::bits_of(acc))
        << name(A) << "/" << name(T) << " from " << acc;
    ++compared;
  }
}

TEST(ZeroBlocks, LeaveTheAccumulator) {
  int compared = 0;
  int lost_bits = 0;
  for (const Contract& base : base_contracts()) {
    arithmetic::for_step(base.arithmetic, base.input, [&]<Arithmetic A, DType T>() {
      zeros_change_nothing<A, T>(compared, lost_bits);
    });
  }
  EXPECT_GT(compared, 200000);
  EXPECT_GT(lost_bits, 1000) << "an F of 13 must truncate long accumulators";
}

}  // namespace
}  // namespace detgemm

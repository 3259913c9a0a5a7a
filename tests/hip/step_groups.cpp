// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/step_groups.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/arithmetic/formats.hpp"
#include "core/conformance/random.hpp"

namespace detgemm::test {
namespace {

using arithmetic::bits_of;
using arithmetic::float_of;
using conformance::Random;

/// One group: how the operands and the accumulators are drawn.
struct Group {
  const char* name;
  const char* shows;
  int spread;           ///< product exponents differ by up to this
  int acc_low, acc_up;  ///< the accumulator's exponent relative to the products'
  int base;             ///< exponent of the products
  int zeros;            ///< one element in this many is zero; 0: none
};
/// Of every type.
constexpr Group kGroups[] = {
    {"ordinary", "the sum of nearby terms and its rounding", 3, -3, 3, 0, 0},
    {"far products", "products cut at 24 bits below the largest", 30, -40, -20, 0, 0},
    {"large accumulator", "the dot product floored against the accumulator", 6, 4, 36, 0, 0},
    {"small accumulator", "the accumulator floored against the products", 6, -34, -4, 0, 0},
    {"few products", "zero products take no part", 6, -8, 8, 0, 3},
};
/// The products of fp8 are between 2^-18 and 2^16.
constexpr int kFp8Spread = 13;
constexpr Group kBf16Groups[] = {
    {"subnormal results", "results and accumulators below 2^-126", 4, -6, 6, -132, 0},
    {"large results", "sums near and beyond 2^128", 2, -2, 2, 125, 0},
};
constexpr Group kFp8Groups[] = {
    {"no products", "accumulators below 2^-126", 0, -6, 6, -132, 1},
};

/// What is drawn of a type: normal numbers, of both formats where it is fp8.
struct Numbers {
  int least, most;  ///< exponents
  int bits;         ///< of the fraction
};
constexpr Numbers numbers_of(DType input) {
  return input == DType::e4m3 ? Numbers{-6, 7, 3} : Numbers{-126, 127, 7};
}

/// (-1)^s * 2^e * (1 + random fraction) in bf16; the nearest exponent where e is none.
std::uint16_t bf16(Random& random, int exponent, const Numbers& of) {
  const auto fraction = static_cast<std::uint32_t>(random.below(1 << of.bits)) << (7 - of.bits);
  const std::uint32_t sign = random.one_in(2) ? 0x8000U : 0U;
  const auto field = static_cast<std::uint32_t>(std::clamp(exponent, of.least, of.most) + 127);
  return static_cast<std::uint16_t>(sign | field << 7 | fraction);
}

float accumulator(Random& random, int exponent) {
  const auto fraction = static_cast<std::uint32_t>(random.below(1 << 23));
  const std::uint32_t sign = random.one_in(2) ? 0x80000000U : 0U;
  if (exponent < -149) return float_of(sign);
  if (exponent < -126)
    return float_of(sign | (1U << (exponent + 149)) | fraction >> (-126 - exponent));
  return float_of(sign | static_cast<std::uint32_t>(std::min(exponent, 127) + 127) << 23 |
                  fraction);
}

Steps empty(const char* name, const char* shows, int count, DType input) {
  const auto elements = static_cast<std::size_t>(kSide * count);
  return {name,
          shows,
          count,
          input,
          std::vector<std::uint16_t>(elements),
          std::vector<std::uint16_t>(elements),
          std::vector<std::uint32_t>(kSide * kSide)};
}

Steps draw(const Group& group, int count, DType input, Random& random) {
  Steps steps = empty(group.name, group.shows, count, input);
  const int half = group.base / 2;
  const auto element = [&](int base) {
    if (group.zeros != 0 && random.one_in(group.zeros)) return std::uint16_t{0};
    const int spread = group.spread / 2;
    return bf16(random, base + static_cast<int>(random.between(-spread, spread)),
                numbers_of(input));
  };
  for (auto& x : steps.a) x = element(half);
  for (auto& x : steps.b) x = element(group.base - half);
  for (auto& x : steps.c) {
    const auto exponent = group.base + random.between(group.acc_low, group.acc_up);
    x = bits_of(accumulator(random, static_cast<int>(exponent)));
  }
  return steps;
}

/// Operands and an accumulator that tell models apart.
struct Vector {
  float a[4], b[4], c;
};
/// The vector of docs/numerics.md that tells the units apart, and those for the two published
/// models of gfx942: the sum passes a power of two, below and above zero, and it cancels below one.
constexpr int kTieGroups = 12;
constexpr Vector kKnown[] = {{{-0x1p13F, -0.5F, -0.25F, -0.125F}, {0x1p10F, 1, 1, 1}, 0x1p23F}};
constexpr Vector kTies[] = {
    {{0x1p-11F, 0x1p-16F}, {0x1p-11F, 0x1p-15F}, 0x1.fffffep0F},
    {{-0x1p-11F, 0x1p-16F}, {0x1p-10F, 0x1p-15F}, -0x1.fffffep0F},
    {{-0x1p-11F, -0x1p-12F, -0x1p-12F, 0x1p-16F},
     {0x1p-12F, 0x1p-12F, 0x1p-13F, 0x1p-16F},
     0x1.000002p0F},
    {{0x1p-12F, 0x1p-16F}, {0x1p-13F, 0x1p-16F}, -1},
};

/// The vectors' factors times 2^power.
template <std::size_t N>
Steps of_vectors(const char* name, const char* shows, const Vector (&vectors)[N], int power,
                 int count, DType input) {
  Steps steps = empty(name, shows, count, input);
  for (int i = 0; i < kSide; ++i) {
    const Vector& v = vectors[static_cast<std::size_t>(i) % N];
    for (int k = 0; k < 4; ++k) {
      steps.a[static_cast<std::size_t>(i * count + k)] =
          arithmetic::to_bf16(std::ldexp(v.a[k], power));
      steps.b[static_cast<std::size_t>(i * count + k)] =
          arithmetic::to_bf16(std::ldexp(v.b[k], power));
    }
    for (int j = 0; j < kSide; ++j)
      steps.c[static_cast<std::size_t>(i * kSide + j)] = bits_of(std::ldexp(v.c, 2 * power));
  }
  return steps;
}

/// Sums beside a power of two that are an fp32 number or a tie but for one much smaller product,
/// and sometimes another. So they show which bits the aligned terms and their sum keep, and how the
/// last rounding takes what is left.
Steps draw_ties(int count, DType input, Random& random) {
  Steps steps =
      empty("ties", "bits below a tie, where the sum passes a power of two", count, input);
  // fp8 has few exponents, so there the accumulators are large and not the products small.
  const bool fp8 = input == DType::e4m3;
  const int up = fp8 ? 24 : 0;
  int scale[kSide];
  const auto number = [&](int low, int up) { return static_cast<int>(random.between(low, up)); };
  const auto at = [&](int line, int k) { return static_cast<std::size_t>(line * count + k); };
  const auto signed_power = [&](int exponent) {
    return arithmetic::to_bf16(std::ldexp(random.one_in(2) ? -1.0F : 1.0F, exponent));
  };
  for (int i = 0; i < kSide; ++i) {
    scale[i] = fp8 ? number(-3, 5) : number(-20, 20);
    // Each row moves the products of a column by some bits, so that hardly two steps are alike.
    for (int k = 0; k < count; ++k)
      steps.a[at(i, k)] = arithmetic::to_bf16(std::ldexp(1.0F, scale[i] - number(0, 3)));
    // The last bit of 2 and more weighs 2^-22, that of less than 1 2^-24: ties from 2^-23 to 2^-25.
    const auto odd = static_cast<float>(2 * number(-8, 7) + 1);
    const int first = number(0, count - 1);
    steps.b[at(i, first)] = arithmetic::to_bf16(std::ldexp(odd, up - 22));
    // Often among the same four: other arithmetics have no two terms of a step in common.
    const int second =
        random.one_in(2) ? first ^ number(1, 3) : (first + number(1, count - 1)) % count;
    steps.b[at(i, second)] = signed_power(up + number(-32, -24));
    if (random.one_in(4))
      steps.b[at(i, number(0, count - 1))] = signed_power(up + number(-32, -22));
  }
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const float last = std::ldexp(static_cast<float>(number(0, 5)), -23);
      const float near = random.one_in(2) ? 2 - last : 1 + last;
      steps.c[static_cast<std::size_t>(i * kSide + j)] =
          bits_of(std::ldexp(random.one_in(2) ? -near : near, up + scale[i]));
    }
  }
  return steps;
}

/// Small whole numbers, whose sums every arithmetic has: what differs here is where an instruction
/// has its operands and results.
Steps draw_whole(int count, DType input, Random& random) {
  Steps steps = empty("whole numbers", "the places of operands and results", count, input);
  const auto whole = [&] { return static_cast<float>(random.between(-8, 8)); };
  for (auto& x : steps.a) x = arithmetic::to_bf16(whole());
  for (auto& x : steps.b) x = arithmetic::to_bf16(whole());
  for (auto& x : steps.c) x = bits_of(whole());
  return steps;
}

}  // namespace

float Steps::c_of(int i, int j) const {
  return float_of(c[static_cast<std::size_t>(i * kSide + j)]);
}

std::vector<Steps> draw_groups(int count, std::uint64_t seed, DType input) {
  Random random(seed);
  std::vector<Steps> groups;
  // First, since few models are left after it.
  for (int i = 0; i < kTieGroups; ++i) groups.push_back(draw_ties(count, input, random));
  const bool fp8 = input == DType::e4m3;
  for (Group group : kGroups) {
    if (fp8) group.spread = std::min(group.spread, kFp8Spread);
    groups.push_back(draw(group, count, input, random));
  }
  for (const Group& group : fp8 ? std::span<const Group>(kFp8Groups) : kBf16Groups)
    groups.push_back(draw(group, count, input, random));
  groups.push_back(of_vectors("known vector", "the five arithmetics give five or four results",
                              kKnown, fp8 ? -6 : 0, count, input));
  groups.push_back(of_vectors("four ties", "the two published models of gfx942", kTies,
                              fp8 ? 12 : 0, count, input));
  groups.push_back(draw_whole(count, input, random));
  return groups;
}

Fit::Fit(int count, DType input) : left_(named_models()) {
  for (StepModel& model : family_models(count, input)) left_.push_back(std::move(model));
  tried_ = left_.size();
}

void Fit::add(const Steps& steps, const std::vector<std::uint32_t>& results) {
  const auto gives_all = [&](const StepModel& model) {
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const float d = model.compute(steps.a_of(i), steps.b_of(j), steps.count, steps.c_of(i, j));
        if (bits_of(d) != results[static_cast<std::size_t>(i * kSide + j)]) return false;
      }
    }
    return true;
  };
  std::erase_if(left_, [&](const StepModel& model) { return !gives_all(model); });
  steps_ += kSide * kSide;
}

std::string Fit::sentence() const {
  const std::string of = "in all of " + std::to_string(steps_) + " steps";
  if (left_.empty())
    return "winner: none of " + std::to_string(tried_) + " arithmetics gives every result " + of;
  const std::size_t more = left_.size() - 1;
  return "winner: " + left_.front().name + " " + of + "; " +
         (more == 0 ? "no other" : std::to_string(more) + " other" + (more == 1 ? "" : "s")) +
         " of " + std::to_string(tried_) + " arithmetics";
}

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The models among which identify looks, and whether its steps tell them apart: an arithmetic that
// is planted in place of a chip must be named, or one that is equal to it in 10^5 other steps.

#include "tests/hip/step_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "core/arithmetic/formats.hpp"
#include "tests/hip/fp8.hpp"
#include "tests/hip/step_groups.hpp"

namespace detgemm::test {
namespace {

using arithmetic::bits_of;

std::vector<std::uint32_t> results_of(const StepModel& model, const Steps& steps) {
  std::vector<std::uint32_t> results;
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      results.push_back(
          bits_of(model.compute(steps.a_of(i), steps.b_of(j), steps.count, steps.c_of(i, j))));
    }
  }
  return results;
}

Fit fit_of(const StepModel& chip, int count, bool ties, DType input = DType::bf16) {
  Fit fit(count, input);
  for (const Steps& steps : draw_groups(count, 1, input)) {
    if (ties || steps.name.find("ties") == std::string::npos)
      fit.add(steps, results_of(chip, steps));
  }
  return fit;
}

/// How many of 10^5 steps, other ones than identify's, two models compute differently.
int differences(const StepModel& x, const StepModel& y, int count, DType input) {
  int differ = 0;
  for (std::size_t done = 0, seed = 100; done < 100'000; ++seed) {
    for (const Steps& steps : draw_groups(count, seed, input)) {
      const auto of_x = results_of(x, steps), of_y = results_of(y, steps);
      for (std::size_t i = 0; i < of_x.size(); ++i) differ += of_x[i] != of_y[i] ? 1 : 0;
      done += of_x.size();
    }
  }
  return differ;
}

TEST(StepModels, TheFamilyHasTheContractsStep) {
  const StepModel family{"", nullptr, kCdna3};
  for (const Steps& steps : draw_groups(8, 5))
    EXPECT_EQ(results_of(family, steps), results_of(*find_model("cdna3"), steps)) << steps.name;
}

/// The units of NVIDIA have another lower limit of exponents and another rule for Inf.
TEST(StepModels, TheFamilyHasOneStage) {
  using Cut = StepFamily::Cut;
  const StepModel ampere{"", nullptr, {8, 1, 24, Cut::truncate, 0, false, false}};
  const StepModel hopper{"", nullptr, {16, 1, 25, Cut::truncate, 0, false, false}};
  for (const Steps& steps : draw_groups(16, 5)) {
    if (steps.name == "subnormal results" || steps.name == "large results") continue;
    EXPECT_EQ(results_of(ampere, steps), results_of(*find_model("ampere"), steps)) << steps.name;
    EXPECT_EQ(results_of(hopper, steps), results_of(*find_model("hopper"), steps)) << steps.name;
  }
}

/// CONTRACT.md 3.3 drops the bit that breaks the tie; the other published model keeps it.
TEST(StepModels, FourTiesTellTheTwoPublishedModelsApart) {
  for (const Steps& steps : draw_groups(8, 1)) {
    if (steps.name != "four ties") continue;
    constexpr float one_stage[] = {0x1.000002p1F, -0x1.000002p1F, 0x1.fffffcp-1F, -1};
    constexpr float contract[] = {2, -0x1.000004p1F, 0x1.fffffep-1F, -0x1.fffffep-1F};
    for (int i = 0; i < 4; ++i) {
      const auto* a = steps.a_of(i);
      const auto* b = steps.b_of(i);
      EXPECT_EQ(find_model("cdna3")->compute(a, b, 8, steps.c_of(i, i)), contract[i]) << i;
      EXPECT_EQ(find_model("cdna3-one-floor")->compute(a, b, 8, steps.c_of(i, i)), one_stage[i])
          << i;
    }
    return;
  }
  FAIL() << "there is no group \"four ties\"";
}

/// Without the groups of ties either published model would pass for the other one.
TEST(StepModels, OrdinaryStepsDoNotTellThemApart) {
  const Fit fit = fit_of(*find_model("cdna3-one-floor"), 8, false);
  ASSERT_FALSE(fit.left().empty());
  EXPECT_EQ(fit.left().front().name, "cdna3");
}

struct Instruction {
  int count;
  DType input;
};
class Planted : public testing::TestWithParam<Instruction> {};

/// Eight of the family, drawn; where DETGEMM_ALL_STEP_MODELS is "3/12", every twelfth from the
/// third on. All of it takes an hour of one core.
TEST_P(Planted, NoArithmeticIsMisnamed) {
  const auto [count, input] = GetParam();
  std::vector<StepModel> planted = named_models();
  const std::vector<StepModel> family = family_models(count, input);
  const char* const share = std::getenv("DETGEMM_ALL_STEP_MODELS");
  std::mt19937 random(7);
  if (share != nullptr) {
    std::size_t at = 0, step = 0;
    ASSERT_EQ(std::sscanf(share, "%zu/%zu", &at, &step), 2) << share;
    ASSERT_TRUE(at >= 1 && at <= step) << share;
    for (--at; at < family.size(); at += step) planted.push_back(family[at]);
  } else {
    for (int i = 0; i < 8; ++i) planted.push_back(family[random() % family.size()]);
  }
  int others = 0;
  for (const StepModel& chip : planted) {
    const Fit fit = fit_of(chip, count, true, input);
    ASSERT_FALSE(fit.left().empty()) << chip.name;
    const StepModel& winner = fit.left().front();
    if (winner.name == chip.name) continue;
    ++others;
    EXPECT_EQ(differences(chip, winner, count, input), 0)
        << chip.name << " was named " << winner.name;
  }
  std::printf("%zu planted, %d of them named as another one with the same results\n",
              planted.size(), others);
}
INSTANTIATE_TEST_SUITE_P(Products, Planted,
                         testing::Values(Instruction{8, DType::bf16}, Instruction{16, DType::bf16},
                                         Instruction{32, DType::bf16}, Instruction{16, DType::e4m3},
                                         Instruction{32, DType::e4m3}));

/// A number that a chip reads otherwise than the models would name a wrong arithmetic.
TEST(StepModels, Fp8OperandsAreNumbersOfBothFormats) {
  for (const Steps& steps : draw_groups(32, 1, DType::e4m3)) {
    for (const auto* operand : {&steps.a, &steps.b}) {
      for (const std::uint16_t x : *operand) {
        EXPECT_TRUE(code_of(Fp8::fnuz, x)) << steps.name << " " << x;
        EXPECT_TRUE(code_of(Fp8::ocp, x)) << steps.name << " " << x;
      }
    }
  }
}

TEST(StepModels, Fp8CodesAreThoseOfTheFormats) {
  const auto value = [](Fp8 format, std::uint8_t code) {
    return arithmetic::float_of(std::uint32_t{bf16_of(format, code)} << 16);
  };
  EXPECT_EQ(value(Fp8::ocp, 0x7e), 448);
  EXPECT_EQ(value(Fp8::ocp, 0x38), 1);
  EXPECT_EQ(value(Fp8::ocp, 0x81), -0x1p-9F);
  EXPECT_EQ(value(Fp8::fnuz, 0x7f), 240);
  EXPECT_EQ(value(Fp8::fnuz, 0x40), 1);
  EXPECT_EQ(value(Fp8::fnuz, 0x87), -0x1.cp-8F);
  EXPECT_TRUE(std::isnan(value(Fp8::fnuz, 0x80)));
  EXPECT_TRUE(std::isnan(value(Fp8::ocp, 0xff)));
  for (int code = 1; code < 128; ++code) {
    const auto next = static_cast<std::uint8_t>(code);
    const auto before = static_cast<std::uint8_t>(code - 1);
    EXPECT_GT(value(Fp8::fnuz, next), value(Fp8::fnuz, before)) << code;
    if (code < 127) {
      EXPECT_EQ(value(Fp8::ocp, next), 2 * value(Fp8::fnuz, next)) << code;
    }
    const float finite = arithmetic::to_float<DType::e4m3>(next);
    EXPECT_TRUE(code == 127 ? std::isnan(finite) : finite == value(Fp8::ocp, next)) << code;
  }
}

/// An arithmetic of no kind that is known is not given a name.
TEST(StepModels, AnUnknownArithmeticHasNoWinner) {
  const StepModel rounds_down{
      "", [](const std::uint16_t* a, const std::uint16_t* b, int count, float acc) {
        return arithmetic::float_of(bits_of(find_model("cdna3")->compute(a, b, count, acc)) & ~1U);
      }};
  const Fit fit = fit_of(rounds_down, 8, true);
  EXPECT_TRUE(fit.left().empty());
  EXPECT_EQ(fit.sentence().rfind("winner: none of ", 0), 0U) << fit.sentence();
}

}  // namespace
}  // namespace detgemm::test

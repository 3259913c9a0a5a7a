// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The guard of the floating-point mode by itself, without a test framework, so that it can be built
// for another processor and run in an emulator: under it, numbers are those of the default mode,
// and afterwards the thread has its own mode and flags again.

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>

#include "core/arithmetic/floating_point_mode.hpp"
#include "tests/support/floating_point_mode.hpp"

namespace {

using detgemm::arithmetic::apart;
using detgemm::arithmetic::FloatingPointMode;
namespace test = detgemm::test;

using Numbers = std::array<std::uint32_t, 6>;

// Read at run time, so that nothing is computed by the compiler.
volatile float small = 0x1.8p-100F, smaller = 0x1.4p-30F, subnormal = 0x1.8p-130F, big = 0x1p20F,
               one = 1.0F, three = 3.0F, minus = -1.0F;

/// Subnormal results, subnormal operands, and quotients and sums that are rounded.
void compute(Numbers* out) {
  *out = {std::bit_cast<std::uint32_t>(small * smaller),
          std::bit_cast<std::uint32_t>(subnormal * big),
          std::bit_cast<std::uint32_t>(one / three),
          std::bit_cast<std::uint32_t>(minus / three),
          std::bit_cast<std::uint32_t>(big + smaller),
          std::bit_cast<std::uint32_t>(minus * big - smaller)};
}

}  // namespace

int main() {
  test::set_default_mode();
  Numbers expected{};
  apart(compute, &expected);
  int wrong = 0, blind = 0;
  const auto check = [&](bool good, const char* mode, const char* what) {
    if (!good) std::printf("%s: %s\n", mode, what);
    wrong += good ? 0 : 1;
  };
  for (const test::Mode& mode : test::kModes) {
    Numbers bare{}, guarded{};
    test::set_mode(mode);
    const std::uint64_t before = test::mode_of_thread();
    {
      const FloatingPointMode ieee;
      apart(compute, &guarded);
    }
    const std::uint64_t after = test::mode_of_thread();
    apart(compute, &bare);
    test::set_default_mode();
    check(guarded == expected, mode.name, "numbers under the guard are not those of the default");
    check(before == after, mode.name, "the mode or the flags are not those of before");
    check(bare != expected, mode.name, "the mode changes no number: this test shows nothing");
    blind += bare == expected ? 1 : 0;
  }
  std::printf("%zu modes, %d mistakes\n", std::size(test::kModes), wrong);
  return wrong == 0 && blind == 0 ? 0 : 1;
}

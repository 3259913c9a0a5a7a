// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cfenv>
#include <cstdint>

// Floating-point modes that a caller may have set, for tests of what depends on none.

namespace detgemm::test {

/// This thread's mode and sticky flags, as the processor's register holds them.
inline std::uint64_t mode_of_thread() {
#if defined(__x86_64__)
  std::uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  return __builtin_ia32_stmxcsr() | static_cast<std::uint64_t>(x87) << 32;
#elif defined(__aarch64__)
  std::uint64_t mode = 0, flags = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  asm volatile("mrs %0, fpsr" : "=r"(flags));
  return mode | flags << 32;
#else
  return static_cast<std::uint64_t>(std::fegetround());
#endif
}

struct Mode {
  const char* name;
  int rounding;
  bool flushes_results, flushes_operands;
};

/// All but the default. AArch64 has one switch for results and operands, other processors may have
/// none: there the two are as far from the default as the processor lets them be.
inline constexpr Mode kModes[] = {
    {"upward", FE_UPWARD, false, false},      {"downward", FE_DOWNWARD, false, false},
    {"to zero", FE_TOWARDZERO, false, false}, {"FTZ", FE_TONEAREST, true, false},
    {"DAZ", FE_TONEAREST, false, true},       {"all", FE_UPWARD, true, true},
};

/// Sets the mode, without flags.
inline void set_mode(const Mode& mode) {
  std::fesetenv(FE_DFL_ENV);
  std::fesetround(mode.rounding);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | (mode.flushes_results ? 0x8000U : 0U) |
                         (mode.flushes_operands ? 0x40U : 0U));
#elif defined(__aarch64__)
  std::uint64_t now = 0;
  asm volatile("mrs %0, fpcr" : "=r"(now));
  if (mode.flushes_results || mode.flushes_operands) now |= 1U << 24;
  asm volatile("msr fpcr, %0" : : "r"(now) : "memory");
#endif
}

inline void set_default_mode() { std::fesetenv(FE_DFL_ENV); }

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cfenv>
#include <cstdint>

namespace detgemm::arithmetic {

/// While it lives, this thread computes as IEEE 754 has it by default: to nearest even, subnormals
/// kept, no trap. At its end the thread has the caller's mode and flags again. Every thread has a
/// mode of its own, and a caller may have set any: PyTorch's set_flush_denormal, fesetround, or a
/// library that was linked with -ffast-math. So each worker that computes makes one.
///
/// The compiler assumes one mode and may move an operation across a change. The barriers here hold
/// what goes through memory; bodies that work on numbers in registers are called through `apart`.
///
/// On x86 the mode is MXCSR's, and that of the old x87 unit, by which the C library rounds the
/// numbers that it prints and reads. On AArch64 it is FPCR.
class FloatingPointMode {
 public:
#if defined(__x86_64__)
  FloatingPointMode() noexcept : before_(__builtin_ia32_stmxcsr()) {
    asm volatile("fnstcw %0" : "=m"(x87_before_));
    if ((before_ & ~kFlags) != kDefault) __builtin_ia32_ldmxcsr(kDefault);
    if (x87_before_ != kX87Default) asm volatile("fldcw %0" : : "m"(kX87Default));
    barrier();
  }
  ~FloatingPointMode() {
    barrier();
    if (__builtin_ia32_stmxcsr() != before_) __builtin_ia32_ldmxcsr(before_);
    std::uint16_t x87 = 0;
    asm volatile("fnstcw %0" : "=m"(x87));
    if (x87 != x87_before_) asm volatile("fldcw %0" : : "m"(x87_before_));
  }
#elif defined(__aarch64__)
  FloatingPointMode() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("mrs %0, fpsr" : "=r"(flags_));
    if (before_ != 0) set(0);
    barrier();
  }
  ~FloatingPointMode() {
    barrier();
    if (before_ != 0) set(before_);
    asm volatile("msr fpsr, %0" : : "r"(flags_) : "memory");
  }
#else
  FloatingPointMode() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
    barrier();
  }
  ~FloatingPointMode() {
    barrier();
    std::fesetenv(&before_);
  }
#endif
  FloatingPointMode(const FloatingPointMode&) = delete;
  FloatingPointMode& operator=(const FloatingPointMode&) = delete;

 private:
  static void barrier() noexcept { asm volatile("" ::: "memory"); }

#if defined(__x86_64__)
  static constexpr std::uint32_t kFlags = 0x3f;
  static constexpr std::uint32_t kDefault = 0x1f80;  // every exception masked, nothing else set
  static constexpr std::uint16_t kX87Default = 0x37f;
  std::uint32_t before_;
  std::uint16_t x87_before_ = 0;
#elif defined(__aarch64__)
  static void set(std::uint64_t fpcr) noexcept {
    asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory");
  }
  std::uint64_t before_ = 0, flags_ = 0;
#else
  std::fenv_t before_;
#endif
};

/// `body(arguments...)`, which the compiler neither inlines nor moves.
template <class Body, class... Arguments>
__attribute__((noinline)) void apart(const Body& body, Arguments... arguments) {
  body(arguments...);
}

}  // namespace detgemm::arithmetic

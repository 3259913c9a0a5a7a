// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cfenv>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that compute in another floating-point mode and leave it behind in the calling thread. An
// oracle that computed in the same thread, and in whatever mode it finds, would agree with them.

namespace detgemm::controls {
namespace {

void flush_subnormals() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);  // FTZ and DAZ
#elif defined(__aarch64__)
  std::uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  asm volatile("msr fpcr, %0" : : "r"(mode | 1U << 24) : "memory");
#endif
}

constexpr std::array kModeFaults{
    Planted{"leaves_flushing", "subnormals are flushed in the calling thread from now on",
            "reference", kWideChain,
            [](const Run& run) {
              flush_subnormals();
              compute_honestly(run);
            }},
    Planted{"leaves_rounding", "the calling thread rounds toward zero from now on", "reference",
            kWideChain,
            [](const Run& run) {
              std::fesetround(FE_TOWARDZERO);
              compute_honestly(run);
            }},
};

}  // namespace

std::span<const Planted> mode_faults() { return kModeFaults; }

}  // namespace detgemm::controls

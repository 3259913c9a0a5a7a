// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gcn/types.hpp"

namespace detgemm::hip::gcn {

/// s_setprio: of two waves on a SIMD the one with the higher priority issues first.
template <int kPriority>
DETGEMM_DEVICE void set_priority() {
  __builtin_amdgcn_s_setprio(kPriority);
}

/// The compiler moves no instruction across this point.
DETGEMM_DEVICE void schedule_fence() { __builtin_amdgcn_sched_barrier(0); }

/// What this wave loaded from memory has arrived.
DETGEMM_DEVICE void wait_for_loads() { asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); }

/// This wave's own writes to LDS come before its reads that follow; LDS serves a wave in order, so
/// this only binds the compiler.
DETGEMM_DEVICE void wave_fence() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); }

/// The same number in every lane, moved to a scalar register.
DETGEMM_DEVICE int uniform(int value) { return __builtin_amdgcn_readfirstlane(value); }

/// v_perm_b32: bytes 0..3 are `low`, 4..7 `high`; each byte of the selector names one.
template <std::uint32_t kSelector>
DETGEMM_DEVICE std::uint32_t permute(std::uint32_t high, std::uint32_t low) {
  return __builtin_amdgcn_perm(high, low, kSelector);
}

/// ds_swizzle_b32: the word of lane l ^ 16. It goes through LDS's crossbar and touches no memory.
DETGEMM_DEVICE std::uint32_t across_16(std::uint32_t word) {
  constexpr int kKeepBits = 0x1f, kTurnBit4 = 16 << 10;
  return __builtin_amdgcn_ds_swizzle(static_cast<int>(word), kKeepBits | kTurnBit4);
}

}  // namespace detgemm::hip::gcn

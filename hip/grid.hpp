// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hip/qualifiers.hpp"

namespace detgemm::hip {

// The index of a thread and of its workgroup. All launches are one-dimensional.
#if defined(__HIP__)
DETGEMM_DEVICE int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
DETGEMM_DEVICE int block_index() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }

/// The kernel's only argument, where the hardware keeps it. Reading it again each time costs a few
/// scalar loads and saves the registers that would hold it in between.
template <class Arguments>
DETGEMM_DEVICE const Arguments& kernel_argument() {
  using Constant = __attribute__((address_space(4))) const Arguments;
  auto* at = (Constant*)__builtin_amdgcn_kernarg_segment_ptr();
  asm volatile("" : "+s"(at));
  return *(const Arguments*)at;
}
template <class Arguments>
DETGEMM_DEVICE const Arguments& reload(const Arguments&) {
  return kernel_argument<Arguments>();
}

/// The thread's index, read in such a way that the compiler does not know that it is the same as
/// before. What follows from it is then computed where it is used, and not kept in registers from
/// the kernel's start on.
DETGEMM_DEVICE int fresh_thread() {
  int thread = thread_index();
  asm volatile("" : "+v"(thread));
  return thread & 1023;  // not negative: divisions become shifts
}

/// A number that is the same in all threads of the workgroup, in scalar registers.
DETGEMM_DEVICE std::int64_t block_uniform(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const auto half = [](std::uint64_t word) {
    return static_cast<std::uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(word)));
  };
  const std::uint64_t high = half(bits >> 32);
  return static_cast<std::int64_t>(high << 32 | half(bits & 0xffffffffU));
}

/// A number that is the same in all threads of the workgroup and waits in vector registers, where
/// scalar ones are scarce.
class Parked {
 public:
  DETGEMM_DEVICE Parked(std::int64_t value) : value_(value) { asm volatile("" : "+v"(value_)); }
  DETGEMM_DEVICE operator std::int64_t() const { return block_uniform(value_); }

 private:
  std::int64_t value_;
};

/// All waves of the workgroup meet; what they wrote to shared memory before is visible to all of
/// them after. Loads from global memory stay in flight.
DETGEMM_DEVICE void block_barrier() {
#if defined(__GFX12__)
  asm volatile("s_wait_dscnt 0x0\n\ts_barrier_signal -1\n\ts_barrier_wait -1" ::: "memory");
#else
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
#endif
}
#elif defined(__CUDACC__)
DETGEMM_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
DETGEMM_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
DETGEMM_DEVICE int fresh_thread() { return thread_index(); }
DETGEMM_DEVICE std::int64_t block_uniform(std::int64_t value) { return value; }
using Parked = std::int64_t;
DETGEMM_DEVICE void block_barrier() { __syncthreads(); }
template <class Arguments>
DETGEMM_DEVICE const Arguments& reload(const Arguments& argument) {
  return argument;
}
#endif

}  // namespace detgemm::hip

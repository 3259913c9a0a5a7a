// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/qualifiers.hpp"

namespace detgemm::hip {

// Where a thread stands. One-dimensional launches alone.
#if defined(__HIP__)
DETGEMM_DEVICE int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
DETGEMM_DEVICE int block_index() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }

/// The thread's index anew, of which the compiler does not know that it is the same as before: what
/// follows from it is computed where it is used and not kept in registers from the kernel's start
/// on.
DETGEMM_DEVICE int fresh_thread() {
  int thread = thread_index();
  asm volatile("" : "+v"(thread));
  return thread & 1023;  // not negative: divisions become shifts
}

/// All waves of the block meet; what they wrote to shared memory before is seen after. Loads from
/// global memory stay in flight.
DETGEMM_DEVICE void block_barrier() {
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
}
#elif defined(__CUDACC__)
DETGEMM_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
DETGEMM_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
DETGEMM_DEVICE void block_barrier() { __syncthreads(); }
#endif

}  // namespace detgemm::hip

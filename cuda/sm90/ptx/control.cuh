// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::cuda::sm90::ptx {

/// Programmatic dependent launch: waits until all earlier kernels of the stream have ended and
/// their writes are visible. Returns at once when the launch carried no such dependency.
__device__ __forceinline__ void wait_for_earlier_kernels() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets the next kernel of the stream start on free multiprocessors.
__device__ __forceinline__ void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// The warp group gives registers back, or takes them, down or up to kCount a thread.
template <int kCount>
__device__ __forceinline__ void registers_decrease() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void registers_increase() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

}  // namespace detgemm::cuda::sm90::ptx

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::cuda::sm90::ptx {

/// Programmatic dependent launch: waits until all earlier kernels of the stream have ended and
/// their writes are visible. Returns at once when the launch carried no such dependency.
__device__ __forceinline__ void griddepcontrol_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets the next kernel of the stream start on free multiprocessors.
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Both, in portable code: on devices below 9.0, and where a launch does not overlap, there is
/// nothing to wait for.
__device__ __forceinline__ void wait_for_earlier_work() {
#if __CUDA_ARCH__ >= 900
  griddepcontrol_launch_dependents();
  griddepcontrol_wait();
#endif
}

/// The warp group gives back registers, down to kCount per thread.
template <int kCount>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
/// The warp group takes registers, up to kCount per thread.
template <int kCount>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

}  // namespace detgemm::cuda::sm90::ptx

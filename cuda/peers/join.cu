// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/peers/flow.hpp"
#include "cuda/peers/launch.hpp"
#include "cuda/peers/ptx/flags.cuh"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::peers {
namespace {

struct DeviceMachine {
  __device__ __forceinline__ std::uint64_t acquire(const std::uint64_t* from) const {
    return ptx::ld_acquire_sys_u64(from);
  }
  __device__ __forceinline__ void release(std::uint64_t* to, std::uint64_t value) const {
    ptx::st_release_sys_u64(to, value);
  }
  __device__ __forceinline__ std::uint64_t now_ns() const { return ptx::globaltimer(); }
};

/// The CTA that runs this; see flow.hpp. Loads pass by the L1 cache, since other devices write.
struct DeviceCta : DeviceMachine {
  __device__ __forceinline__ int index() const { return static_cast<int>(blockIdx.x); }
  __device__ __forceinline__ int count() const { return static_cast<int>(gridDim.x); }
  template <class F>
  __device__ __forceinline__ void each(const F& f) const {
    f(static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  }
  __device__ __forceinline__ void sync() const { __syncthreads(); }

  template <int kRun>
  __device__ __forceinline__ void load(const float* from, float* to) const {
    if constexpr (kRun == 4) {
      const float4 v = __ldcg(reinterpret_cast<const float4*>(from));
      to[0] = v.x;
      to[1] = v.y;
      to[2] = v.z;
      to[3] = v.w;
    } else {
      to[0] = __ldcg(from);
    }
  }
  template <int kRun>
  __device__ __forceinline__ void store(void* to, DType type, const float* v) const {
    if constexpr (kRun == 1) {
      store_rounded(to, 0, type, v[0]);
    } else if (type == DType::fp32) {
      *static_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
    } else {
      const bool bf16 = type == DType::bf16;
      const auto pair = [&](int i) -> std::uint32_t {
        const std::uint32_t low = bf16 ? arithmetic::to_bf16(v[i]) : arithmetic::to_fp16(v[i]);
        const std::uint32_t high =
            bf16 ? arithmetic::to_bf16(v[i + 1]) : arithmetic::to_fp16(v[i + 1]);
        return low | high << 16;
      };
      *static_cast<uint2*>(to) = make_uint2(pair(0), pair(2));
    }
  }
  template <bool kVectors>
  __device__ __forceinline__ void copy(void* to, const void* from, int size) const {
    if constexpr (kVectors) {
      *static_cast<uint4*>(to) = __ldcg(static_cast<const uint4*>(from));
    } else if (size == 4) {
      *static_cast<std::uint32_t*>(to) = __ldcg(static_cast<const std::uint32_t*>(from));
    } else {
      *static_cast<std::uint16_t*>(to) = __ldcg(static_cast<const std::uint16_t*>(from));
    }
  }

  __device__ __forceinline__ bool begin(const Job& j) const {
    const std::uint64_t why = acquire(&j.header[j.rank]->given_up);
    if (why != 0 && threadIdx.x == 0) give_up(j, static_cast<const DeviceMachine&>(*this), why);
    return !__syncthreads_or(why != 0);
  }
  /// A thread for each of the other ranks signals and waits. What all threads have written is
  /// behind the barrier, and so part of what the signal releases.
  __device__ __forceinline__ bool meet(const Job& j, std::uint64_t call, int meeting) const {
    __syncthreads();
    const int r = static_cast<int>(threadIdx.x);
    bool failed = false;
    if (r < j.ranks && r != j.rank) {
      const int place = place_of(call, meeting);
      const std::uint64_t signal = signal_of(call, j.step);
      release(&j.header[r]->signal[place][j.rank][index()], signal);
      const DeviceMachine& machine = *this;
      const std::uint64_t why =
          wait_for(j, machine, &j.header[j.rank]->signal[place][r][index()], signal, r);
      failed = why != 0;
      if (failed) give_up(j, machine, why);
    }
    return !__syncthreads_or(failed);
  }
};

/// Programmatic dependent launch; on devices below 9.0 there is nothing to wait for.
__device__ __forceinline__ void wait_for_earlier_work() {
#if __CUDA_ARCH__ >= 900
  sm90::ptx::griddepcontrol_wait();
#endif
}

template <int kRun, int kDepth>
__global__ void __launch_bounds__(kMostThreads, 1) peers_kernel(const __grid_constant__ Job job) {
  wait_for_earlier_work();
  DeviceCta cta;
  run_call<kRun, kDepth>(job, cta);
}

}  // namespace

Kernel kernel(bool vectors, bool deep) {
  using Function = void (*)(Job);
  static constexpr Function kKernels[2][2] = {
      {&peers_kernel<1, kShallow>, &peers_kernel<1, kMaxWaiting>},
      {&peers_kernel<4, kShallow>, &peers_kernel<4, kMaxWaiting>}};
  return {reinterpret_cast<const void*>(kKernels[vectors ? 1 : 0][deep ? 1 : 0]), kMostThreads};
}

}  // namespace detgemm::cuda::peers

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/peers/early.hpp"
#include "cuda/peers/launch.hpp"
#include "cuda/peers/ptx/flags.cuh"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::peers {
namespace {

/// Programmatic dependent launch; on devices below 9.0 there is nothing to wait for.
__device__ __forceinline__ void wait_for_all_before() {
#if __CUDA_ARCH__ >= 900
  sm90::ptx::griddepcontrol_wait();
#endif
}

/// The kernel behind this one on its stream may begin once all CTAs of this one have said so, or
/// have ended. It takes what is left of the multiprocessors.
__device__ __forceinline__ void let_dependents_in() {
#if __CUDA_ARCH__ >= 900
  sm90::ptx::griddepcontrol_launch_dependents();
#endif
}

struct DeviceMachine {
  __device__ __forceinline__ std::uint64_t acquire(const std::uint64_t* from) const {
    return ptx::ld_acquire_sys_u64(from);
  }
  __device__ __forceinline__ void release(std::uint64_t* to, std::uint64_t value) const {
    ptx::st_release_sys_u64(to, value);
  }
  __device__ __forceinline__ void put(std::uint64_t* to, std::uint64_t value) const {
    ptx::st_relaxed_sys_u64(to, value);
  }
  __device__ __forceinline__ std::uint64_t relaxed(const std::uint64_t* from) const {
    return ptx::ld_relaxed_sys_u64(from);
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
  __device__ __forceinline__ void post(MailWord* to, const MailWord& word) const {
    ptx::st_relaxed_sys_b128(to, pack(word.value[0], word.value[1]), word.signal);
  }
  __device__ __forceinline__ MailWord look(const MailWord* from) const {
    std::uint64_t values = 0;
    MailWord word;
    ptx::ld_relaxed_sys_b128(from, values, word.signal);
    word.value[0] = __uint_as_float(static_cast<std::uint32_t>(values));
    word.value[1] = __uint_as_float(static_cast<std::uint32_t>(values >> 32));
    return word;
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

  /// Whether none of these elements is blank, after some time at the latest. One lane looks for its
  /// warp until its own are there: by then most of the others' are.
  template <int kRun>
  __device__ __forceinline__ bool await(const float* from) const {
    static_assert(kRun == 4, "A run of four elements is one access.");
    const auto seen = [&] {
      const uint4 v = ptx::ld_relaxed_gpu_v4_b32(from);
      return v.x != kBlank && v.y != kBlank && v.z != kBlank && v.w != kBlank;
    };
    const auto look = [&] {
      for (int round = 0; round < kMaxLooks; ++round) {
        if (seen()) return true;
      }
      return false;
    };
    const unsigned active = __activemask();
    if (threadIdx.x % 32 == static_cast<unsigned>(__ffs(static_cast<int>(active)) - 1)) look();
    __syncwarp(active);
    return look();
  }
  template <int kRun>
  __device__ __forceinline__ void blank(float* to) const {
    static_assert(kRun == 4, "A run of four elements is one access.");
    *reinterpret_cast<uint4*>(to) = make_uint4(kBlank, kBlank, kBlank, kBlank);
  }
  __device__ __forceinline__ void wait_for_earlier_work() const { wait_for_all_before(); }
  __device__ __forceinline__ void let_next_in() const { let_dependents_in(); }

  /// Whether it holds for any thread. A barrier.
  __device__ __forceinline__ bool any(bool yes) const { return __syncthreads_or(yes) != 0; }
  /// Whether no thread has a reason to give up. A barrier.
  __device__ __forceinline__ bool goes_on(const Job& j, std::uint64_t why) const {
    if (why != 0) give_up(j, static_cast<const DeviceMachine&>(*this), why);
    return !__syncthreads_or(why != 0);
  }
  /// A thread for each of the other ranks signals and waits. What all threads have written is
  /// behind the barrier, and so part of what the signal releases.
  __device__ __forceinline__ bool meet(const Job& j, std::uint64_t call, int meeting) const {
    __syncthreads();
    const int r = static_cast<int>(threadIdx.x);
    std::uint64_t why = 0;
    if (r < j.ranks && r != j.rank) {
      const int place = place_of(call, meeting);
      const std::uint64_t signal = signal_of(call, j.step);
      release(&j.header[r]->signal[place][j.rank][index()], signal);
      const DeviceMachine& machine = *this;
      why = wait_for(j, machine, &j.header[j.rank]->signal[place][r][index()], signal, r);
    }
    return goes_on(j, why);
  }

 private:
  static constexpr int kMaxLooks = 2000;  ///< about a millisecond

  static __device__ __forceinline__ std::uint64_t pack(float low, float high) {
    return static_cast<std::uint64_t>(__float_as_uint(high)) << 32 | __float_as_uint(low);
  }
};

template <int kRun, int kDepth>
__global__ void __launch_bounds__(kMaxThreads, 1) peers_kernel(const __grid_constant__ Job job) {
  wait_for_all_before();
  const DeviceCta cta;
  run_call<kRun, kDepth>(job, cta);
}

/// one_shot with roots that are blank until the product stores them (early.hpp). Two CTAs have room
/// on a multiprocessor, so that one leaves a product of few rows its registers. With kLetsNextIn
/// the next kernel of the stream begins under its wait; see Way::lets_next_in.
template <bool kLetsNextIn>
__global__ void __launch_bounds__(kMaxThreadsEarly, 2)
    peers_kernel_early(const __grid_constant__ Job job) {
  run_early<4, kFlat, kLetsNextIn>(job, DeviceCta{});
}

}  // namespace

Kernel early_kernel(bool lets_next_in) {
  const auto kernel = lets_next_in ? &peers_kernel_early<true> : &peers_kernel_early<false>;
  return {reinterpret_cast<const void*>(kernel), kMaxThreadsEarly};
}

Kernel kernel(bool vectors, bool deep) {
  using Function = void (*)(Job);
  static constexpr Function kKernels[2][2] = {
      {&peers_kernel<1, kShallow>, &peers_kernel<1, kMaxWaiting>},
      {&peers_kernel<4, kShallow>, &peers_kernel<4, kMaxWaiting>}};
  return {reinterpret_cast<const void*>(kKernels[vectors ? 1 : 0][deep ? 1 : 0]), kMaxThreads};
}

}  // namespace detgemm::cuda::peers

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "core/arithmetic/step.hpp"
#include "detgemm/types.hpp"

/// Stands in for the headers of cuda/sm90/ptx where the kernels' own code runs on the host, one
/// thread after the other (fp8_machine_test.cpp). Shared memory is an array. What a thread waits
/// for has happened when the wait returns: a hook of the test does it. wgmma ends at once, and
/// computes the integer model on what its descriptors describe.
#undef __device__
#define __device__
#undef __forceinline__
#define __forceinline__ inline

namespace detgemm::test {

struct Index {
  unsigned x = 0;
};
struct Machine {
  std::vector<unsigned char> shared = std::vector<unsigned char>(256 * 1024);
  std::function<void(std::uint32_t, std::uint32_t)> wait;  ///< (barrier, parity)
  std::function<void(std::uint32_t)> arrive;               ///< (barrier)
  std::vector<std::uint32_t> turns;                        ///< named barriers, in order
  std::uint32_t rank = 0;                                  ///< of the CTA in its pair
  bool misaligned = false;                                 ///< a bulk copy was
  std::uint32_t bulk_bytes = 0;                            ///< of all bulk copies
  std::uint32_t announced = 0;                             ///< to barriers

  template <class T>
  T load(std::uint32_t from) const {
    T value;
    std::memcpy(&value, shared.data() + from, sizeof value);
    return value;
  }
  template <class T>
  void store(std::uint32_t to, const T& value) {
    std::memcpy(shared.data() + to, &value, sizeof value);
  }
};
inline Machine machine;
inline Index thread_index, block_index, grid_extent;

}  // namespace detgemm::test

#define threadIdx detgemm::test::thread_index
#define blockIdx detgemm::test::block_index
#define gridDim detgemm::test::grid_extent
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline void __syncwarp() {}
inline int __shfl_sync(unsigned, int v, int) { return v; }
inline int __any_sync(unsigned, bool v) { return v ? 1 : 0; }
inline float4 __ldcg(const float4* from) { return *from; }

namespace detgemm::cuda::sm90::ptx {

using test::machine;

// What the code over leaves does.
inline void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  machine.wait(barrier, parity);
}
inline bool mbarrier_try_wait(std::uint32_t barrier, std::uint32_t parity) {
  machine.wait(barrier, parity);
  return true;
}
inline void mbarrier_arrive(std::uint32_t barrier) { machine.arrive(barrier); }
inline void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
  machine.announced += bytes;
  machine.arrive(barrier);
}
inline void bar_sync(std::uint32_t barrier, std::uint32_t) { machine.turns.push_back(barrier); }
inline void bar_arrive(std::uint32_t barrier, std::uint32_t) { machine.turns.push_back(barrier); }
inline void cp_async_mbarrier_arrive_noinc(std::uint32_t barrier) { machine.arrive(barrier); }
/// Addresses in the neighbour of a pair have the highest bit.
inline std::uint32_t mapa(std::uint32_t address, std::uint32_t rank) {
  return rank == machine.rank ? address : address | 0x80000000U;
}
inline void mbarrier_arrive_cluster(std::uint32_t barrier) { machine.arrive(barrier); }
inline void cp_async_wait_all() {}
inline void cp_async_4(std::uint32_t to, const void* from) {
  std::memcpy(machine.shared.data() + to, from, 4);
}
inline void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes, std::uint32_t) {
  if (to % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0 || bytes % 16 != 0) {
    machine.misaligned = true;
  }
  machine.bulk_bytes += bytes;
  std::memcpy(machine.shared.data() + to, from, bytes);
}
inline std::uint32_t shared_address(const void*) { return 1000; }
inline float ld_shared_f32(std::uint32_t from) { return machine.load<float>(from); }
inline float2 ld_shared_v2_f32(std::uint32_t from) { return machine.load<float2>(from); }
inline float4 ld_shared_v4_f32(std::uint32_t from) { return machine.load<float4>(from); }
inline void st_shared_f32(std::uint32_t to, float v) { machine.store(to, v); }
inline void st_shared_v4_f32(std::uint32_t to, float4 v) { machine.store(to, v); }
inline void add_rn_f32(float& sum, float value) { sum = arithmetic::add_rn(sum, value); }
inline void fma_rn_f32(float& sum, float scale, float value) {
  sum = arithmetic::fma_rn(scale, value, sum);
}
inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int kPending>
void wgmma_wait() {}
inline void pin(float&) {}
template <int kCount>
void pin(float (&)[kCount]) {}
inline std::uint64_t descriptor(std::uint32_t address, std::uint32_t) {
  return (address & 0x3ffffU) >> 4;
}

/// Byte `at` of row `row` of a K-major matrix under the 128-byte swizzle: the chunk of 16 bytes is
/// XORed with the row of 128 bytes that the address lies in.
inline unsigned char byte_of(std::uint64_t descriptor, int row, int at) {
  const auto plain = static_cast<std::uint32_t>((descriptor & 0x3fffU) << 4) +
                     static_cast<std::uint32_t>(row * 128 + at);
  return machine.shared[plain ^ (plain >> 7 & 7U) << 4];
}

template <DType T, int N, bool kAMn, bool kBMn>
struct Wgmma {
  static_assert(T == DType::e4m3 && !kAMn && !kBMn);
  template <bool kFresh = false>
  static void run(float (&d)[N / 2], std::uint64_t a, std::uint64_t b) {
    const int t = static_cast<int>(threadIdx.x % 128);
    for (int i = 0; i < N / 2; ++i) {
      const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2);
      const int col = 8 * (i / 4) + 2 * (t % 4) + i % 2;
      std::uint8_t x[32], y[32];
      for (int k = 0; k < 32; ++k) {
        x[k] = byte_of(a, row, k);
        y[k] = byte_of(b, col, k);
      }
      d[i] = arithmetic::Step<Arithmetic::hopper, DType::e4m3>::apply(x, y, kFresh ? 0.0F : d[i]);
    }
  }
};

// What is named beside it and never called.
inline void mbarrier_init(std::uint32_t, std::uint32_t) {}
inline std::uint32_t cluster_ctarank() { return machine.rank; }
inline void griddepcontrol_wait() {}
inline bool elect_sync() { return true; }
inline void tma_load(std::uint32_t, const CUtensorMap*, int, int, std::uint32_t) {}
inline void tma_load(std::uint32_t, const CUtensorMap*, int, int, int, std::uint32_t) {}
inline void tma_multicast(std::uint32_t, const CUtensorMap*, int, int, std::uint32_t,
                          std::uint16_t) {}
template <int kPending>
void tma_store_wait_read() {}

}  // namespace detgemm::cuda::sm90::ptx

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/arithmetic/formats.hpp"
#include "detgemm/types.hpp"

/// Stands in for the headers of cuda/sm90/ptx where the epilogues of a consumer group run on the
/// host, 128 threads at once (epilogue_machine_test.cpp). Shared memory is an array; barriers of a
/// warp and of the group are real. The special function unit is off by as much as it may be.
#undef __device__
#define __device__
#undef __host__
#define __host__
#undef __forceinline__
#define __forceinline__ inline

namespace detgemm::test {

struct Index {
  unsigned x = 0;
};
inline thread_local Index thread_index;
inline Index block_index, grid_extent;
inline std::vector<unsigned char> shared_memory = std::vector<unsigned char>(256 * 1024);
inline std::barrier<> warps[4] = {std::barrier<>(32), std::barrier<>(32), std::barrier<>(32),
                                  std::barrier<>(32)};
inline std::barrier<> whole_group(128);

template <class V>
V load(std::uint32_t from) {
  V value;
  std::memcpy(&value, shared_memory.data() + from, sizeof value);
  return value;
}
template <class V>
void store(std::uint32_t to, const V& value) {
  std::memcpy(shared_memory.data() + to, &value, sizeof value);
}

}  // namespace detgemm::test

#define threadIdx detgemm::test::thread_index
#define blockIdx detgemm::test::block_index
#define gridDim detgemm::test::grid_extent
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline void __syncwarp() { detgemm::test::warps[threadIdx.x / 32 % 4].arrive_and_wait(); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline float __uint_as_float(std::uint32_t bits) { return detgemm::arithmetic::float_of(bits); }
inline std::uint32_t __byte_perm(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    out |= static_cast<std::uint32_t>(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  }
  return out;
}

namespace detgemm::cuda::sm90::ptx {

/// `share` of the largest error, up or down by a bit that looks random.
inline float off(double value, double share) {
  const auto as_float = static_cast<float>(value);
  const bool up = (arithmetic::bits_of(as_float) * 2654435761U >> 31) != 0;
  const auto moved = static_cast<float>(value * (up ? 1 + share : 1 - share));
  return std::fabs(moved) < 0x1p-126F ? 0.0F : moved;
}
inline float ex2_approx_f32(float v) { return off(std::exp2(static_cast<double>(v)), 0x1p-22); }
inline float rcp_approx_f32(float v) {
  return v == 1.0F ? 1.0F : off(1 / static_cast<double>(v), 0x1p-23);
}
inline float max_nan_f32(float a, float b) {
  return a != a || b != b ? arithmetic::float_of(arithmetic::kNaNBits) : a > b ? a : b;
}
inline std::uint32_t cvt_rn_bf16x2_f32(float high, float low) {
  const auto one = [](float v) { return arithmetic::to_bf16(arithmetic::canonical(v)); };
  return static_cast<std::uint32_t>(one(high)) << 16 | one(low);
}
inline std::uint32_t cvt_rn_f16x2_f32(float high, float low) {
  const auto one = [](float v) { return arithmetic::to_fp16(arithmetic::canonical(v)); };
  return static_cast<std::uint32_t>(one(high)) << 16 | one(low);
}
inline void pin(std::uint32_t&) {}
template <int kCount>
void pin(float (&)[kCount]) {}

inline std::uint32_t shared_address(const void*) { return 1000; }
inline std::uint16_t ld_shared_u16(std::uint32_t from) { return test::load<std::uint16_t>(from); }
inline std::uint32_t ld_shared_u32(std::uint32_t from) { return test::load<std::uint32_t>(from); }
inline float ld_shared_f32(std::uint32_t from) { return test::load<float>(from); }
inline float2 ld_shared_v2_f32(std::uint32_t from) { return test::load<float2>(from); }
inline float4 ld_shared_v4_f32(std::uint32_t from) { return test::load<float4>(from); }
inline uint4 ld_shared_v4_u32(std::uint32_t from) { return test::load<uint4>(from); }
inline void st_shared_u32(std::uint32_t to, std::uint32_t v) { test::store(to, v); }
inline void st_shared_f32(std::uint32_t to, float v) { test::store(to, v); }
inline void st_shared_v2_f32(std::uint32_t to, float2 v) { test::store(to, v); }
inline void st_shared_v4_f32(std::uint32_t to, float4 v) { test::store(to, v); }
inline void st_global_v2_u32(void* to, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t both[] = {first, second};
  std::memcpy(std::assume_aligned<8>(static_cast<unsigned char*>(to)), both, sizeof both);
}
inline void st_global_v4_u32(void* to, uint4 v) {
  std::memcpy(std::assume_aligned<16>(static_cast<unsigned char*>(to)), &v, sizeof v);
}

// What is named beside it and never called.
inline void bar_arrive(std::uint32_t, std::uint32_t) {}
inline void fence_proxy_async() {}
inline std::uint32_t cluster_ctarank() { return 0; }
inline std::uint32_t mapa(std::uint32_t address, std::uint32_t) { return address; }
inline void griddepcontrol_wait() {}
inline bool elect_sync() { return true; }
inline float cvt_f32_f16(std::uint32_t half) {
  return arithmetic::to_float<DType::fp16>(static_cast<std::uint16_t>(half));
}
inline void wgmma_fence() {}
template <bool kTransposed>
void stmatrix_x2(std::uint32_t, std::uint32_t, std::uint32_t) {}
template <bool kTransposed>
void stmatrix_x4(std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t) {}
inline void tma_store(const CUtensorMap*, int, int, std::uint32_t) {}
inline void tma_store_commit() {}
template <int kPending>
void tma_store_wait_read() {}

#ifndef DETGEMM_MACHINE_HAS_A_RING  // leaves_machine.hpp has its own
inline void bar_sync(std::uint32_t, std::uint32_t) { test::whole_group.arrive_and_wait(); }
inline void mbarrier_wait(std::uint32_t, std::uint32_t) {}
inline void mbarrier_arrive(std::uint32_t) {}
inline void mbarrier_arrive_expect_tx(std::uint32_t, std::uint32_t) {}
inline void mbarrier_arrive_cluster(std::uint32_t) {}
inline void wgmma_commit() {}
template <int kPending>
void wgmma_wait() {}
inline std::uint64_t descriptor(std::uint32_t, std::uint32_t) { return 0; }
template <DType T, int N, bool kAMn, bool kBMn>
struct Wgmma {
  template <bool kFresh = false>
  static void run(float (&)[N / 2], std::uint64_t, std::uint64_t) {}
};
inline void tma_load(std::uint32_t, const CUtensorMap*, int, int, std::uint32_t) {}
inline void tma_load(std::uint32_t, const CUtensorMap*, int, int, int, std::uint32_t) {}
inline void tma_multicast(std::uint32_t, const CUtensorMap*, int, int, std::uint32_t,
                          std::uint16_t) {}
#endif

}  // namespace detgemm::cuda::sm90::ptx

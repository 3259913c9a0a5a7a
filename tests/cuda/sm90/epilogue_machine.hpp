// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/arithmetic/formats.hpp"
#include "detgemm/types.hpp"

/// Stands in for the headers of cuda/sm90/ptx where the epilogues of a consumer group run on the
/// host, 128 threads at once (epilogue_machine_test.cpp). Shared memory is an array; barriers of a
/// warp and of the group are real. The special function unit is off by as much as it may be. TMA
/// reads a box as late as it may: when its thread waits until it has.
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

/// D as a tensor map describes it: lines of 16-bit elements, and a box of some of them.
struct OutputMap {
  std::uint16_t* data = nullptr;
  int along = 0, lines = 0;  ///< extents
  int ld = 0;
  int box_along = 0, box_lines = 0;
};
inline OutputMap output_map;

/// A store that TMA was asked for. A box is written as `swizzled` says, 8 elements per chunk.
struct OutputStore {
  int along, line;
  std::uint32_t box;
  int group;  ///< of its thread's stores

  void run() const {
    const OutputMap& m = output_map;
    const int chunks = m.box_along / 8;
    for (int i = 0; i < m.box_lines * m.box_along; ++i) {
      const int row = i / m.box_along, column = i % m.box_along;
      const std::uint32_t at = box + static_cast<std::uint32_t>(row * m.box_along * 2);
      // The pattern of the address, not of the row in the box.
      const int turn = chunks == 8   ? at / 128 % 8
                       : chunks == 4 ? at / 128 % 4
                       : chunks == 2 ? at / 128 % 2
                                     : 0;
      const int to_line = line + row, to = along + column;
      if (to_line < 0 || to_line >= m.lines || to < 0 || to >= m.along) continue;
      m.data[to_line * m.ld + to] = load<std::uint16_t>(
          at + static_cast<std::uint32_t>((column / 8 ^ turn) * 16 + column % 8 * 2));
    }
  }
};
inline thread_local std::vector<OutputStore> stores;
inline thread_local int store_groups = 0;

/// Runs the stores of all but the last `pending` groups of this thread.
inline void run_stores(int pending) {
  std::erase_if(stores, [&](const OutputStore& one) {
    const bool due = one.group < store_groups - pending;
    if (due) one.run();
    return due;
  });
}

/// The addresses that the lanes of a warp give for matrices of 8 rows.
inline std::uint32_t rows_of_matrices[4][32];

/// Calls `act(i, e, address)` for the matrix, the place and the address of each of the 16-bit
/// elements that a lane has of `count` matrices of 8 x 8: two neighbours of one row, or of one
/// column.
template <class Act>
void for_matrices(std::uint32_t row, bool transposed, int count, const Act& act) {
  const unsigned lane = thread_index.x % 32;
  auto& rows = rows_of_matrices[thread_index.x / 32 % 4];
  if (row % 16 != 0) std::abort();
  rows[lane] = row;
  warps[thread_index.x / 32 % 4].arrive_and_wait();
  for (int i = 0; i < count; ++i) {
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned x = lane / 4, y = lane % 4 * 2 + e;
      act(i, e,
          rows[static_cast<unsigned>(i) * 8 + (transposed ? y : x)] + (transposed ? x : y) * 2);
    }
  }
  warps[thread_index.x / 32 % 4].arrive_and_wait();
}
inline void store_matrices(std::uint32_t row, bool transposed, int count,
                           const std::uint32_t* pairs) {
  for_matrices(row, transposed, count, [&](int i, unsigned e, std::uint32_t at) {
    store(at, static_cast<std::uint16_t>(pairs[i] >> (e * 16)));
  });
}
inline void load_matrices(std::uint32_t row, bool transposed, int count, std::uint32_t* pairs) {
  for (int i = 0; i < count; ++i) pairs[i] = 0;
  for_matrices(row, transposed, count, [&](int i, unsigned e, std::uint32_t at) {
    pairs[i] |= static_cast<std::uint32_t>(load<std::uint16_t>(at)) << (e * 16);
  });
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
inline void pin(float&) {}
inline void copy(float& to, float from) { to = from; }
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
template <bool kTransposed>
void stmatrix_x2(std::uint32_t to, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t pairs[] = {first, second};
  test::store_matrices(to, kTransposed, 2, pairs);
}
template <bool kTransposed>
void stmatrix_x4(std::uint32_t to, std::uint32_t first, std::uint32_t second, std::uint32_t third,
                 std::uint32_t fourth) {
  const std::uint32_t pairs[] = {first, second, third, fourth};
  test::store_matrices(to, kTransposed, 4, pairs);
}
inline void tma_store(const CUtensorMap*, int along, int line, std::uint32_t box) {
  test::stores.push_back({along, line, box, test::store_groups});
}
/// Of kernels whose D has a map with a matrix per group, which no test on this machine runs.
inline void tma_store(const CUtensorMap*, int, int, int, std::uint32_t) { std::abort(); }
inline void tma_store_commit() { ++test::store_groups; }
#ifndef DETGEMM_MACHINE_HAS_A_RING
template <int kPending>
void tma_store_wait_read() {
  test::run_stores(kPending);
}
#endif
inline void prefetch_global_l2(const void*) {}
template <bool kTransposed>
void ldmatrix_x2(std::uint32_t* pairs, std::uint32_t from) {
  test::load_matrices(from, kTransposed, 2, pairs);
}
template <bool kTransposed>
void ldmatrix_x4(std::uint32_t* pairs, std::uint32_t from) {
  test::load_matrices(from, kTransposed, 4, pairs);
}
inline void ld_shared_v2_f32_if(std::uint32_t, std::uint32_t, float*) {}

}  // namespace detgemm::cuda::sm90::ptx

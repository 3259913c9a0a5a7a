// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <array>
#include <functional>
#include <vector>

#include "core/arithmetic/step.hpp"
#include "tests/cuda/mma/faults.hpp"
#include "tests/cuda/mma/fibers.hpp"
#include "tests/cuda/mma/shared_memory.hpp"

/// Stands in for the headers of cuda/sm90/ptx where the kernel of cuda/mma runs on the host
/// (kernel_test.cpp). The threads of a CTA are fibers. mma.sync computes the contract's own steps:
/// of hopper and blackwell one of 16 products, of ampere two of 8. cp.async copies as late as it
/// may.
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

/// A CTA that runs on the host, and what it met.
struct Machine {
  using Step16 = float (*)(const std::uint16_t* a, const std::uint16_t* b, float acc);

  Fibers fibers;
  SharedMemory shared;
  Step16 step = nullptr;  ///< 16 products, or 8 of tf32, as this GPU adds them
  MmaFault fault = MmaFault::none;
  std::uint64_t faults = 0;  ///< addresses that are not aligned, lanes that do not agree

  struct Copy {
    std::uint32_t to;
    const void* from;
    int bytes;
  };
  struct Thread {
    Moment now;
    std::vector<std::vector<Copy>> groups{{}};  ///< of cp.async; the last one is open
    int barriers = 0;
  };
  struct Warp {
    Meeting meeting;
    std::array<std::uint32_t, 32> address{};
    std::array<bool, 32> transpose{};
    std::array<std::uint32_t*, 32> out{};
    std::array<float*, 32> d{};
    std::array<const std::uint32_t*, 32> a{}, b{};
  };
  Meeting cta;
  std::vector<Thread> threads;
  std::vector<Warp> warps;

  Thread& me() { return threads[static_cast<std::size_t>(fibers.current())]; }
  Warp& my_warp() { return warps[static_cast<std::size_t>(fibers.current()) / 32]; }
  std::size_t lane() const { return static_cast<std::size_t>(fibers.current()) % 32; }

  /// Runs one CTA of `count` threads in the order; false where it deadlocks.
  bool run(int count, std::size_t shared_bytes, const std::vector<int>& order,
           const std::function<void()>& body) {
    shared.reset(shared_bytes);
    cta = {count, 0, 0};
    threads.assign(static_cast<std::size_t>(count), {});
    warps.assign(static_cast<std::size_t>(count) / 32, {});
    for (int i = 0; i < count; ++i) threads[static_cast<std::size_t>(i)].now.thread = i;
    for (Warp& warp : warps) warp.meeting.expected = 32;
    const bool ended = fibers.run(order, body);
    faults += shared.races();
    return ended;
  }

  void sync_threads() {
    Thread& thread = me();
    if (fault == MmaFault::no_barrier && thread.barriers++ % 3 == 1) return;
    fibers.meet(cta, [] {});
    ++thread.now.cta;
  }
  void sync_warp() {
    if (fault == MmaFault::no_warp_barrier) return;
    fibers.meet(my_warp().meeting, [] {});
    ++me().now.warp;
  }

  void copy(std::uint32_t to, const void* from, int bytes) {
    faults += reinterpret_cast<std::uintptr_t>(from) % 16 != 0;
    shared.begin_copy(to, 16, me().now);
    me().groups.back().push_back({to, from, bytes});
  }
  void commit() { me().groups.emplace_back(); }
  void wait(std::size_t pending) {
    auto& groups = me().groups;
    if (fault == MmaFault::no_wait) return;
    while (groups.size() - 1 > pending) {
      for (const Copy& c : groups.front()) {
        unsigned char chunk[16];
        std::memset(chunk, fault == MmaFault::no_zeros ? 0x3f : 0, sizeof chunk);
        std::memcpy(chunk, c.from, static_cast<std::size_t>(c.bytes));
        shared.end_copy(c.to, chunk, 16, me().now);
      }
      groups.erase(groups.begin());
    }
  }

  /// What lane l ^ with of the warp gives.
  std::uint32_t exchange(std::uint32_t value, std::size_t with) {
    Warp& warp = my_warp();
    std::uint32_t got = 0;
    warp.address[lane()] = value;
    warp.out[lane()] = &got;
    fibers.meet(warp.meeting, [&] {
      for (std::size_t l = 0; l < 32; ++l) *warp.out[l] = warp.address[l ^ with];
    });
    return got;
  }

  /// Lane 8 i + r gives the address of row r of matrix i; each lane has two elements of each.
  void load_matrices(bool transpose, std::uint32_t (&a)[4], std::uint32_t address) {
    Warp& warp = my_warp();
    warp.address[lane()] = address;
    warp.transpose[lane()] = transpose;
    warp.out[lane()] = a;
    fibers.meet(warp.meeting, [&] {
      std::uint16_t matrix[4][8][8];
      for (std::size_t l = 0; l < 32; ++l) {
        faults += warp.transpose[l] != transpose;
        const std::size_t thread = static_cast<std::size_t>(fibers.current()) / 32 * 32 + l;
        shared.read(warp.address[l], matrix[l / 8][l % 8], 16, threads[thread].now);
      }
      for (std::size_t l = 0; l < 32; ++l) {
        const std::size_t from = fault == MmaFault::wrong_lane && l == 5 ? 6 : l;
        const std::size_t row = from / 4, column = from % 4 * 2;
        for (std::size_t i = 0; i < 4; ++i) {
          const auto& m = matrix[i];
          const std::uint32_t low = transpose ? m[column][row] : m[row][column];
          const std::uint32_t high = transpose ? m[column + 1][row] : m[row][column + 1];
          warp.out[l][i] = low | high << 16;
        }
      }
    });
  }

  /// Element (row, k) of A is in lane row % 8 * 4 + k % 8 / 2, and (k, column) of B in lane
  /// column * 4 + k % 8 / 2.
  void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    Warp& warp = my_warp();
    warp.d[lane()] = d;
    warp.a[lane()] = a;
    warp.b[lane()] = b;
    fibers.meet(warp.meeting, [&] {
      const auto half_of = [](std::uint32_t pair, std::size_t k) {
        return static_cast<std::uint16_t>(pair >> (k % 2 * 16));
      };
      std::uint16_t x[16][16], y[8][16];
      for (std::size_t k = 0; k < 16; ++k) {
        const std::size_t to = fault == MmaFault::swapped_halves ? (k + 8) % 16 : k;
        const std::size_t pair = k % 8 / 2;
        for (std::size_t row = 0; row < 16; ++row) {
          x[row][to] = half_of(warp.a[row % 8 * 4 + pair][row / 8 + k / 8 * 2], k);
        }
        for (std::size_t column = 0; column < 8; ++column) {
          y[column][to] = half_of(warp.b[column * 4 + pair][k / 8], k);
        }
      }
      for (std::size_t l = 0; l < 32; ++l) {
        for (std::size_t e = 0; e < 4; ++e) {
          float& acc = warp.d[l][e];
          acc = step(x[l / 4 + e / 2 * 8], y[l % 4 * 2 + e % 2], acc);
        }
      }
    });
  }
};
inline Machine machine;
inline Index block_index, grid_extent;
inline Index thread_index() { return {static_cast<unsigned>(machine.fibers.current())}; }

/// Thirty-two bytes of products: sixteen as mma.sync.m16n8k16 of the GPU that an arithmetic
/// describes adds them, or eight of tf32 as m16n8k8 does. `less` bits fewer of every term: a
/// planted fault.
template <Arithmetic A, DType T, int less>
float products_of(const std::uint16_t* a, const std::uint16_t* b, float acc) {
  using Word = arithmetic::Storage<T>;
  constexpr int kCount = 32 / sizeof(Word);
  Word x[kCount], y[kCount];
  std::memcpy(x, a, 32);
  std::memcpy(y, b, 32);
  arithmetic::TensorUnit unit = arithmetic::tensor_unit<A, T>();
  unit.fraction_bits -= less;
  for (int k = 0; k < kCount; k += unit.products) {
    acc = arithmetic::tensor_step<T>(unit, x + k, y + k, acc);
  }
  return acc;
}

}  // namespace detgemm::test

#define threadIdx (detgemm::test::thread_index())
#define blockIdx detgemm::test::block_index
#define gridDim detgemm::test::grid_extent
inline void __syncthreads() { detgemm::test::machine.sync_threads(); }
inline void __syncwarp() { detgemm::test::machine.sync_warp(); }
inline std::uint32_t __shfl_xor_sync(std::uint32_t, std::uint32_t value, int with) {
  return detgemm::test::machine.exchange(value, static_cast<std::size_t>(with));
}

namespace detgemm::cuda::sm90::ptx {

template <class V>
V load_shared(std::uint32_t from) {
  V v{};
  test::machine.shared.read(from, &v, sizeof v, test::machine.me().now);
  return v;
}
template <class V>
void store_shared(std::uint32_t to, const V& v) {
  test::machine.shared.write(to, &v, sizeof v, test::machine.me().now);
}
inline float ld_shared_f32(std::uint32_t from) { return load_shared<float>(from); }
inline float4 ld_shared_v4_f32(std::uint32_t from) { return load_shared<float4>(from); }
inline float2 ld_shared_v2_f32(std::uint32_t from) { return load_shared<float2>(from); }
inline void st_shared_f32(std::uint32_t to, float v) { store_shared(to, v); }
inline void st_shared_v2_f32(std::uint32_t to, float2 v) { store_shared(to, v); }
inline void st_shared_v4_u32(std::uint32_t to, uint4 v) { store_shared(to, v); }

inline void cp_async_16_zeros(std::uint32_t to, const void* from, int bytes) {
  test::machine.copy(to, from, bytes);
}
template <int kNeed>
void cp_async_16_if(std::uint32_t to, const void* from, int have) {
  if (have > kNeed) test::machine.copy(to, from, 16);
}
inline std::uint32_t kept(std::uint32_t number) { return number; }
inline const char* kept(const char* pointer) { return pointer; }
inline std::uint32_t cvt_rn_bf16x2_f32(float high, float low) {
  return std::uint32_t{arithmetic::to_bf16(high)} << 16 | arithmetic::to_bf16(low);
}
inline std::uint32_t cvt_rn_f16x2_f32(float high, float low) {
  return std::uint32_t{arithmetic::to_fp16(high)} << 16 | arithmetic::to_fp16(low);
}
inline void st_global_v2_u32(void* to, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t both[2] = {first, second};
  test::machine.faults += reinterpret_cast<std::uintptr_t>(to) % sizeof both != 0;
  std::memcpy(to, both, sizeof both);
}
inline void wait_for_earlier_work() {}
inline void cp_async_commit_group() { test::machine.commit(); }
template <int kPending>
void cp_async_wait_group() {
  test::machine.wait(kPending);
}
template <bool kTranspose>
void ldmatrix_x4(std::uint32_t (&a)[4], std::uint32_t address) {
  test::machine.load_matrices(kTranspose, a, address);
}
template <DType T>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  test::machine.multiply(d, a, b);
}
/// A lane has the same bytes of an operand as of m16n8k16.
inline void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
  test::machine.multiply(d, a, b);
}

}  // namespace detgemm::cuda::sm90::ptx

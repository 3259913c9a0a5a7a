// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// How many clocks a load of 16 bytes per lane takes whose lanes are in few or many lines, and a
// read of 8 bytes per lane from shared memory. Both decide hip/cost.cpp. Not run on AMD hardware.

#include "hip/gcn/control.hpp"
#include "tests/hip/probe/rates.hpp"

namespace {

using detgemm::test::kIdle;
using detgemm::test::kPasses;
using detgemm::test::kReads;
using detgemm::test::kShared;
using detgemm::test::RateArguments;

typedef std::uint32_t Words __attribute__((ext_vector_type(4)));

/// Reads kReads times and writes the clocks of the last pass; earlier ones fill the caches.
template <class Read>
__device__ __forceinline__ void measure(const RateArguments& a, bool active, Read read) {
  const unsigned thread = __builtin_amdgcn_workitem_id_x();
  std::uint32_t sum = 0;
  std::uint64_t clocks = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    __builtin_amdgcn_s_barrier();
    detgemm::hip::gcn::schedule_fence();
    const std::uint64_t begin = __builtin_amdgcn_s_memtime();
    if (active) {
#pragma unroll 8
      for (std::uint32_t i = 0; i < kReads; ++i) sum = sum * 5 + read(i * a.step);
    }
    asm volatile("" : "+v"(sum));  // the sum is there
    clocks = __builtin_amdgcn_s_memtime() - begin;
  }
  a.sums[thread] = sum;
  a.clocks[thread] = static_cast<std::uint32_t>(clocks);
}

}  // namespace

/// Four waves; the offsets are those of a wave's lanes.
extern "C" __attribute__((amdgpu_flat_work_group_size(256, 256))) __global__ void rate_gather(
    RateArguments a) {
  const std::uint32_t offset = a.offsets[__builtin_amdgcn_workitem_id_x() % 64];
  measure(a, offset != kIdle, [&](std::uint32_t more) {
    const Words w = *reinterpret_cast<const Words*>(a.from + offset + more);
    return w[0] ^ w[1] ^ w[2] ^ w[3];
  });
}

/// One wave, whose lanes read the table's first bytes from shared memory.
extern "C" __attribute__((amdgpu_flat_work_group_size(64, 64))) __global__ void rate_lds(
    RateArguments a) {
  __shared__ std::uint64_t shared[kShared / 8];
  const unsigned lane = __builtin_amdgcn_workitem_id_x();
  const auto* from = reinterpret_cast<const std::uint64_t*>(a.from);
  for (unsigned i = lane; i < kShared / 8; i += 64) shared[i] = from[i];
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
  const std::uint32_t offset = a.offsets[lane];
  measure(a, offset != kIdle, [&](std::uint32_t more) {
    const std::uint64_t w = shared[(offset + more) / 8];
    return static_cast<std::uint32_t>(w) ^ static_cast<std::uint32_t>(w >> 32);
  });
}

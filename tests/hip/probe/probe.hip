// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// One matrix instruction per wave, for identify: what does it compute? For gfx950, whose matrix
// core no contract describes, so the library has no kernel for it. Not run on AMD hardware.

#include <cstdint>

#include "hip/gcn/types.hpp"

namespace {

using detgemm::hip::gcn::f32x16;
using detgemm::hip::gcn::f32x4;
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef short s16x4 __attribute__((ext_vector_type(4)));

/// 32 x 32 outputs from operands whose rows are k consecutive numbers.
struct Steps {
  const std::uint16_t* a;
  const std::uint16_t* b;
  const float* c;
  float* d;
};
constexpr unsigned kSide = 32;

__device__ __forceinline__ f32x16 multiply(s16x4 x, s16x4 y, f32x16 acc) {
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, acc, 0, 0, 0);
}
__device__ __forceinline__ f32x4 multiply(s16x4 x, s16x4 y, f32x4 acc) {
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, acc, 0, 0, 0);
}
__device__ __forceinline__ f32x16 multiply(bf16x8 x, bf16x8 y, f32x16 acc) {
  return __builtin_amdgcn_mfma_f32_32x32x16_bf16(x, y, acc, 0, 0, 0);
}
__device__ __forceinline__ f32x4 multiply(bf16x8 x, bf16x8 y, f32x4 acc) {
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(x, y, acc, 0, 0, 0);
}

/// A wave computes the block of `rows` x `rows` outputs that its number stands for.
template <unsigned rows, class Packet, class Sums>
__device__ __forceinline__ void one_step(const Steps& s) {
  constexpr unsigned packet = sizeof(Packet) / 2;  // consecutive k of a lane
  constexpr unsigned k = 64 / rows * packet;
  const unsigned lane = __builtin_amdgcn_workitem_id_x();
  const unsigned block = __builtin_amdgcn_workgroup_id_x();
  const unsigned row = block / (kSide / rows) * rows;
  const unsigned column = block % (kSide / rows) * rows;
  const unsigned at = lane / rows * packet;
  const auto x = *reinterpret_cast<const Packet*>(s.a + (row + lane % rows) * k + at);
  const auto y = *reinterpret_cast<const Packet*>(s.b + (column + lane % rows) * k + at);
  const auto output = [&](unsigned i) {
    const unsigned line = rows == 32 ? 8 * (i / 4) + 4 * (lane / 32) + i % 4 : 4 * (lane / 16) + i;
    return (row + line) * kSide + column + lane % rows;
  };
  Sums sums;
  constexpr unsigned count = rows * rows / 64;
#pragma unroll
  for (unsigned i = 0; i < count; ++i) sums[i] = s.c[output(i)];
  sums = multiply(x, y, sums);
#pragma unroll
  for (unsigned i = 0; i < count; ++i) s.d[output(i)] = sums[i];
}

}  // namespace

#define PROBE(shape, rows, Packet, Sums)                          \
  extern "C" __attribute__((amdgpu_flat_work_group_size(64, 64))) \
  __global__ void probe_##shape(Steps steps) {                    \
    one_step<rows, Packet, Sums>(steps);                          \
  }
PROBE(32x32x8, 32, s16x4, f32x16)
PROBE(16x16x16, 16, s16x4, f32x4)
PROBE(32x32x16, 32, bf16x8, f32x16)
PROBE(16x16x32, 16, bf16x8, f32x4)

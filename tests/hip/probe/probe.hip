// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// One matrix instruction per wave, for identify: what does it compute? For instructions that no
// contract describes, so that the library has no kernel for them. Not run on AMD hardware.

#include <cstdint>

#include "hip/gcn/types.hpp"

namespace {

using detgemm::hip::gcn::f32x16;
using detgemm::hip::gcn::f32x4;
using detgemm::hip::gcn::s16x4;

/// 32 x 32 outputs from operands whose rows are k consecutive numbers.
struct Steps {
  const void* a;
  const void* b;
  const float* c;
  float* d;
};
constexpr unsigned kSide = 32;

/// Where a wave's lanes have the operands and results of R x R outputs.
///
///   operands  lane l has row (or column) l % R, and of it kEach numbers from l / R * kEach on
///   results   number i of lane l is in row `line` and column l % R
template <unsigned R, unsigned numbers, unsigned lanes = 64>
struct Places {
  static constexpr unsigned kRows = R;
  static constexpr unsigned kEach = numbers;
  static constexpr unsigned kProducts = lanes / R * kEach;
  static constexpr unsigned kResults = R * R / lanes;
  static __device__ unsigned line(unsigned lane, unsigned i) {
    return R == 32 ? 8 * (i / 4) + 4 * (lane / R) + i % 4 : lane / R * kResults + i;
  }
};

#if defined(__gfx942__) || defined(__gfx950__)
/// 8 numbers of 8 bits.
typedef long Bytes;
__device__ f32x16 multiply(Bytes x, Bytes y, f32x16 acc) {
  return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(x, y, acc, 0, 0, 0);
}
__device__ f32x4 multiply(Bytes x, Bytes y, f32x4 acc) {
  return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x, y, acc, 0, 0, 0);
}
#endif
#if defined(__gfx950__)
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
__device__ f32x16 multiply(s16x4 x, s16x4 y, f32x16 acc) {
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, acc, 0, 0, 0);
}
__device__ f32x4 multiply(s16x4 x, s16x4 y, f32x4 acc) {
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, acc, 0, 0, 0);
}
__device__ f32x16 multiply(bf16x8 x, bf16x8 y, f32x16 acc) {
  return __builtin_amdgcn_mfma_f32_32x32x16_bf16(x, y, acc, 0, 0, 0);
}
__device__ f32x4 multiply(bf16x8 x, bf16x8 y, f32x4 acc) {
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(x, y, acc, 0, 0, 0);
}
#endif
typedef float f32x8 __attribute__((ext_vector_type(8)));
#if defined(__GFX11__)
/// Both halves of a wave of 32 have all 16 numbers of a row; results are in every second row.
struct PlacesOfGfx11 : Places<16, 16, 32> {
  static constexpr unsigned kProducts = 16;
  static __device__ unsigned line(unsigned lane, unsigned i) { return 2 * i + lane / 16; }
};
typedef short s16x16 __attribute__((ext_vector_type(16)));
__device__ f32x8 multiply(s16x16 x, s16x16 y, f32x8 acc) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, acc);
}
#elif defined(__GFX12__)
typedef short s16x8 __attribute__((ext_vector_type(8)));
typedef int Words __attribute__((ext_vector_type(2)));
__device__ f32x8 multiply(s16x8 x, s16x8 y, f32x8 acc) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, acc);
}
__device__ f32x8 multiply(Words x, Words y, f32x8 acc) {
  return __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(x, y, acc);
}
#endif

/// A wave computes the block of outputs that its number stands for.
template <class At, class Packet, class Sums>
__device__ void one_step(const Steps& s) {
  constexpr unsigned rows = At::kRows;
  constexpr unsigned packets = At::kProducts / At::kEach;  // of a row
  const unsigned lane = __builtin_amdgcn_workitem_id_x();
  const unsigned block = __builtin_amdgcn_workgroup_id_x();
  const unsigned row = block / (kSide / rows) * rows;
  const unsigned column = block % (kSide / rows) * rows;
  const unsigned packet = lane / rows % packets;
  const Packet x = static_cast<const Packet*>(s.a)[(row + lane % rows) * packets + packet];
  const Packet y = static_cast<const Packet*>(s.b)[(column + lane % rows) * packets + packet];
  const auto output = [&](unsigned i) {
    return (row + At::line(lane, i)) * kSide + column + lane % rows;
  };
  Sums sums;
#pragma unroll
  for (unsigned i = 0; i < At::kResults; ++i) sums[i] = s.c[output(i)];
  sums = multiply(x, y, sums);
#pragma unroll
  for (unsigned i = 0; i < At::kResults; ++i) s.d[output(i)] = sums[i];
}

}  // namespace

#define PROBE(name, threads, At, Packet, Sums)                              \
  extern "C" __attribute__((amdgpu_flat_work_group_size(threads, threads))) \
  __global__ void probe_##name(Steps steps) {                               \
    one_step<At, Packet, Sums>(steps);                                      \
  }
#define PLACES(...) Places<__VA_ARGS__>
#if defined(__gfx950__)
PROBE(32x32x8, 64, PLACES(32, 4), s16x4, f32x16)
PROBE(16x16x16, 64, PLACES(16, 4), s16x4, f32x4)
PROBE(32x32x16, 64, PLACES(32, 8), bf16x8, f32x16)
PROBE(16x16x32, 64, PLACES(16, 8), bf16x8, f32x4)
#endif
#if defined(__gfx942__) || defined(__gfx950__)
PROBE(32x32x16_fp8, 64, PLACES(32, 8), Bytes, f32x16)
PROBE(16x16x32_fp8, 64, PLACES(16, 8), Bytes, f32x4)
#elif defined(__GFX11__)
PROBE(wmma_16x16x16, 32, PlacesOfGfx11, s16x16, f32x8)
#elif defined(__GFX12__)
PROBE(wmma_16x16x16, 32, PLACES(16, 8, 32), s16x8, f32x8)
PROBE(wmma_16x16x16_fp8, 32, PLACES(16, 8, 32), Words, f32x8)
#endif

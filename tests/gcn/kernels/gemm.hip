// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A tiled GEMM with matrix instructions for the emulator: as it is, and with planted faults.
// D (fp32, m x n) = A (m x k) * B (n x k, transposed), all with rows of consecutive elements; k is
// a multiple of 32. No headers, so that a plain clang compiles it.

#define DEVICE __attribute__((device, always_inline)) inline
#define SHARED __attribute__((shared))
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256)))

typedef short short4v __attribute__((ext_vector_type(4)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef unsigned uint4v __attribute__((ext_vector_type(4)));
typedef unsigned short element;

struct Problem {
  const element* a;
  const element* b;
  float* d;
  int m, n, k;
};

enum Plant { none, wrong_lanes, wrong_order, out_of_bounds, unwritten_lds };

template <bool kHalf>
DEVICE float16v mfma32(short4v a, short4v b, float16v c) {
  if constexpr (kHalf) {
    return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(half4v, a),
                                                __builtin_bit_cast(half4v, b), c, 0, 0, 0);
  } else {
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0);
  }
}

DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

constexpr int kTile = 64, kStep = 32, kPitch = kStep + 8;

DEVICE uint4v row_part(const element* x, int row, int rows, int k, int from) {
  const uint4v zero = {0, 0, 0, 0};
  return row < rows ? *(const uint4v*)(x + (long)row * k + from) : zero;
}

/// Four waves, each with a 32 x 32 quadrant of a 64 x 64 tile; every step moves 32 k through LDS.
template <bool kHalf, int kPlant>
DEVICE void gemm(Problem p) {
  SHARED element as[kTile * kPitch];
  SHARED element bs[kTile * kPitch];
  const int t = __builtin_amdgcn_workitem_id_x();
  const int wave = t / 64, half = t % 64 / 32, i = t % 32;
  const int wm = wave / 2 * 32, wn = wave % 2 * 32;
  const int m0 = __builtin_amdgcn_workgroup_id_y() * kTile;
  const int n0 = __builtin_amdgcn_workgroup_id_x() * kTile;
  const int row = t / 4, part = t % 4 * 8;
  float16v acc = {};
  for (int k = 0; k < p.k; k += kStep) {
    const uint4v a = row_part(p.a, m0 + row, p.m, p.k, k + part);
    const uint4v b = row_part(p.b, n0 + row, p.n, p.k, k + part);
    barrier();
    if (kPlant != unwritten_lds || row != 5) *(uint4v*)(as + row * kPitch + part) = a;
    *(uint4v*)(bs + row * kPitch + part) = b;
    barrier();
    for (int s = 0; s < kStep; s += 8) {
      const int at = (kPlant == wrong_order ? kStep - 8 - s : s) + 4 * half;
      const short4v x = *(const short4v*)(as + (wm + i) * kPitch + at);
      const short4v y = *(const short4v*)(bs + (wn + i) * kPitch + at);
      acc = mfma32<kHalf>(x, y, acc);
    }
  }
  for (int r = 0; r < 16; ++r) {
    const int lane_row =
        kPlant == wrong_lanes ? 8 * (r % 4) + 4 * half + r / 4 : 8 * (r / 4) + 4 * half + r % 4;
    const int m = m0 + wm + lane_row, n = n0 + wn + i;
    if (kPlant == out_of_bounds || (m < p.m && n < p.n)) p.d[(long)m * p.n + n] = acc[r];
  }
}

KERNEL void gemm_bf16(Problem p) { gemm<false, none>(p); }
KERNEL void gemm_fp16(Problem p) { gemm<true, none>(p); }
KERNEL void gemm_wrong_lanes(Problem p) { gemm<false, wrong_lanes>(p); }
KERNEL void gemm_wrong_order(Problem p) { gemm<false, wrong_order>(p); }
KERNEL void gemm_out_of_bounds(Problem p) { gemm<false, out_of_bounds>(p); }
KERNEL void gemm_unwritten_lds(Problem p) { gemm<false, unwritten_lds>(p); }

/// One wave, one 16 x 16 tile, operands directly from memory: the layout of the other shape.
KERNEL void gemm16_bf16(Problem p) {
  const int l = __builtin_amdgcn_workitem_id_x() % 64;
  const int m0 = __builtin_amdgcn_workgroup_id_y() * 16,
            n0 = __builtin_amdgcn_workgroup_id_x() * 16;
  float4v acc = {};
  for (int k = 0; k < p.k; k += 16) {
    const short4v x = *(const short4v*)(p.a + (long)(m0 + l % 16) * p.k + k + l / 16 * 4);
    const short4v y = *(const short4v*)(p.b + (long)(n0 + l % 16) * p.k + k + l / 16 * 4);
    acc = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, acc, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r) p.d[(long)(m0 + l / 16 * 4 + r) * p.n + n0 + l % 16] = acc[r];
}

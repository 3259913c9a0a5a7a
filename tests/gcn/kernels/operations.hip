// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What GEMM kernels use besides matrix instructions. Each thread writes its result to one word of
// `out`; the host test computes the same in plain C++.

#define DEVICE __attribute__((device, always_inline)) inline
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(128, 128)))

extern __attribute__((shared)) unsigned dynamic_lds[];

DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/// 128 threads reverse 128 words through dynamic LDS.
KERNEL void reverse(const unsigned* in, unsigned* out) {
  const int t = __builtin_amdgcn_workitem_id_x();
  dynamic_lds[t] = in[t];
  barrier();
  out[t] = dynamic_lds[127 - t];
}

/// Sixteen-bit halves of one word written by different waves.
KERNEL void halves(const unsigned* in, unsigned* out) {
  const int t = __builtin_amdgcn_workitem_id_x();
  unsigned short* words = (unsigned short*)dynamic_lds;
  words[2 * (t % 64) + t / 64] = (unsigned short)in[t];
  barrier();
  if (t < 64) out[t] = dynamic_lds[t];
}

/// Lanes of a wave that all lanes read, and branches in which lanes diverge.
KERNEL void lanes(const unsigned* in, unsigned* out) {
  const int t = __builtin_amdgcn_workitem_id_x();
  const unsigned x = in[t];
  out[t] = __builtin_amdgcn_readlane(x, 9) + __builtin_amdgcn_readfirstlane(x);
  if (t % 3 == 0)
    out[128 + t] = x * 3;
  else if (t % 3 == 1)
    out[128 + t] = x ^ 0x55;
  else
    out[128 + t] = x >> 3;
}

/// Arithmetic that compilers expand: division of floats and of integers, 64-bit products.
KERNEL void arithmetic(const unsigned* in, unsigned* out) {
  const int t = __builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x();
  const unsigned a = in[2 * t], b = in[2 * t + 1];
  const float x = __builtin_bit_cast(float, a), y = __builtin_bit_cast(float, b);
  out[5 * t] = __builtin_bit_cast(unsigned, x / y);
  out[5 * t + 1] = a / (b | 1);
  out[5 * t + 2] = (unsigned)((unsigned long)a * b >> 29);
  out[5 * t + 3] = __builtin_bit_cast(unsigned, __builtin_fmaf(x, y, x));
  const _Float16 h = (_Float16)x;
  out[5 * t + 4] = __builtin_bit_cast(unsigned short, h);
}

/// Global memory to LDS without registers in between, which only gfx942 can do with a word per
/// lane; next to a plain load, because clang 19 fails without one.
KERNEL void past_registers(const unsigned* in, unsigned* out) {
  const int t = __builtin_amdgcn_workitem_id_x();
  out[t] = in[t];
#if defined(__gfx942__)
  __builtin_amdgcn_global_load_lds(
      (const __attribute__((address_space(1))) unsigned*)in + t,
      (__attribute__((address_space(3))) unsigned*)dynamic_lds + t / 64 * 64, 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0)
  barrier();
  out[128 + t] = dynamic_lds[t ^ 64];
#endif
}

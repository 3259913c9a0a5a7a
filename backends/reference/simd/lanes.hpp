// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Included once by each instruction set's source, which defines DETGEMM_LANES (4, 8 or 16) and
// the namespace DETGEMM_ISA. No include guard on purpose: it is not a header for general use.

#include <cstdint>
#include <cstring>

#include "backends/reference/tile.hpp"

#define DETGEMM_INLINE inline __attribute__((always_inline))

namespace detgemm::reference::DETGEMM_ISA {

inline constexpr int kLanes = DETGEMM_LANES;
inline constexpr int kHalf = DETGEMM_LANES / 2;

using VF __attribute__((vector_size(4 * DETGEMM_LANES))) = float;
using VI __attribute__((vector_size(4 * DETGEMM_LANES))) = std::int32_t;
using VU __attribute__((vector_size(4 * DETGEMM_LANES))) = std::uint32_t;
using HI __attribute__((vector_size(2 * DETGEMM_LANES))) = std::int32_t;  // half the lanes
using HF __attribute__((vector_size(2 * DETGEMM_LANES))) = float;
using HD __attribute__((vector_size(4 * DETGEMM_LANES))) = double;
using HL __attribute__((vector_size(4 * DETGEMM_LANES))) = std::int64_t;

DETGEMM_INLINE VF as_float(VI v) { return reinterpret_cast<VF>(v); }
DETGEMM_INLINE VI as_int(VF v) { return reinterpret_cast<VI>(v); }
DETGEMM_INLINE HD as_double(HL v) { return reinterpret_cast<HD>(v); }
DETGEMM_INLINE HL as_long(HD v) { return reinterpret_cast<HL>(v); }

DETGEMM_INLINE VF splat(float x) { return x - VF{}; }
DETGEMM_INLINE VI splat(std::int32_t x) { return x - VI{}; }
DETGEMM_INLINE VI max(VI a, VI b) { return a > b ? a : b; }
/// a + b modulo 2^32: what Inf and NaN leave in a lane is replaced later and may overflow.
DETGEMM_INLINE VI wrapping_add(VI a, VI b) {
  return reinterpret_cast<VI>(reinterpret_cast<VU>(a) + reinterpret_cast<VU>(b));
}
DETGEMM_INLINE VI truncated(VF v) { return __builtin_convertvector(v, VI); }  // toward zero

DETGEMM_INLINE VF load(const float* p) {
  VF v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
DETGEMM_INLINE VI load(const std::int32_t* p) {
  VI v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// One fused multiply-add per lane: a loop that the compiler turns into one instruction if the set
/// has it, and otherwise into calls to the C library's exact fmaf.
DETGEMM_INLINE VF fma_lanes(VF a, VF b, VF c) {
  VF r;
  for (int i = 0; i < kLanes; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return r;
}

DETGEMM_INLINE void store(float* p, VF v) { std::memcpy(p, &v, sizeof v); }

DETGEMM_INLINE HI low(VI v) {
  HI h;
  std::memcpy(&h, &v, sizeof h);
  return h;
}
DETGEMM_INLINE HI high(VI v) {
  HI h;
  std::memcpy(&h, reinterpret_cast<const char*>(&v) + sizeof h, sizeof h);
  return h;
}
DETGEMM_INLINE VF join(HF l, HF h) {
  VF v;
  std::memcpy(&v, &l, sizeof l);
  std::memcpy(reinterpret_cast<char*>(&v) + sizeof l, &h, sizeof h);
  return v;
}

}  // namespace detgemm::reference::DETGEMM_ISA

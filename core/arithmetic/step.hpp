// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/cdna_step.hpp"
#include "core/arithmetic/snap3.hpp"
#include "core/arithmetic/tensor_step.hpp"
#include "detgemm/contract.hpp"

namespace detgemm::arithmetic {

/// The fused step of one (arithmetic, input type) pair, as plain scalar code that reads like
/// core/contract/CONTRACT.md: `apply` adds `products` products to the accumulator.
/// A pair without a specialisation does not exist; `for_step` is the list of those that do.
template <Arithmetic A, DType T>
struct Step;

template <DType T>
struct Step<Arithmetic::ieee_fma, T> {
  static constexpr int products = 1;
  DETGEMM_HD static float apply(const Storage<T>* a, const Storage<T>* b, float acc) {
    return fma_rn(to_float<T>(*a), to_float<T>(*b), acc);
  }
};

/// The fused unit of an NVIDIA (arithmetic, input type) pair.
template <Arithmetic A, DType T>
DETGEMM_HD constexpr TensorUnit tensor_unit() {
  constexpr bool fp8 = T == DType::e4m3 || T == DType::e5m2;
  if (A == Arithmetic::ampere) return T == DType::tf32 ? kAmpereTf32 : kAmpere16;
  if (fp8) return A == Arithmetic::blackwell ? kBlackwellFp8 : kHopperFp8;
  return T == DType::tf32 ? kHopperTf32 : kHopper16;  // blackwell equals hopper here
}

template <Arithmetic A, DType T>
struct TensorStep {
  static constexpr int products = tensor_unit<A, T>().products;
  DETGEMM_HD static float apply(const Storage<T>* a, const Storage<T>* b, float acc) {
    constexpr TensorUnit unit = tensor_unit<A, T>();
    return tensor_step<T>(unit, a, b, acc);
  }
};
template <DType T>
struct Step<Arithmetic::hopper, T> : TensorStep<Arithmetic::hopper, T> {};
template <DType T>
struct Step<Arithmetic::blackwell, T> : TensorStep<Arithmetic::blackwell, T> {};
template <DType T>
struct Step<Arithmetic::ampere, T> : TensorStep<Arithmetic::ampere, T> {};

template <DType T>
struct Step<Arithmetic::cdna3, T> {
  static constexpr int products = 8;
  DETGEMM_HD static float apply(const Storage<T>* a, const Storage<T>* b, float acc) {
    return cdna3_step<T>(a, b, acc);
  }
};

template <DType T>
struct Step<Arithmetic::cdna2, T> {
  static constexpr int products = 4;
  DETGEMM_HD static float apply(const Storage<T>* a, const Storage<T>* b, float acc) {
    return cdna2_step<T>(a, b, acc);
  }
};

/// On operands that are snapped (core/arithmetic/snap.hpp) every partial sum of a leaf is exact, so
/// these 64 products may be added in any order, by any unit; here they are added as ieee_fma does.
template <DType T>
struct Step<Arithmetic::snap, T> {
  static constexpr int products = kSnapMultiple;
  DETGEMM_HD static float apply(const Storage<T>* a, const Storage<T>* b, float acc) {
    for (int i = 0; i < products; ++i) acc = fma_rn(to_float<T>(a[i]), to_float<T>(b[i]), acc);
    return acc;
  }
};

/// On the parts of operands (core/arithmetic/snap3.hpp) the same.
template <DType T>
struct Step<Arithmetic::snap3, T> : Step<Arithmetic::snap, T> {};

/// Whether operands are rounded to a grid per leaf, so that there is no chain.
constexpr bool is_snap(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::snap || arithmetic == Arithmetic::snap3;
}

/// Leaves of the reduction that a leaf of K becomes.
constexpr std::int64_t sums_per_leaf(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::snap3 ? kSnap3Sums : 1;
}

/// Calls `fn.template operator()<A, T>()` for the pair and returns true, or returns false where
/// the pair has no step. The only list of the pairs that exist.
template <class Fn>
bool for_step(Arithmetic arithmetic, DType input, Fn&& fn) {
#define DETGEMM_STEP(A, T)                                \
  if (arithmetic == Arithmetic::A && input == DType::T) { \
    fn.template operator()<Arithmetic::A, DType::T>();    \
    return true;                                          \
  }
  DETGEMM_STEP(ieee_fma, bf16)
  DETGEMM_STEP(ieee_fma, fp16)
  DETGEMM_STEP(ieee_fma, fp32)
  DETGEMM_STEP(hopper, bf16)
  DETGEMM_STEP(hopper, fp16)
  DETGEMM_STEP(hopper, tf32)
  DETGEMM_STEP(hopper, e4m3)
  DETGEMM_STEP(hopper, e5m2)
  DETGEMM_STEP(ampere, bf16)
  DETGEMM_STEP(ampere, fp16)
  DETGEMM_STEP(ampere, tf32)
  DETGEMM_STEP(blackwell, bf16)
  DETGEMM_STEP(blackwell, fp16)
  DETGEMM_STEP(blackwell, tf32)
  DETGEMM_STEP(blackwell, e4m3)
  DETGEMM_STEP(blackwell, e5m2)
  DETGEMM_STEP(cdna3, bf16)
  DETGEMM_STEP(cdna3, fp16)
  DETGEMM_STEP(cdna2, bf16)
  DETGEMM_STEP(cdna2, fp16)
  DETGEMM_STEP(snap, bf16)
  DETGEMM_STEP(snap3, bf16)
  DETGEMM_STEP(snap3, fp32)
#undef DETGEMM_STEP
  return false;
}

}  // namespace detgemm::arithmetic

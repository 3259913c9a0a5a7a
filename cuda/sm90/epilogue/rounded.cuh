// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/epilogue.hpp"
#include "cuda/sm90/ptx/arithmetic.cuh"

namespace detgemm::cuda::sm90 {

/// Activations of the form x * logistic(x (A + B x^2)), which silu and gelu_tanh are, where D has
/// 16 bits: an approximation from the special function unit, with a bound of its error, says in
/// nearly all cases to which 16-bit number the contract's value rounds. Where both ends of the
/// interval do not round alike, the contract's own operations decide. So the bits are those of
/// arithmetic::silu and arithmetic::gelu_tanh, for a third of the instructions.
///
///        y (1 - error)   y (1 + error)
///   ------|-------x--------|------------o--------------    x: the contract's value
///         '- both round to the same -'  o: where rounding changes
///
/// z = -log2(e) x (A + B x^2) has a relative error of 2^-22, which is z 2^-22.5 in 2^z; 2^z itself
/// one of 2^-22, reciprocal, sum and products 2^-21.3 together, and the contract's value may be 2.7
/// ulp from the truth. The sum is below 2^-20 + z 2^-22; for z < 0, 1 + 2^z hardly feels z's error.
/// A device test goes through all 2^32 values of x.
struct Logistic {
  float a, b;                                  ///< times -log2(e)
  float low;                                   ///< from here down the value rounds to -0
  float error = 0x1p-20F, error_z = 0x1p-22F;  ///< error + error_z * max(z, 0) is the bound

  static constexpr __host__ __device__ Logistic of(Activation activation) {
    // A is 2 sqrt(2 / pi) for gelu_tanh, and B 0.044715 times as much.
    return activation == Activation::silu ? Logistic{-0x1.715476p+0F, 0.0F, -112.0F}
                                          : Logistic{-0x1.26aec2p+1F, -0x1.a5a7dp-4F, -11.0F};
  }
  static constexpr __host__ __device__ bool is(Activation activation) {
    return activation == Activation::silu || activation == Activation::gelu_tanh;
  }

  /// The ends of the interval around x's value. False where they say nothing: near the ends of
  /// fp32's range and for NaN. Where it is true, -0 and infinities are right.
  __device__ __forceinline__ bool bounds(float x, float& least, float& most) const {
    const float at = ptx::max_nan_f32(x, low);
    const float z = arithmetic::mul_rn(at, arithmetic::fma_rn(b, arithmetic::mul_rn(at, at), a));
    const float y = arithmetic::mul_rn(
        at, ptx::rcp_approx_f32(arithmetic::add_rn(1.0F, ptx::ex2_approx_f32(z))));
    const float size = fmaxf(z, 0.0F);
    least = arithmetic::mul_rn(y, arithmetic::fma_rn(size, -error_z, 1.0F - error));
    most = arithmetic::mul_rn(y, arithmetic::fma_rn(size, error_z, 1.0F + error));
    return (fabsf(y) > 0x1p-100F) | (at == low);
  }
};

/// silu or gelu_tanh of two values, rounded and packed, `low` first. Where it is false, `packed` is
/// not known to be right.
__device__ __forceinline__ bool activate_rounded(const Logistic& logistic, float low, float high,
                                                 DType output, std::uint32_t& packed) {
  const auto pack = [output](float first, float second) {
    return output == DType::bf16 ? ptx::cvt_rn_bf16x2_f32(second, first)
                                 : ptx::cvt_rn_f16x2_f32(second, first);
  };
  float least[2], most[2];
  const bool known_low = logistic.bounds(low, least[0], most[0]);
  const bool known_high = logistic.bounds(high, least[1], most[1]);
  packed = pack(most[0], most[1]);
  return known_low & known_high & (packed == pack(least[0], least[1]));  // && would branch
}

}  // namespace detgemm::cuda::sm90

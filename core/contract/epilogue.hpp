// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/activation.hpp"
#include "core/arithmetic/formats.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// Everything after the accumulator, in the contract's order, each operation rounded once to
/// nearest even and none contracted with another:
///
///   v = alpha * acc ;  v = v + (beta * C)  if beta != 0 ;  v = v + bias  if there is one ;
///   v = activation(v) ;  NaN becomes canonical ;  round to the output type
struct Epilogue {
  float alpha = 1.0F;
  float beta = 0.0F;
  bool has_bias = false;
  Activation activation = Activation::none;
};

/// Whether the epilogue does nothing but round to the output type.
DETGEMM_HD bool only_rounds(const Epilogue& e) {
  return e.alpha == 1.0F && e.beta == 0.0F && !e.has_bias && e.activation == Activation::none;
}

/// `c` is looked at only where beta != 0 and `bias` only where has_bias.
DETGEMM_HD float apply_epilogue(const Epilogue& epilogue, float acc, float c, float bias) {
  using namespace arithmetic;
  float v = mul_rn(epilogue.alpha, acc);
  if (epilogue.beta != 0.0F) v = add_rn(v, mul_rn(epilogue.beta, c));
  if (epilogue.has_bias) v = add_rn(v, bias);
  switch (epilogue.activation) {
    case Activation::none:
      break;
    case Activation::relu:
      v = relu(v);
      break;
    case Activation::gelu:
      v = gelu(v);
      break;
    case Activation::gelu_tanh:
      v = gelu_tanh(v);
      break;
    case Activation::silu:
      v = silu(v);
      break;
  }
  return canonical(v);
}

/// Reads element `index` of an array of bf16, fp16 or fp32 exactly as fp32.
DETGEMM_HD float load_as_float(const void* data, std::int64_t index, DType type) {
  using namespace arithmetic;
  switch (type) {
    case DType::bf16:
      return to_float<DType::bf16>(static_cast<const std::uint16_t*>(data)[index]);
    case DType::fp16:
      return to_float<DType::fp16>(static_cast<const std::uint16_t*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

/// Rounds to the output type (bf16, fp16, fp32) and writes element `index`.
DETGEMM_HD void store_rounded(void* data, std::int64_t index, DType type, float value) {
  using namespace arithmetic;
  switch (type) {
    case DType::bf16:
      static_cast<std::uint16_t*>(data)[index] = to_bf16(value);
      break;
    case DType::fp16:
      static_cast<std::uint16_t*>(data)[index] = to_fp16(value);
      break;
    default:
      static_cast<float*>(data)[index] = value;
      break;
  }
}

}  // namespace detgemm

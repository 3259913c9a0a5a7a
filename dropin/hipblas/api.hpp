// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "dropin/answer.hpp"
#include "dropin/column_major.hpp"

/// The part of hipBLAS 2 and 3 and of hipBLASLt that the stand-in answers, with the published
/// values. Not run on AMD hardware.
namespace detgemm::dropin::hipblas {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidValue = 3,
  kExecutionFailed = 5,
  kNotSupported = 7,
};
enum Operation : int { kN = 111, kT = 112, kC = 113 };
enum PointerMode : int { kHost = 0, kDevice = 1 };
/// HIP's types, and those of hipBLAS 2.
enum DataType : int {
  k32F = 0,
  k16F = 2,
  k16BF = 14,
  kOld16F = 150,
  kOld32F = 151,
  kOld16BF = 168
};
enum Compute : int {
  kCompute16F = 0,
  kCompute16FPedantic = 1,
  kCompute32F = 2,
  kCompute32FPedantic = 3,
  kCompute32FFast16F = 4,
  kCompute32FFast16BF = 5,
  kCompute32FFastTf32 = 6,
};

using Handle = void*;

inline constexpr StatusCodes kCodes{kSuccess, kNotInitialized, kInvalidValue, kExecutionFailed,
                                    kNotSupported};

inline BlasOp op_of(int operation) noexcept {
  if (operation == kN) return BlasOp::none;
  return operation == kT || operation == kC ? BlasOp::transpose : BlasOp::unknown;
}

inline BlasType type_of(int type) noexcept {
  if (type == k16BF || type == kOld16BF) return BlasType::bf16;
  if (type == k16F || type == kOld16F) return BlasType::fp16;
  return type == k32F || type == kOld32F ? BlasType::fp32 : BlasType::other;
}

inline BlasCompute compute_of(int compute) noexcept {
  switch (compute) {
    case kCompute32F:
    case kOld32F:
      return BlasCompute::fp32;
    case kCompute32FPedantic:
      return BlasCompute::fp32_always;
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTf32:
      return BlasCompute::fp32_of_fewer_bits;
    case kCompute16F:
    case kCompute16FPedantic:
    case kOld16F:
      return BlasCompute::fp16;
    default:
      return BlasCompute::other;
  }
}

}  // namespace detgemm::dropin::hipblas

namespace detgemm::dropin::hipblaslt {

enum LayoutAttribute : int {
  kBatchCount = 0,
  kStridedBatchOffset = 1,
  kType = 2,
  kOrder = 3,
  kRows = 4,
  kCols = 5,
  kLd = 6,
};
enum Order : int { kCol = 0, kRow = 1 };
enum DescAttribute : int {
  kTransA = 0,
  kTransB = 1,
  kEpilogue = 2,
  kBiasPointer = 3,
  kBiasDataType = 4,
  kAScalePointer = 5,
  kDScalePointer = 8,
  kPointerMode = 13,
  kAmaxDPointer = 14,
};
enum Epilogue : int {
  kDefault = 1,
  kRelu = 2,
  kBias = 4,
  kReluBias = 6,
  kGelu = 32,
  kGeluBias = 36,
};

using Handle = void*;
using Desc = void*;
using Layout = void*;

}  // namespace detgemm::dropin::hipblaslt

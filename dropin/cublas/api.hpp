// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

/// The part of cuBLAS 13's interface that the stand-in answers, with the published values, so that
/// nothing of CUDA is needed to build it. Enumerations are passed as int, as the compilers of the
/// platforms that CUDA runs on do. tests/dropin/declarations_test.cpp compares every number and
/// size with NVIDIA's own headers where they are installed.
namespace detgemm::dropin::cublas {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};
enum Operation : int { kN = 0, kT = 1, kC = 2 };
enum PointerMode : int { kHost = 0, kDevice = 1 };
/// The low bits of cublasMath_t; the higher ones are flags.
enum Math : int { kTf32Math = 3, kMathMask = 15 };
enum DataType : int { k32F = 0, k64F = 1, k16F = 2, k8I = 3, k16BF = 14 };
enum Compute : int {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTf32 = 77,
  kCompute32FEmulated16BFx9 = 78,
};

using Handle = void*;
using Stream = void*;

}  // namespace detgemm::dropin::cublas

namespace detgemm::dropin::cublaslt {

enum Order : int { kCol = 0, kRow = 1 };
enum PointerMode : int { kHost = 0, kDevice = 1 };
enum FillMode : int { kFull = 2 };
enum LayoutAttribute : int {
  kType = 0,
  kOrder = 1,
  kRows = 2,
  kCols = 3,
  kLd = 4,
  kBatchCount = 5,
  kStridedBatchOffset = 6,
  kPlaneOffset = 7,
  kBatchMode = 8,
};
enum DescAttribute : int {
  kComputeType = 0,
  kScaleType = 1,
  kPointerMode = 2,
  kTransA = 3,
  kTransB = 4,
  kTransC = 5,
  kFillMode = 6,
  kEpilogue = 7,
  kBiasPointer = 8,
  kBiasBatchStride = 10,
  kAScalePointer = 17,
  kBScalePointer = 18,
  kCScalePointer = 19,
  kDScalePointer = 20,
  kAmaxDPointer = 21,
  kBiasDataType = 26,
};
enum Epilogue : int {
  kDefault = 1,
  kRelu = 2,
  kBias = 4,
  kReluBias = 6,
  kGelu = 32,
  kGeluBias = 36,
};
enum PreferenceAttribute : int { kMaxWorkspaceBytes = 1 };

struct Algo {
  std::uint64_t data[8];
};
struct HeuristicResult {
  Algo algo;
  std::size_t workspace_size;
  int state;
  float waves_count;
  int reserved[4];
};

using Handle = void*;
using Desc = void*;
using Layout = void*;
using Preference = void*;

}  // namespace detgemm::dropin::cublaslt

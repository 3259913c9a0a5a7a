// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstddef>
#include <cstdint>

/// What this benchmark uses of cuBLASLt's binary interface, CUDA 12 and 13, so that it builds on a
/// machine with the library alone. tests/cuda/cublaslt_abi.cpp compares it with cublasLt.h where
/// that is installed. Source: cuBLAS documentation, "Using the cuBLASLt API".
namespace detgemm::bench::lt {

using Handle = void*;  ///< any of its opaque pointers
constexpr int kSuccess = 0;
constexpr int kCompute32F = 68;
constexpr std::int32_t kNone = 0;
constexpr std::int32_t kTranspose = 1;
constexpr int kTransA = 3;  // attributes of a product
constexpr int kTransB = 4;
constexpr int kEpilogue = 7;
constexpr int kBiasPointer = 8;
constexpr std::int32_t kEpilogueBias = 4;  // values of kEpilogue
constexpr std::int32_t kEpilogueReluBias = 6;
constexpr std::int32_t kEpilogueGeluBias = 36;  // the form with tanh
constexpr int kMaxWorkspaceBytes = 1;           // attribute of a preference
constexpr int kConfigId = 0;                    // attributes of an algorithm
constexpr int kConfigTile = 1;
constexpr int kConfigSplitK = 2;
constexpr int kConfigReduction = 3;
constexpr int kConfigStages = 6;
constexpr int kConfigCluster = 8;

struct Algorithm {
  std::uint64_t data[8];
};
struct Choice {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Functions {
  int (*Create)(Handle*);
  std::size_t (*GetVersion)();
  int (*MatmulDescCreate)(Handle*, int compute, cudaDataType scale);
  int (*MatmulDescSetAttribute)(Handle, int, const void*, std::size_t);
  int (*MatmulDescDestroy)(Handle);
  int (*MatrixLayoutCreate)(Handle*, cudaDataType, std::uint64_t rows, std::uint64_t cols,
                            std::int64_t ld);
  int (*MatrixLayoutDestroy)(Handle);
  int (*MatmulPreferenceCreate)(Handle*);
  int (*MatmulPreferenceSetAttribute)(Handle, int, const void*, std::size_t);
  int (*MatmulPreferenceDestroy)(Handle);
  int (*MatmulAlgoGetHeuristic)(Handle library, Handle product, Handle a, Handle b, Handle c,
                                Handle d, Handle preference, int wanted, Choice*, int* found);
  int (*MatmulAlgoConfigGetAttribute)(const Algorithm*, int, void*, std::size_t, std::size_t*);
  int (*Matmul)(Handle library, Handle product, const void* alpha, const void* a, Handle,
                const void* b, Handle, const void* beta, const void* c, Handle, void* d, Handle,
                const Algorithm*, void* workspace, std::size_t, cudaStream_t);
};

}  // namespace detgemm::bench::lt

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Compiled where cublasLt.h is installed: the benchmark's own declarations against the vendor's.

#include "bench/cuda/cublaslt_abi.hpp"

#include <cublasLt.h>

#include <type_traits>

namespace lt = detgemm::bench::lt;

static_assert(lt::kSuccess == CUBLAS_STATUS_SUCCESS);
static_assert(lt::kCompute32F == CUBLAS_COMPUTE_32F);
static_assert(lt::kNone == CUBLAS_OP_N && lt::kTranspose == CUBLAS_OP_T);
static_assert(sizeof(lt::kNone) == sizeof(cublasOperation_t));
static_assert(lt::kTransA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(lt::kTransB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(lt::kEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(lt::kBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(lt::kEpilogueBias == CUBLASLT_EPILOGUE_BIAS);
static_assert(lt::kEpilogueReluBias == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(lt::kEpilogueGeluBias == CUBLASLT_EPILOGUE_GELU_BIAS);
static_assert(sizeof(lt::kEpilogueBias) == sizeof(cublasLtEpilogue_t));
static_assert(lt::kMaxWorkspaceBytes == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(lt::kConfigId == CUBLASLT_ALGO_CONFIG_ID);
static_assert(lt::kConfigTile == CUBLASLT_ALGO_CONFIG_TILE_ID);
static_assert(lt::kConfigSplitK == CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
static_assert(lt::kConfigReduction == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
static_assert(lt::kConfigStages == CUBLASLT_ALGO_CONFIG_STAGES_ID);
static_assert(lt::kConfigCluster == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);

static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::Choice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(lt::Choice, algorithm) == offsetof(cublasLtMatmulHeuristicResult_t, algo));
static_assert(offsetof(lt::Choice, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(lt::Choice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

// Arguments: as many, as wide.
template <class... A, class... B>
constexpr bool alike(int (*)(A...), cublasStatus_t (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else {
    return ((sizeof(A) == sizeof(B)) && ...);
  }
}
#define DETGEMM_ALIKE(name) static_assert(alike(decltype(lt::Functions::name){}, &cublasLt##name))
static_assert(std::is_same_v<decltype(lt::Functions::GetVersion), decltype(&cublasLtGetVersion)>);
DETGEMM_ALIKE(Create);
DETGEMM_ALIKE(MatmulDescCreate);
DETGEMM_ALIKE(MatmulDescSetAttribute);
DETGEMM_ALIKE(MatmulDescDestroy);
DETGEMM_ALIKE(MatrixLayoutCreate);
DETGEMM_ALIKE(MatrixLayoutDestroy);
DETGEMM_ALIKE(MatmulPreferenceCreate);
DETGEMM_ALIKE(MatmulPreferenceSetAttribute);
DETGEMM_ALIKE(MatmulPreferenceDestroy);
DETGEMM_ALIKE(MatmulAlgoGetHeuristic);
DETGEMM_ALIKE(MatmulAlgoConfigGetAttribute);
DETGEMM_ALIKE(Matmul);

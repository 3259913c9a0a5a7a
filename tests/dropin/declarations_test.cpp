// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cublasLt.h>
#include <cublas_api.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "dropin/cublas/api.hpp"

// Built where NVIDIA's headers are: the stand-in's own numbers are theirs.

namespace blas = detgemm::dropin::cublas;
namespace lt = detgemm::dropin::cublaslt;

#define SAME(OURS, THEIRS) EXPECT_EQ(static_cast<int>(OURS), static_cast<int>(THEIRS)) << #THEIRS

TEST(Declarations, Blas) {
  SAME(blas::kSuccess, CUBLAS_STATUS_SUCCESS);
  SAME(blas::kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
  SAME(blas::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
  SAME(blas::kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
  SAME(blas::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  SAME(blas::kN, CUBLAS_OP_N);
  SAME(blas::kT, CUBLAS_OP_T);
  SAME(blas::kC, CUBLAS_OP_C);
  SAME(blas::kHost, CUBLAS_POINTER_MODE_HOST);
  SAME(blas::kDevice, CUBLAS_POINTER_MODE_DEVICE);
  SAME(blas::kTf32Math, CUBLAS_TF32_TENSOR_OP_MATH);
  SAME(blas::kTf32Math,
       (CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) &
           blas::kMathMask);
  SAME(blas::k32F, CUDA_R_32F);
  SAME(blas::k64F, CUDA_R_64F);
  SAME(blas::k16F, CUDA_R_16F);
  SAME(blas::k8I, CUDA_R_8I);
  SAME(blas::k16BF, CUDA_R_16BF);
  SAME(blas::kCompute16F, CUBLAS_COMPUTE_16F);
  SAME(blas::kCompute16FPedantic, CUBLAS_COMPUTE_16F_PEDANTIC);
  SAME(blas::kCompute32F, CUBLAS_COMPUTE_32F);
  SAME(blas::kCompute32FPedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
  SAME(blas::kCompute32FFast16F, CUBLAS_COMPUTE_32F_FAST_16F);
  SAME(blas::kCompute32FFast16BF, CUBLAS_COMPUTE_32F_FAST_16BF);
  SAME(blas::kCompute32FFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
#if CUBLAS_VERSION >= 120900
  SAME(blas::kCompute32FEmulated16BFx9, CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
#endif
}

TEST(Declarations, Lt) {
  SAME(lt::kCol, CUBLASLT_ORDER_COL);
  SAME(lt::kRow, CUBLASLT_ORDER_ROW);
  SAME(lt::kHost, CUBLASLT_POINTER_MODE_HOST);
  SAME(lt::kDevice, CUBLASLT_POINTER_MODE_DEVICE);
  SAME(lt::kFull, CUBLAS_FILL_MODE_FULL);
  SAME(lt::kType, CUBLASLT_MATRIX_LAYOUT_TYPE);
  SAME(lt::kOrder, CUBLASLT_MATRIX_LAYOUT_ORDER);
  SAME(lt::kRows, CUBLASLT_MATRIX_LAYOUT_ROWS);
  SAME(lt::kCols, CUBLASLT_MATRIX_LAYOUT_COLS);
  SAME(lt::kLd, CUBLASLT_MATRIX_LAYOUT_LD);
  SAME(lt::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  SAME(lt::kStridedBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  SAME(lt::kPlaneOffset, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET);
#if CUBLAS_VERSION >= 130000
  SAME(lt::kBatchMode, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
#endif
  SAME(lt::kComputeType, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
  SAME(lt::kScaleType, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
  SAME(lt::kPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
  SAME(lt::kTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  SAME(lt::kTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  SAME(lt::kTransC, CUBLASLT_MATMUL_DESC_TRANSC);
  SAME(lt::kFillMode, CUBLASLT_MATMUL_DESC_FILL_MODE);
  SAME(lt::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  SAME(lt::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  SAME(lt::kBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
  SAME(lt::kAScalePointer, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  SAME(lt::kBScalePointer, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  SAME(lt::kCScalePointer, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER);
  SAME(lt::kDScalePointer, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER);
  SAME(lt::kAmaxDPointer, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
  SAME(lt::kBiasDataType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  SAME(lt::kDefault, CUBLASLT_EPILOGUE_DEFAULT);
  SAME(lt::kRelu, CUBLASLT_EPILOGUE_RELU);
  SAME(lt::kBias, CUBLASLT_EPILOGUE_BIAS);
  SAME(lt::kReluBias, CUBLASLT_EPILOGUE_RELU_BIAS);
  SAME(lt::kGelu, CUBLASLT_EPILOGUE_GELU);
  SAME(lt::kGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS);
  SAME(lt::kMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
}

TEST(Declarations, Sizes) {
  SAME(sizeof(lt::Algo), sizeof(cublasLtMatmulAlgo_t));
  SAME(sizeof(lt::HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  SAME(offsetof(lt::HeuristicResult, workspace_size),
       offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  SAME(offsetof(lt::HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  SAME(sizeof(int), sizeof(cublasOperation_t));
}

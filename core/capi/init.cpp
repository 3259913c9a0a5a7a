// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/descriptors.hpp"
#include "detgemm/quantize.hpp"
#include "detgemm/snap.hpp"

DETGEMM_STRUCT(runtime_options, options)
DETGEMM_STRUCT(contract, contract, ours.version = ours.k_block = 1)
DETGEMM_STRUCT(matrix, matrix, ours.col_stride = 1)
DETGEMM_STRUCT(const_matrix, matrix, ours.col_stride = 1)
DETGEMM_STRUCT(vector, vector, ours.dtype = DETGEMM_FP32)
DETGEMM_STRUCT(stream, stream)
DETGEMM_STRUCT(gemm_spec, spec, ours.alpha = 1; ours.bias = DETGEMM_NONE)
DETGEMM_STRUCT(operands, operands)
DETGEMM_STRUCT(plan_options, options)
DETGEMM_STRUCT(run_info, info)
DETGEMM_STRUCT(snap_spec, spec, ours.leaf_k = detgemm::SnapSpec{}.leaf_k)
DETGEMM_STRUCT(block_scales, scales, ours.per = ours.leaf_stride = 1)
DETGEMM_STRUCT(quantize_spec, spec, ours.leaf_k = detgemm::QuantizeSpec{}.leaf_k;
               ours.per = detgemm::QuantizeSpec{}.per)
DETGEMM_STRUCT(scales_out, scales, ours.leaf_stride = 1)
DETGEMM_STRUCT(gemm_options, options, ours.alpha = 1)

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/gfx9/fp32_kernel.hpp"

DETGEMM_FP32(bf16, chain, false)
DETGEMM_FP32(bf16, leaves, true)
DETGEMM_FP32(fp16, chain, false)
DETGEMM_FP32(fp16, leaves, true)
DETGEMM_FP32(fp32, chain, false)
DETGEMM_FP32(fp32, leaves, true)

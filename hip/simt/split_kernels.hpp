// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/simt/kernels.hpp"
#include "hip/simt/split.hpp"

/// The kernels that split an operand of snap3, by the names of hip/kernel_names.cpp.
#define DETGEMM_SPLIT(type, direction, along_k)                                    \
  extern "C" __global__ DETGEMM_SIMT_BOUNDS void snap3_##type##_along_##direction( \
      detgemm::hip::SplitArguments a) {                                            \
    detgemm::hip::simt::split_leaves<detgemm::DType::type, along_k>(a);            \
  }
#define DETGEMM_SPLIT_KERNELS      \
  DETGEMM_SPLIT(bf16, k, true)     \
  DETGEMM_SPLIT(bf16, rows, false) \
  DETGEMM_SPLIT(fp32, k, true)     \
  DETGEMM_SPLIT(fp32, rows, false)

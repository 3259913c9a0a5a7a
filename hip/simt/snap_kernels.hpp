// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/simt/kernels.hpp"
#include "hip/simt/snap.hpp"

/// The kernels that snap an operand, by the names of hip/kernel_names.cpp.
#define DETGEMM_SNAP_KERNELS                                                                      \
  extern "C" __global__ DETGEMM_SIMT_BOUNDS void snap_along_k(detgemm::hip::SnapArguments a) {    \
    detgemm::hip::simt::snap_leaves<true>(a);                                                     \
  }                                                                                               \
  extern "C" __global__ DETGEMM_SIMT_BOUNDS void snap_along_rows(detgemm::hip::SnapArguments a) { \
    detgemm::hip::simt::snap_leaves<false>(a);                                                    \
  }

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The portable kernels of the HIP backend, the same source, for an NVIDIA GPU.
#include "hip/simt/kernels.hpp"
#include "hip/simt/snap_kernels.hpp"
#include "hip/simt/split_kernels.hpp"

DETGEMM_SIMT_KERNELS
DETGEMM_SNAP_KERNELS
DETGEMM_SPLIT_KERNELS

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/simt/snap_kernels.hpp"

DETGEMM_SNAP_KERNELS

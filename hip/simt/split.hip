// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/simt/split_kernels.hpp"

DETGEMM_SPLIT_KERNELS

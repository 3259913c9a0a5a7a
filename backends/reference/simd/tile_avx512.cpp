// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#define DETGEMM_LANES 16
#define DETGEMM_ISA lanes16
#define DETGEMM_ISA_NAME "tile_avx512"
#include "backends/reference/simd/tile_set.inc"

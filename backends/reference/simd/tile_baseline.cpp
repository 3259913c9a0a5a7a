// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#define DETGEMM_LANES 4
#define DETGEMM_ISA lanes4
#define DETGEMM_ISA_NAME "tile_baseline"
#include "backends/reference/simd/tile_set.inc"

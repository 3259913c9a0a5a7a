// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/epilogue.hpp"
#include "hip/gfx9/stream_chain.hpp"

namespace detgemm::hip::gfx9 {

/// Writes a wave's sums from the order of lanes to rows of kStreamPitch floats.
DETGEMM_DEVICE void stage_stream(float* staging, int lane, f32x4 acc) {
#pragma unroll
  for (int i = 0; i < 4; ++i) staging[result_row_16(lane, i) * kStreamPitch + lane % 16] = acc[i];
}

}  // namespace detgemm::hip::gfx9

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/simt/tile.hpp"

namespace detgemm::hip::gfx9 {

/// The tile of the fp32 matrix cores: 4 waves of 64 lanes, 2 along M and 2 along N, each with 2 x 2
/// blocks of 32 x 32 outputs.
struct Fp32Tile {
  static constexpr int kRows = 4;   ///< blocks of a wave
  static constexpr int kCols = 16;  ///< outputs of a lane in a block
  static constexpr int kM = 128;
  static constexpr int kN = 128;
  static constexpr int kSharedFloats = simt::kStage * (kM + 1) + simt::kStage * (kN + 1);
};

}  // namespace detgemm::hip::gfx9

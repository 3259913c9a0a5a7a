// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cuda/sm90/problem.hpp"

namespace detgemm::cuda::sm90 {

inline constexpr int kSharedBytes = 227 * 1024;  ///< a CTA may have; 1 KB more a CTA is reserved

/// The geometry of a wgmma kernel: one row of the table below. See Tile.
struct Geometry {
  std::string_view name;
  int groups, blocks, n, depth, ctas;
  /// Stages that fill the shared memory left by `epilogue_bytes` and the barriers.
  constexpr int stages(int stage_bytes, int epilogue_bytes) const {
    const int room = kSharedBytes / ctas - 1024 * (ctas - 1) / ctas - epilogue_bytes - 1024;
    const int fit = room / (stage_bytes + 16);
    return fit < 12 ? fit : 12;
  }
  constexpr int x() const { return 64 * groups * blocks; }
  /// Width along y of an epilogue box: the widest piece, up to 64, that cuts n evenly.
  constexpr int slab() const { return slab_of(n); }
  static constexpr int slab_of(int n) {
    return n % 64 == 0 ? 64 : n % 32 == 0 ? 32 : n % 16 == 0 ? 16 : 8;
  }
  static constexpr int fp32_slab_of(int n) { return slab_of(n) < 32 ? slab_of(n) : 32; }
};

// clang-format off
// name, consumer groups, 64-row blocks a group, N, k blocks a stage, CTAs a multiprocessor.
#define DETGEMM_SM90_GEOMETRIES(apply) \
  apply(64x8, 1, 1, 8, 2, 2)           \
  apply(64x16, 1, 1, 16, 2, 2)         \
  apply(64x32, 1, 1, 32, 1, 2)         \
  apply(64x64, 1, 1, 64, 1, 2)         \
  apply(64x8d, 1, 1, 8, 4, 1)          \
  apply(64x16d, 1, 1, 16, 4, 1)        \
  apply(64x32d, 1, 1, 32, 4, 1)        \
  apply(64x64d, 1, 1, 64, 2, 1)        \
  apply(128x8, 2, 1, 8, 2, 1)          \
  apply(128x16, 2, 1, 16, 2, 1)        \
  apply(128x32, 2, 1, 32, 2, 1)        \
  apply(128x48, 2, 1, 48, 1, 1)        \
  apply(64x80, 1, 1, 80, 1, 2)         \
  apply(64x96, 1, 1, 96, 1, 2)         \
  apply(64x112, 1, 1, 112, 1, 1)       \
  apply(64x128, 1, 1, 128, 1, 1)       \
  apply(64x144, 1, 1, 144, 1, 1)       \
  apply(64x160, 1, 1, 160, 1, 1)       \
  apply(64x192, 1, 1, 192, 1, 1)       \
  apply(64x256, 1, 1, 256, 1, 1)       \
  apply(128x64, 2, 1, 64, 1, 1)        \
  apply(128x80, 2, 1, 80, 1, 1)        \
  apply(128x96, 2, 1, 96, 1, 1)        \
  apply(128x112, 2, 1, 112, 1, 1)      \
  apply(128x128, 2, 1, 128, 1, 1)      \
  apply(128x144, 2, 1, 144, 1, 1)      \
  apply(128x160, 2, 1, 160, 1, 1)      \
  apply(128x176, 2, 1, 176, 1, 1)      \
  apply(128x192, 2, 1, 192, 1, 1)      \
  apply(128x224, 2, 1, 224, 1, 1)      \
  apply(128x256, 2, 1, 256, 1, 1)      \
  apply(256x64, 2, 2, 64, 1, 1)        \
  apply(256x96, 2, 2, 96, 1, 1)        \
  apply(256x128, 2, 2, 128, 1, 1)      \
  apply(256x160, 2, 2, 160, 1, 1)      \
  apply(256x192, 2, 2, 192, 1, 1)

// Any epilogue and any row alignment of K-major operands.
#define DETGEMM_SM90_GENERAL_GEOMETRIES(apply) \
  apply(128x64, 2, 1, 64, 1, 1)                \
  apply(128x128, 2, 1, 128, 1, 1)              \
  apply(128x256, 2, 1, 256, 1, 1)
// clang-format on

#define DETGEMM_SM90_ROW(name, groups, blocks, n, depth, ctas) \
  Geometry{#name, groups, blocks, n, depth, ctas},
inline constexpr auto kGeometries =
    std::to_array<Geometry>({DETGEMM_SM90_GEOMETRIES(DETGEMM_SM90_ROW)});
inline constexpr auto kGeneralGeometries =
    std::to_array<Geometry>({DETGEMM_SM90_GENERAL_GEOMETRIES(DETGEMM_SM90_ROW)});
#undef DETGEMM_SM90_ROW

}  // namespace detgemm::cuda::sm90

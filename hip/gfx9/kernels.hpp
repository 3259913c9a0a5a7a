// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/group_unit.hpp"
#include "hip/gfx9/stream_kernel.hpp"
#include "hip/gfx9/tile_kernel.hpp"
#include "hip/gfx9/wide_stream_kernel.hpp"

/// The kernels of one element type by the names that hip/kernel_names.cpp builds:
///
///   mfma_TYPE_TILE_REDUCTION_A_B            mfma_bf16_128x128_leaves_k_mn
///   mfma_TYPE_TILE_REDUCTION_A_B_groups     the same over groups
///
/// At most 256 registers per thread, so that two waves share a SIMD and the accumulators are
/// ordinary registers.
#define DETGEMM_BOUNDS(threads) \
  __attribute__((amdgpu_flat_work_group_size(threads, threads), amdgpu_waves_per_eu(2)))
#define DETGEMM_TILE(type, tile, T, reduction, leaves, a, b)                            \
  extern "C" __global__ DETGEMM_BOUNDS(                                                 \
      T::kThreads) void mfma_##type##_##tile##_##reduction##_##a##_##b(TileArguments) { \
    run_tiles<DType::type, T, Major::a, Major::b, leaves>();                            \
  }
#define DETGEMM_LAYOUTS(type, tile, T, reduction, leaves) \
  DETGEMM_TILE(type, tile, T, reduction, leaves, k, k)    \
  DETGEMM_TILE(type, tile, T, reduction, leaves, k, mn)   \
  DETGEMM_TILE(type, tile, T, reduction, leaves, mn, k)   \
  DETGEMM_TILE(type, tile, T, reduction, leaves, mn, mn)
#define DETGEMM_STREAM(type, reduction, leaves, a, b)                        \
  extern "C" __global__ DETGEMM_BOUNDS(                                      \
      (leaves ? kStreamWaves : 1) *                                          \
      64) void mfma_##type##_stream_##reduction##_##a##_##b(TileArguments) { \
    run_stream<DType::type, Major::a, Major::b, leaves>();                   \
  }
#define DETGEMM_WIDE_STREAM(type, tile, T, reduction, leaves)                           \
  extern "C" __global__ DETGEMM_BOUNDS(                                                 \
      T::kThreads) void mfma_##type##_stream##tile##_##reduction##_k_k(TileArguments) { \
    run_wide_stream<DType::type, T, leaves>();                                          \
  }
#define DETGEMM_TILE_GROUPS(type, tile, T, reduction, leaves, a, b)                 \
  extern "C" __global__ DETGEMM_BOUNDS(T::kThreads) void                            \
      mfma_##type##_##tile##_##reduction##_##a##_##b##_groups(GroupTileArguments) { \
    run_tiles<DType::type, T, Major::a, Major::b, leaves, GroupUnit<T, leaves>>();  \
  }
#define DETGEMM_WIDE_STREAM_GROUPS(type, tile, T, reduction, leaves)              \
  extern "C" __global__ DETGEMM_BOUNDS(T::kThreads) void                          \
      mfma_##type##_stream##tile##_##reduction##_k_k_groups(GroupTileArguments) { \
    run_wide_stream<DType::type, T, leaves, GroupUnit<T, leaves>>();              \
  }
/// What computes groups, under chain or under fold and tree.
#define DETGEMM_GROUPS(type, reduction, leaves)                          \
  DETGEMM_TILE_GROUPS(type, 128x128, Tile128, reduction, leaves, k, k)   \
  DETGEMM_TILE_GROUPS(type, 128x128, Tile128, reduction, leaves, k, mn)  \
  DETGEMM_TILE_GROUPS(type, 128x128, Tile128, reduction, leaves, mn, mn) \
  DETGEMM_TILE_GROUPS(type, 64x64, Tile64, reduction, leaves, any, any)  \
  DETGEMM_WIDE_STREAM_GROUPS(type, 32, Stream32, reduction, leaves)      \
  DETGEMM_WIDE_STREAM_GROUPS(type, 64, Stream64, reduction, leaves)
#define DETGEMM_KERNELS(type)                                   \
  DETGEMM_LAYOUTS(type, 256x256, Tile256, chain, false)         \
  DETGEMM_LAYOUTS(type, 256x224, Tile256x224, chain, false)     \
  DETGEMM_LAYOUTS(type, 256x192, Tile256x192, chain, false)     \
  DETGEMM_LAYOUTS(type, 160x256, Tile160x256, chain, false)     \
  DETGEMM_LAYOUTS(type, 256x128, Tile256x128, chain, false)     \
  DETGEMM_LAYOUTS(type, 256x128, Tile256x128, leaves, true)     \
  DETGEMM_LAYOUTS(type, 128x128, Tile128, chain, false)         \
  DETGEMM_LAYOUTS(type, 128x128, Tile128, leaves, true)         \
  DETGEMM_LAYOUTS(type, 64x64, Tile64, chain, false)            \
  DETGEMM_LAYOUTS(type, 64x64, Tile64, leaves, true)            \
  DETGEMM_TILE(type, 64x64, Tile64, chain, false, any, any)     \
  DETGEMM_TILE(type, 64x64, Tile64, leaves, true, any, any)     \
  DETGEMM_STREAM(type, chain, false, k, k)                      \
  DETGEMM_STREAM(type, leaves, true, k, k)                      \
  DETGEMM_STREAM(type, chain, false, any, any)                  \
  DETGEMM_STREAM(type, leaves, true, any, any)                  \
  DETGEMM_WIDE_STREAM(type, 32, Stream32, chain, false)         \
  DETGEMM_WIDE_STREAM(type, 32, Stream32, leaves, true)         \
  DETGEMM_WIDE_STREAM(type, 64, Stream64, chain, false)         \
  DETGEMM_WIDE_STREAM(type, 64, Stream64, leaves, true)         \
  DETGEMM_WIDE_STREAM(type, 48x128, Stream48x128, chain, false) \
  DETGEMM_WIDE_STREAM(type, 48x128, Stream48x128, leaves, true) \
  DETGEMM_WIDE_STREAM(type, 64x128, Stream64x128, chain, false) \
  DETGEMM_WIDE_STREAM(type, 64x128, Stream64x128, leaves, true) \
  DETGEMM_WIDE_STREAM(type, 80x128, Stream80x128, chain, false) \
  DETGEMM_WIDE_STREAM(type, 80x128, Stream80x128, leaves, true) \
  DETGEMM_WIDE_STREAM(type, 96x128, Stream96x128, chain, false) \
  DETGEMM_GROUPS(type, chain, false)                            \
  DETGEMM_GROUPS(type, leaves, true)

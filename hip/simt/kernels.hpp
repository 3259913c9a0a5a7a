// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/simt/combine.hpp"
#include "hip/simt/kernel.hpp"

/// The portable kernels by the names that hip/kernel_names.cpp builds: simt_TYPE_TILE_REDUCTION,
/// and with _groups behind it those over groups.
#if defined(__HIP__)
#define DETGEMM_SIMT_BOUNDS __attribute__((amdgpu_flat_work_group_size(256, 256)))
#else
#define DETGEMM_SIMT_BOUNDS __launch_bounds__(256)
#endif
#define DETGEMM_SIMT(type, tile, T, reduction, leaves)                                         \
  extern "C" __global__ DETGEMM_SIMT_BOUNDS void simt_##type##_##tile##_##reduction(           \
      detgemm::hip::TileArguments a) {                                                         \
    detgemm::hip::simt::run_tiles<detgemm::DType::type,                                        \
                                  detgemm::hip::simt::Simt<detgemm::hip::simt::T>, leaves>(a); \
  }
#define DETGEMM_SIMT_GROUPS(type, tile, T, reduction, leaves)                                     \
  extern "C" __global__ DETGEMM_SIMT_BOUNDS void simt_##type##_##tile##_##reduction##_groups(     \
      detgemm::hip::GroupTileArguments a) {                                                       \
    detgemm::hip::simt::run_group_tiles<detgemm::DType::type,                                     \
                                        detgemm::hip::simt::Simt<detgemm::hip::simt::T>, leaves>( \
        a);                                                                                       \
  }
#define DETGEMM_SIMT_TYPE(type)                          \
  DETGEMM_SIMT(type, 64x64, Tile64, chain, false)        \
  DETGEMM_SIMT(type, 64x64, Tile64, leaves, true)        \
  DETGEMM_SIMT(type, 16x64, Tile16, chain, false)        \
  DETGEMM_SIMT(type, 16x64, Tile16, leaves, true)        \
  DETGEMM_SIMT_GROUPS(type, 64x64, Tile64, chain, false) \
  DETGEMM_SIMT_GROUPS(type, 64x64, Tile64, leaves, true)
#define DETGEMM_SIMT_KERNELS                                                                       \
  DETGEMM_SIMT_TYPE(bf16)                                                                          \
  DETGEMM_SIMT_TYPE(fp16)                                                                          \
  DETGEMM_SIMT_TYPE(fp32)                                                                          \
  extern "C" __global__ DETGEMM_SIMT_BOUNDS void combine_roots(detgemm::hip::CombineArguments a) { \
    detgemm::hip::simt::combine(a);                                                                \
  }                                                                                                \
  extern "C" __global__ DETGEMM_SIMT_BOUNDS void place_roots(detgemm::hip::PlaceArguments a) {     \
    detgemm::hip::simt::place_roots(a);                                                            \
  }

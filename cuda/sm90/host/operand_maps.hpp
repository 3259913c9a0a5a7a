// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/tile/sides.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// The tensor map for `box_rows` rows of an operand per stage. `depth` k blocks arrive in one box
/// where k is a multiple of kBlockK.
cudaError_t make_map(const Operand& operand, DType type, std::int64_t k, int box_rows, int depth,
                     CUtensorMap* map);

/// The map through which D is stored, in the kernel's boxes (`wide`: see Tile). Kernels over groups
/// have a dimension more: `groups` matrices, `distance` elements apart.
cudaError_t make_output_map(const GemmArguments& g, const Sides& p, const Geometry& t,
                            CUtensorMap* map, bool wide = true, std::int64_t groups = 0,
                            std::int64_t distance = 0);

/// Whether boxes may begin at every multiple of `step` elements along a map's contiguous direction:
/// TMA takes them at multiples of 16 bytes there, from operands, C and D alike. Elsewhere a load
/// ends in an illegal instruction, and a store too. What begins at any element has a step of 1.
constexpr bool inner_begins_at_16(std::int64_t step, std::int64_t element_bytes) {
  return step * element_bytes % 16 == 0;
}

/// Whether TMA takes an m x n array of C or D: lines along its contiguous direction that begin at
/// multiples of 16 bytes and consist of whole chunks of 16 bytes. (At a ragged end TMA also writes
/// the rest of the last chunk, as seen on an H200.)
bool lines_suit_tma(const void* data, const Strides& strides, std::int64_t m, std::int64_t n,
                    DType type);

/// How C is loaded through the ring of a chain, or of leaves in one part, and the map for it. Where
/// TMA does not take it, chains that start from C have it copied, and `stages` is 0 elsewhere.
RingC ring_c(const GemmArguments& g, const Sides& p, const Geometry& t);
cudaError_t make_ring_map(const GemmArguments& g, const Sides& p, const Geometry& t, const RingC& c,
                          CUtensorMap* map);

/// Whether fp32 C can be read through a map too: its rows run along y, as those of D then do, and
/// start at multiples of 16 bytes.
bool c_suits_tma(const GemmArguments& g, const Sides& p);
cudaError_t make_c_map(const GemmArguments& g, const Sides& p, const Geometry& t, CUtensorMap* map);

}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/tile/problem.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// The tensor map for `box_rows` rows of an operand per stage. `depth` k blocks come in one box
/// where k is a multiple of kBlockK.
cudaError_t make_map(const Operand& operand, DType type, std::int64_t k, int box_rows, int depth,
                     CUtensorMap* map);

/// The map through which D is stored, in boxes of the kernel's slabs.
cudaError_t make_output_map(const GemmArguments& g, const Problem& p, const Geometry& t,
                            CUtensorMap* map);

/// Whether fp32 C can be read through a map too: its rows run along y, as those of D then do, and
/// start at multiples of 16 bytes.
bool c_suits_tma(const GemmArguments& g, const Problem& p);
cudaError_t make_c_map(const GemmArguments& g, const Problem& p, const Geometry& t,
                       CUtensorMap* map);

}  // namespace detgemm::cuda::sm90

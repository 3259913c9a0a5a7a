// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/tensor_map.hpp"

namespace detgemm::cuda::sm90 {

/// Tensor map for `box_rows` rows of an operand a stage. `depth` k blocks come in one box where k
/// is a multiple of kBlockK.
cudaError_t make_map(const Operand& operand, DType type, std::int64_t k, int box_rows, int depth,
                     CUtensorMap* map);

/// The map D is stored through: boxes of the kernel's slabs.
cudaError_t make_output_map(const GemmArguments& g, const Problem& p, const Geometry& t,
                            CUtensorMap* map);

/// Whether fp32 C can be read through a map too: rows along y, as D's then are, at multiples of 16
/// bytes.
bool c_suits_tma(const GemmArguments& g, const Problem& p);
cudaError_t make_c_map(const GemmArguments& g, const Problem& p, const Geometry& t,
                       CUtensorMap* map);

}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/realign/realign.hpp"
#include "cuda/sm90/tile/sides.hpp"

/// The host half of the kernels for rows at any address.
namespace detgemm::cuda::sm90 {

/// Whether the maps of the classes can describe the operand.
bool suits_realign(const Operand& operand, std::int64_t k);

/// The expected microseconds; the counterpart of predicted_time.
double predicted_realign_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows,
                              std::int64_t k, int sms);

/// Rows of a box of one class, for `rows` rows per tile: no more than the operand has.
int class_box_rows(const Operand& operand, int rows);

/// The eight maps of an operand for `rows` rows per tile, and the shifts of their rows.
cudaError_t make_class_maps(const Operand& operand, DType type, std::int64_t k, int rows, int depth,
                            CUtensorMap* maps, std::uint32_t* shifts);

}  // namespace detgemm::cuda::sm90

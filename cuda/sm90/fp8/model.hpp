// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"
#include "cuda/sm90/fp8/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Microseconds that the model expects of a kernel of e4m3; the smallest wins. If swapped, N is on
/// the x side of the tiles. It falls with no extent of the product: not with M, N or K.
double predicted_fp8_time(const Geometry& t, Join join, const GemmArguments& g, bool swapped,
                          int sms);

}  // namespace detgemm::cuda::sm90

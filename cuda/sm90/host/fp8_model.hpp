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

/// The same of `groups` groups of `rows` rows on average, each with an N x K matrix of its own.
/// spread: they have from half to one and a half times as many, all equally likely.
double predicted_fp8_group_time(const Geometry& t, Join join, const GemmArguments& g,
                                std::int64_t rows, std::int64_t groups, bool spread, bool swapped,
                                int sms);

}  // namespace detgemm::cuda::sm90

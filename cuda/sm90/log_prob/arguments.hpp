// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/log_prob/planes.hpp"

namespace detgemm::cuda::sm90 {

/// What a kernel of logits does with them in place of storing them. Tokens are on the x side, the
/// vocabulary on the y side, and a tile's columns are one node per row.
struct LogTiles {
  TokenIds targets;
  const float* scale = nullptr;
  float* target_logit = nullptr;  ///< T x per_row; of the ids whose columns are here. Or null
  std::int64_t begin = 0;         ///< the vocabulary's column that is the first one here
  log_prob::Planes nodes;
};

}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/log_prob.hpp"

namespace detgemm::cuda {

/// Log-probabilities on NVIDIA GPUs, on the current device: stored logits from compute capability
/// 8.0 on, and layers whose logits are never stored on 9.0.
const LogProbEngine& log_prob_engine() noexcept;

}  // namespace detgemm::cuda

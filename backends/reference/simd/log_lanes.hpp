// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Columns of log-probabilities: core/contract/log_leaves.hpp, compiled for this instruction set.

#include "core/contract/log_leaves.hpp"

namespace detgemm::reference::DETGEMM_ISA {
namespace {

void log_leaves_of(const LogLeavesJob& job) { compute_leaves(job); }
void log_gradient_of(const LogGradientJob& job) { compute_gradient(job); }

}  // namespace
}  // namespace detgemm::reference::DETGEMM_ISA

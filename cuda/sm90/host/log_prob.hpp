// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/log_prob/launch.hpp"

/// Log-probabilities of a linear layer whose logits are never stored: chains of hopper on tiles of
/// tokens by vocabulary, each of which becomes one node per row, then the join of these.
namespace detgemm::cuda::sm90 {

/// A layer of bf16. `g`: op(A) is X, T x k, and op(B) is W^T, k x V; both of the columns that
/// exist. Of the epilogue alpha and a bias count, and D is not looked at.
struct LogLayer {
  GemmArguments g;
  bool w_is_stable = false;
  LogProbRows rows;
  LogProbOutputs out;
  bool entropy() const { return out.entropy != nullptr; }
};

/// Whether TMA takes these operands without a copy and the vocabulary has no more nodes than one
/// join takes: memory along k, rows at multiples of 16 bytes. What is refused is computed through
/// stored logits.
bool takes_log(const GemmArguments& g);

/// The geometry with the least predicted time; an index into kLogGeometries.
int choose_log(std::int64_t t, std::int64_t columns, std::int64_t k, int sms);

/// Bytes of workspace for up to t rows.
std::size_t log_workspace(std::int64_t t, std::int64_t columns, bool entropy);

/// How a layer is launched; bit-neutral.
struct LogLaunch {
  cudaStream_t stream = nullptr;
  int sms = 1;
  bool overlap = true;
  int geometry = -1;  ///< -1: chosen
};

/// Enqueues it. Precondition: takes_log. Where targets are read, out.target_logit or out.logp holds
/// their logits meanwhile.
cudaError_t run_log(const LogLayer& layer, void* workspace, const LogLaunch& how);

}  // namespace detgemm::cuda::sm90

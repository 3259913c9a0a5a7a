// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/log_sum.hpp"
#include "detgemm/log_prob.hpp"

namespace detgemm {

/// Id j of row t.
DETGEMM_HD std::int64_t token(const TokenIds& ids, std::int64_t t, std::int64_t j) {
  const std::int64_t at = t * ids.row_stride + j;
  return ids.type == OffsetType::i32 ? static_cast<const std::int32_t*>(ids.data)[at]
                                     : static_cast<const std::int64_t*>(ids.data)[at];
}

/// Writes the results of id j of one row. `logit(at, id)` is the logit of an id that exists, number
/// `at` of all ids. Ids of `vocabulary` or more give NaN: a host refuses them before.
template <class Logit>
DETGEMM_HD void put_id_results(const arithmetic::LogNode& root, float lse, const TokenIds& ids,
                               std::int64_t vocabulary, const LogProbOutputs& out, std::int64_t row,
                               std::int64_t j, Logit&& logit) {
  using namespace arithmetic;
  if (out.logp == nullptr && out.target_logit == nullptr) return;
  const std::int64_t id = token(ids, row, j);
  const std::int64_t at = row * ids.per_row + j;
  float x = float_of(kNaNBits);
  if (id < 0) {
    x = 0.0F;
  } else if (id < vocabulary) {
    x = logit(at, id);
  }
  if (out.logp != nullptr) out.logp[at] = id < 0 ? 0.0F : log_probability(root, lse, x);
  if (out.target_logit != nullptr) out.target_logit[at] = x;
}

/// Writes what a row has besides its ids' results, from its root; returns the log-sum-exp. An id of
/// `vocabulary` or more makes its row's gradient NaN.
DETGEMM_HD float put_row_results(const arithmetic::LogNode& root, const TokenIds& ids,
                                 std::int64_t vocabulary, const LogProbOutputs& out,
                                 std::int64_t row) {
  using namespace arithmetic;
  const float lse = log_sum_exp(root);
  if (out.lse != nullptr) out.lse[row] = lse;
  if (out.entropy != nullptr) out.entropy[row] = log_entropy(root, lse);
  if (out.saved_r != nullptr) out.saved_r[row] = log_inverse(root);
  if (out.saved_k != nullptr) {
    const bool spoiled =
        ids.data != nullptr && ids.per_row == 1 && token(ids, row, 0) >= vocabulary;
    out.saved_k[row] = spoiled ? kLogSpecial : root.k;
  }
  return lse;
}

/// Writes the results of one row, from its root.
template <class Logit>
DETGEMM_HD void put_log_results(const arithmetic::LogNode& root, const TokenIds& ids,
                                std::int64_t vocabulary, const LogProbOutputs& out,
                                std::int64_t row, Logit&& logit) {
  const float lse = put_row_results(root, ids, vocabulary, out, row);
  for (std::int64_t j = 0; j < ids.per_row; ++j) {
    put_id_results(root, lse, ids, vocabulary, out, row, j, logit);
  }
}

/// What the gradient of one row starts from. `scale(rows, row)` is its scale.
template <class Scale>
DETGEMM_HD arithmetic::LogGradient gradient_row(const LogProbRows& rows, const LogProbUpstream& up,
                                                float alpha, std::int64_t row, Scale&& scale) {
  arithmetic::LogGradient g;
  g.k = up.saved_k[row];
  g.inverse = up.saved_r[row];
  g.has_entropy = up.d_entropy != nullptr;
  g.has_lse = up.d_lse != nullptr;
  if (g.has_entropy) {
    g.lse = up.lse[row];
    g.entropy = up.entropy[row];
    g.d_entropy = up.d_entropy[row];
  }
  if (g.has_lse) g.d_lse = up.d_lse[row];
  if (up.d_logp != nullptr) g.d_logp = up.d_logp[row];
  g.scale = scale(rows, row);
  g.alpha = alpha;
  g.ignored = rows.targets.data != nullptr && token(rows.targets, row, 0) < 0;
  return g;
}

}  // namespace detgemm

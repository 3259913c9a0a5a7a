// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "python/torch_ops/stack.hpp"
#include "python/torch_ops/views.hpp"

/// Log-probabilities of tokens, as operators share them.
namespace detgemm::torch_ops {

/// Per row, in fp32: logp, lse, entropy (without elements where it was not requested), logits of
/// the ids, K as words, R.
using RowResults = std::array<Tensor, 6>;
/// Arrays for the results of so many rows, which have `ids` ids together.
RowResults row_results(std::int64_t rows, std::int64_t ids, bool entropy, const Place& place);

/// A linear layer whose logits are not stored, and the ids of its rows.
struct Layer {
  const Tensor &x, &weight, &targets, &scale, &bias;  ///< the last two may be absent
  const std::string& contract;                        ///< of the logits
  std::int64_t valid;                                 ///< columns that exist
  bool entropy;
  double alpha;
};
void log_probs_of_layer(const Layer& layer, const RowResults& to);

/// The same of stored logits, rows x at least `valid`. Targets, scale and `to` may have more rows:
/// these are then the ones from `first` on. There is an entropy where `to` has elements for it.
void log_probs_of_rows(const Tensor& logits, const Tensor& targets, const Tensor& scale,
                       std::int64_t valid, const RowResults& to, std::int64_t first = 0);

/// Columns of G, the gradient of t rows of logits, that exist at a time in the backward pass: as
/// many as `bytes` hold, in whole leaves of dX's contract, and all `columns` under a tree.
std::int64_t gradient_stripe(const std::string& dgrad, std::int64_t bytes, std::int64_t t,
                             std::int64_t columns);

/// What the gradient of logits reads per row; all but targets, k and r may be absent.
struct GradientRows {
  const Tensor &targets, &scale, &k, &r, &lse, &entropy, &d_logp, &d_lse, &d_entropy;
};
/// G, in bf16, of logits that are columns `begin` and on of `valid`; `out` may be bf16 logits.
void gradient_of_logits(const Tensor& logits, const GradientRows& rows, std::int64_t begin,
                        std::int64_t valid, double alpha, const Tensor& out);

}  // namespace detgemm::torch_ops

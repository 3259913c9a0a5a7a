// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Log-probabilities of stored logits, and their gradient.

#include <optional>

#include "detgemm/detgemm_log_prob.h"
#include "python/torch_ops/gemm.hpp"
#include "python/torch_ops/log_prob.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

void done(detgemm_status_t status) {
  if (status != DETGEMM_OK) refuse(detgemm_last_error());
}

const detgemm_backend_t* backend_of_rows(const Place& place) {
  const detgemm_backend_t* backend = nullptr;
  done(detgemm_backend_find(place.kind == DETGEMM_HOST ? "reference" : "cuda", &backend));
  return backend;
}

/// A vector of fp32, or of `type`, with an element per row; null where it is not given.
class RowVector {
 public:
  RowVector(const Tensor& tensor, const char* name, std::int64_t rows, const Place& place) {
    if (!tensor) return;
    vector_.emplace(tensor, name);
    check_same_place(vector_->description().place, name, place, "logits");
    const detgemm_vector_t& found = vector_->vector();
    if (found.dtype != DETGEMM_FP32 || found.size != rows) {
      refuse(std::string(name) + " has " + std::to_string(found.size) +
             " elements: it must have one of float32 for each of the " + std::to_string(rows) +
             " rows of logits");
    }
  }
  const float* data() const {
    return vector_ ? static_cast<const float*>(vector_->vector().data) : nullptr;
  }

 private:
  std::optional<VectorOf> vector_;
};

/// Logits, the ids of their rows and the scales. Ids and scales may be those of more rows, `all` of
/// them, among which `skip` finds these.
struct LogitRows {
  LogitRows(const Tensor& tensor, const Tensor& tokens, const char* name, const Tensor& factors,
            Copies copies, std::int64_t all = -1)
      : logits(tensor, "logits", copies),
        place(logits.description().place),
        ids(tokens, name),
        scale(factors, "scale", all < 0 ? logits.rows() : all, place) {
    check_host(place);
    check_same_place(ids.place(), name, place, "logits");
    const std::int64_t t = all < 0 ? logits.rows() : all;
    const std::int64_t per_row = t == 0 ? 1 : ids.count() / t;
    if (ids.count() != per_row * t) {
      refuse(std::string(name) + " has " + std::to_string(ids.count()) +
             " elements: it must have as many for each of the " + std::to_string(t) +
             " rows of logits");
    }
    detgemm_log_prob_rows_init(&rows, sizeof rows);
    rows.targets = ids.data();
    rows.target_type = ids.type();
    rows.per_row = rows.target_stride = per_row;
    rows.scale = scale.data();
  }

  /// The logits are those of rows from `first` on.
  void skip(std::int64_t first) {
    const std::int64_t size = ids.type() == DETGEMM_I32 ? 4 : 8;
    if (first == 0) return;
    rows.targets = static_cast<const char*>(ids.data()) + first * rows.per_row * size;
    if (rows.scale != nullptr) rows.scale += first;
  }

  MatrixOf logits;
  Place place;
  OffsetsOf ids;
  RowVector scale;
  detgemm_log_prob_rows_t rows{};
};

/// Results of these rows, which are those from `first` on of `to`.
void find_log_probs(const LogitRows& in, std::int64_t valid, const RowResults& to,
                    std::int64_t first) {
  const CurrentStream stream(in.place);
  std::size_t bytes = 0;
  done(detgemm_log_prob_workspace_size(in.logits.rows(), valid, &bytes));
  const Workspace workspace(bytes, in.place);
  detgemm_log_prob_outputs_t out{};
  detgemm_log_prob_outputs_init(&out, sizeof out);
  const auto at = [&](std::size_t i, std::int64_t per_row) {
    return static_cast<float*>(data_of(to[i])) + first * per_row;
  };
  out.logp = at(0, in.rows.per_row);
  out.lse = at(1, 1);
  if (describe(to[2], "entropy").sizes[0] > 0) out.entropy = at(2, 1);
  out.target_logit = at(3, in.rows.per_row);
  out.saved_k = reinterpret_cast<std::int32_t*>(at(4, 1));
  out.saved_r = at(5, 1);
  done(detgemm_log_prob_of_logits(backend_of_rows(in.place), &stream.stream(), &in.logits.input(),
                                  valid, &in.rows, &out, workspace.data(), workspace.bytes()));
}

}  // namespace

RowResults row_results(std::int64_t rows, std::int64_t ids, bool entropy, const Place& place) {
  const std::int64_t all[] = {ids}, t[] = {rows}, none[] = {0};
  RowResults results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = empty(i == 2 && !entropy ? none : i % 3 == 0 ? all : t, DETGEMM_FP32, place);
  }
  return results;
}

void log_probs_of_rows(const Tensor& logits, const Tensor& targets, const Tensor& scale,
                       std::int64_t valid, const RowResults& to, std::int64_t first) {
  const std::int64_t t = describe(to[1], "lse").sizes[0];
  LogitRows in(logits, targets, "targets", scale, Copies::allowed, t);
  if (in.ids.count() != t) {
    refuse("targets has " + std::to_string(in.ids.count()) +
           " elements: it must have one for each of the " + std::to_string(t) + " rows of x");
  }
  in.skip(first);
  find_log_probs(in, valid, to, first);
}

void logits_log_probs(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Tensor logits = from.tensor(), ids = from.tensor(), scale = from.optional_tensor();
  const std::int64_t valid = from.integer();
  const bool entropy = from.boolean();
  const LogitRows in(logits, ids, "ids", scale, Copies::allowed);
  RowResults results = row_results(in.logits.rows(), in.ids.count(), entropy, in.place);
  find_log_probs(in, valid, results, 0);
  for (std::size_t i = 0; i < results.size(); ++i) give(stack, std::move(results[i]), i);
}

void gradient_of_logits(const Tensor& logits, const GradientRows& rows, std::int64_t begin,
                        std::int64_t valid, double alpha, const Tensor& out) {
  const LogitRows in(logits, rows.targets, "targets", rows.scale, Copies::allowed);
  const MatrixOf g(out, "out", Copies::refused);
  check_same_place(g.description().place, "out", in.place, "logits");
  const std::int64_t t = in.logits.rows();
  const auto row = [&](const Tensor& tensor, const char* name) {
    return RowVector(tensor, name, t, in.place);
  };
  const RowVector words = row(rows.k, "k"), inverse = row(rows.r, "r"), sums = row(rows.lse, "lse");
  const RowVector h = row(rows.entropy, "entropy"), of_logp = row(rows.d_logp, "dlogp");
  const RowVector of_lse = row(rows.d_lse, "dlse"), of_entropy = row(rows.d_entropy, "dentropy");
  detgemm_log_prob_upstream_t up{};
  detgemm_log_prob_upstream_init(&up, sizeof up);
  up.saved_k = reinterpret_cast<const std::int32_t*>(words.data());
  up.saved_r = inverse.data();
  up.lse = sums.data();
  up.entropy = h.data();
  up.d_logp = of_logp.data();
  up.d_lse = of_lse.data();
  up.d_entropy = of_entropy.data();
  up.alpha = static_cast<float>(alpha);
  const CurrentStream stream(in.place);
  const detgemm_matrix_t to = g.output();
  done(detgemm_log_prob_gradient(backend_of_rows(in.place), &stream.stream(), &in.logits.input(),
                                 begin, valid, &in.rows, &up, &to));
}

void logits_gradient(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Tensor logits = from.tensor(), targets = from.tensor(), scale = from.optional_tensor();
  const Tensor k = from.tensor(), r = from.tensor();
  const Tensor lse = from.optional_tensor(), entropy = from.optional_tensor();
  const Tensor d_logp = from.optional_tensor(), d_lse = from.optional_tensor();
  const Tensor d_entropy = from.optional_tensor();
  const std::int64_t begin = from.integer(), valid = from.integer();
  const double alpha = from.real();
  const Tensor out = from.tensor();
  gradient_of_logits(logits, {targets, scale, k, r, lse, entropy, d_logp, d_lse, d_entropy}, begin,
                     valid, alpha, out);
}

}  // namespace detgemm::torch_ops

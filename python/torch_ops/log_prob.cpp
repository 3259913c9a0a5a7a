// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Log-probabilities of a linear layer whose logits are never stored.

#include "python/torch_ops/log_prob.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "detgemm/detgemm_log_prob.h"
#include "python/torch_ops/gemm.hpp"
#include "python/torch_ops/plans.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

/// Everything that a plan is made from.
struct LayerKey {
  const ParsedContract* contract;
  std::int64_t n, k, valid;
  bool entropy;
  float alpha;
  detgemm_dtype_t bias;
  Place place;

  auto tied() const {
    return std::tuple(contract, n, k, valid, entropy, alpha, static_cast<int>(bias),
                      static_cast<int>(place.kind), place.index);
  }
  bool operator<(const LayerKey& other) const { return tied() < other.tied(); }
};

const detgemm_log_prob_plan_t* make(const LayerKey& key) {
  detgemm_log_prob_spec_t spec{};
  detgemm_log_prob_spec_init(&spec, sizeof spec);
  spec.contract = &key.contract->contract;
  spec.n = key.n;
  spec.k = key.k;
  spec.vocabulary = key.valid;
  spec.entropy = key.entropy ? 1 : 0;
  spec.alpha = key.alpha;
  spec.bias = key.bias;
  if (detgemm_log_prob_spec_validate(&spec) != DETGEMM_OK) refuse(detgemm_last_error());
  std::string refusals;
  for (std::size_t i = 0; i < detgemm_backend_count(); ++i) {
    const detgemm_backend_t* backend = detgemm_backend_at(i);
    detgemm_device_kind_t kind = DETGEMM_HOST;
    detgemm_backend_device_kind(backend, &kind);
    if (kind != key.place.kind) continue;
    detgemm_log_prob_plan_t* plan = nullptr;
    const auto status = detgemm_log_prob_plan_create(backend, &spec, nullptr, &plan);
    if (status == DETGEMM_OK) return plan;
    refusals += std::string("; ") + detgemm_last_error();
  }
  if (refusals.empty()) refusals = ": this build has no backend for it";
  refuse("no backend on " + name_of(key.place) + " computes log-probabilities under " +
         key.contract->text + refusals);
}

/// The plan of a key. A model has one or two heads, so plans are kept for as long as the process
/// lives: work on a device, or a captured graph, may use them.
const detgemm_log_prob_plan_t* plan_of(const LayerKey& key) {
  static auto* const plans = new std::map<LayerKey, const detgemm_log_prob_plan_t*>;
  static auto* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  const auto found = plans->find(key);
  if (found != plans->end()) return found->second;
  return plans->emplace(key, make(key)).first->second;
}

}  // namespace

void log_probs_of_layer(const Layer& call, const RowResults& to) {
  const MatrixOf x(call.x, "x", Copies::allowed);
  const MatrixOf weight(call.weight, "weight", Copies::allowed);
  const Place place = x.description().place;
  check_host(place);
  check_same_place(weight.description().place, "weight", place, "x");
  const OffsetsOf targets(call.targets, "targets");
  check_same_place(targets.place(), "targets", place, "x");
  if (targets.count() != x.rows()) {
    refuse("targets has " + std::to_string(targets.count()) + " elements: it must have one for " +
           "each of the " + std::to_string(x.rows()) + " rows of x");
  }
  std::optional<VectorOf> scale, bias;
  if (call.scale) {
    scale.emplace(call.scale, "scale");
    check_same_place(scale->description().place, "scale", place, "x");
    if (scale->vector().dtype != DETGEMM_FP32 || scale->vector().size != x.rows()) {
      refuse("scale has " + std::to_string(scale->vector().size) +
             " elements: it must have one of float32 for each of the " + std::to_string(x.rows()) +
             " rows of x");
    }
  }
  if (call.bias) {
    bias.emplace(call.bias, "bias");
    check_same_place(bias->description().place, "bias", place, "x");
  }
  const CurrentStream stream(place);
  const LayerKey key{&parsed(call.contract),
                     weight.rows(),
                     weight.cols(),
                     call.valid,
                     call.entropy,
                     static_cast<float>(call.alpha),
                     bias ? bias->vector().dtype : detgemm_dtype_t{DETGEMM_NONE},
                     place};
  const auto* plan = plan_of(key);
  std::size_t bytes = 0;
  if (detgemm_log_prob_plan_workspace_size(plan, x.rows(), &bytes) != DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
  const Workspace workspace(bytes, place);
  detgemm_log_prob_rows_t rows{};
  detgemm_log_prob_rows_init(&rows, sizeof rows);
  rows.targets = targets.data();
  rows.target_type = targets.type();
  if (scale) rows.scale = static_cast<const float*>(scale->vector().data);
  detgemm_log_prob_outputs_t out{};
  detgemm_log_prob_outputs_init(&out, sizeof out);
  out.logp = static_cast<float*>(data_of(to[0]));
  out.lse = static_cast<float*>(data_of(to[1]));
  if (call.entropy) out.entropy = static_cast<float*>(data_of(to[2]));
  out.target_logit = static_cast<float*>(data_of(to[3]));
  out.saved_k = static_cast<std::int32_t*>(data_of(to[4]));
  out.saved_r = static_cast<float*>(data_of(to[5]));
  if (detgemm_linear_log_prob(plan, &stream.stream(), &x.input(), &weight.input(),
                              bias ? &bias->vector() : nullptr, &rows, &out, workspace.data(),
                              workspace.bytes()) != DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
}

void layer_log_probs(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Tensor x = from.tensor(), weight = from.tensor(), targets = from.tensor();
  const Tensor scale = from.optional_tensor(), bias = from.optional_tensor();
  const std::string contract = from.text();
  const std::int64_t valid = from.integer();
  const bool entropy = from.boolean();
  const double alpha = from.real();
  const Description d = describe(x, "x");
  const std::int64_t rows = d.sizes.empty() ? 0 : d.sizes[0];
  RowResults results = row_results(rows, rows, entropy, d.place);
  log_probs_of_layer({x, weight, targets, scale, bias, contract, valid, entropy, alpha}, results);
  for (std::size_t i = 0; i < results.size(); ++i) give(stack, std::move(results[i]), i);
}

}  // namespace detgemm::torch_ops

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "core/capi/descriptors.hpp"
#include "core/capi/error.hpp"
#include "core/capi/operands.hpp"
#include "detgemm/plan.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace {

Result<GemmOptions> options_of(const detgemm_gemm_options_t* given) {
  GemmOptions options;
  if (given == nullptr) return options;
  auto c = read("options", given);
  if (!c) return c.status();
  auto serial = flag_of("options.serial_launch", c->serial_launch);
  if (!serial) return serial.status();
  auto continues = flag_of("options.continue_from_c", c->continue_from_c);
  if (!continues) return continues.status();
  auto a_snapped = flag_of("options.a_snapped", c->a_snapped);
  if (!a_snapped) return a_snapped.status();
  auto b_snapped = flag_of("options.b_snapped", c->b_snapped);
  if (!b_snapped) return b_snapped.status();
  options.a_snapped = *a_snapped;
  options.b_snapped = *b_snapped;
  options.op_a = static_cast<Op>(c->op_a);
  options.op_b = static_cast<Op>(c->op_b);
  options.activation = static_cast<Activation>(c->activation);
  options.alpha = c->alpha;
  options.beta = c->beta;
  options.continue_from_c = *continues;
  GemmSpec spec;
  spec.beta = options.beta;
  spec.continue_from_c = options.continue_from_c;
  if (spec.reads_c()) {
    auto view = matrix_of("options.c", c->c);
    if (!view) return view.status();
    options.c = *view;
  }
  if (c->bias != nullptr) {
    auto bias = vector_of("options.bias", c->bias);
    if (!bias) return bias.status();
    options.bias = *bias;
  }
  auto scale_a = scales_of("options.scale_a", c->scale_a);
  if (!scale_a) return scale_a.status();
  auto scale_b = scales_of("options.scale_b", c->scale_b);
  if (!scale_b) return scale_b.status();
  options.scale_a = *scale_a;
  options.scale_b = *scale_b;
  if (c->backend != nullptr) options.backend = c->backend;
  if (c->variant != nullptr) options.variant = c->variant;
  options.workspace = {c->workspace, c->workspace_bytes};
  options.max_workers = c->max_workers;
  options.stable = static_cast<Stable>(c->stable);
  options.serial_launch = *serial;
  return options;
}

}  // namespace

detgemm_status_t detgemm_gemm(const detgemm_stream_t* stream, const detgemm_const_matrix_t* a,
                              const detgemm_const_matrix_t* b, const detgemm_matrix_t* d,
                              const detgemm_contract_t* contract,
                              const detgemm_gemm_options_t* options) {
  return guarded([&]() -> Status {
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto left = matrix_of("a", a);
    if (!left) return left.status();
    auto right = matrix_of("b", b);
    if (!right) return right.status();
    auto out = matrix_of("d", d);
    if (!out) return out.status();
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    auto choices = options_of(options);
    if (!choices) return choices.status();
    return gemm(*queue, *left, *right, *out, *ours, *choices);
  });
}

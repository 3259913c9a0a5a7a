// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/operands.hpp"

#include <string>

#include "core/capi/descriptors.hpp"
#include "core/capi/error.hpp"
#include "core/capi/handles.hpp"

namespace detgemm::capi {
namespace {

Status check_reserved(std::string_view what, std::uint32_t given) {
  if (given == 0) return {};
  return invalid(std::string(what) + ".reserved is " + std::to_string(given) + ": it must be 0");
}

}  // namespace

Result<Contract> contract_of(std::string_view what, const detgemm_contract_t* given) {
  auto c = read(what, given);
  if (!c) return c.status();
  if (Status s = check_reserved(what, c->reserved); !s) return s;
  Contract contract;
  contract.arithmetic = static_cast<Arithmetic>(c->arithmetic);
  contract.input = static_cast<DType>(c->input);
  contract.k_block = c->k_block;
  contract.k_order = static_cast<KOrder>(c->k_order);
  contract.reduction = {static_cast<ReductionKind>(c->reduction), c->leaf_k};
  contract.rounding = static_cast<Rounding>(c->rounding);
  contract.output = static_cast<DType>(c->output);
  contract.version = c->version;
  if (Status s = contract.validate(); !s) return s;
  return contract;
}

detgemm_contract_t c_contract(const Contract& contract) {
  auto c = defaults<detgemm_contract_t>();
  c.version = contract.version;
  c.arithmetic = static_cast<detgemm_arithmetic_t>(contract.arithmetic);
  c.input = static_cast<detgemm_dtype_t>(contract.input);
  c.k_block = contract.k_block;
  c.k_order = static_cast<std::int32_t>(contract.k_order);
  c.reduction = static_cast<detgemm_reduction_t>(contract.reduction.kind);
  c.leaf_k = contract.reduction.leaf_k;
  c.rounding = static_cast<std::int32_t>(contract.rounding);
  c.output = static_cast<detgemm_dtype_t>(contract.output);
  return c;
}

Result<bool> flag_of(std::string_view what, std::int32_t given) {
  if (given == 0 || given == 1) return given == 1;
  return invalid(std::string(what) + " is " + std::to_string(given) + ": it must be 0 or 1");
}

Result<PlanOptions> plan_options_of(std::string_view what, const detgemm_plan_options_t* given) {
  if (given == nullptr) return PlanOptions{};
  auto c = read(what, given);
  if (!c) return c.status();
  const auto serial = flag_of(std::string(what) + ".serial_launch", c->serial_launch);
  if (!serial) return serial.status();
  PlanOptions options{c->variant == nullptr ? "" : c->variant, c->max_workers,
                      static_cast<Stable>(c->stable), *serial};
  if (c->tuning == nullptr) return options;
  if (Status s = check(c->tuning); !s) return s;
  options.tuning = c->tuning->tuning;
  return options;
}

Result<GemmSpec> spec_of(std::string_view what, const detgemm_gemm_spec_t* given) {
  auto c = read(what, given);
  if (!c) return c.status();
  const std::string label(what);
  auto contract = contract_of(label + ".contract", c->contract);
  if (!contract) return contract.status();
  auto continues = flag_of(label + ".continue_from_c", c->continue_from_c);
  if (!continues) return continues.status();
  auto a_snapped = flag_of(label + ".a_snapped", c->a_snapped);
  if (!a_snapped) return a_snapped.status();
  auto b_snapped = flag_of(label + ".b_snapped", c->b_snapped);
  if (!b_snapped) return b_snapped.status();
  auto lines = flag_of(label + ".line_scales", c->line_scales);
  if (!lines) return lines.status();
  GemmSpec spec;
  spec.n = c->n;
  spec.k = c->k;
  spec.contract = *contract;
  spec.op_a = static_cast<Op>(c->op_a);
  spec.op_b = static_cast<Op>(c->op_b);
  spec.alpha = c->alpha;
  spec.beta = c->beta;
  if (c->bias != DETGEMM_NONE) spec.bias = static_cast<DType>(c->bias);
  spec.activation = static_cast<Activation>(c->activation);
  spec.continue_from_c = *continues;
  spec.a_snapped = *a_snapped;
  spec.b_snapped = *b_snapped;
  spec.line_scales = *lines;
  if (Status s = validate(spec); !s) return s;
  return spec;
}

Result<Stream> stream_of(const detgemm_stream_t* given) {
  if (given == nullptr) return Stream{};
  auto c = read("stream", given);
  if (!c) return c.status();
  return Stream{static_cast<DeviceKind>(c->kind), c->handle};
}

Result<ConstMatrix> matrix_of(std::string_view what, const detgemm_const_matrix_t* given) {
  auto c = read(what, given);
  if (!c) return c.status();
  return ConstMatrix{c->data,       c->rows,       c->cols,
                     c->row_stride, c->col_stride, static_cast<DType>(c->dtype)};
}

Result<Matrix> matrix_of(std::string_view what, const detgemm_matrix_t* given) {
  auto c = read(what, given);
  if (!c) return c.status();
  return Matrix{c->data,       c->rows,       c->cols,
                c->row_stride, c->col_stride, static_cast<DType>(c->dtype)};
}

Result<ConstVector> vector_of(std::string_view what, const detgemm_vector_t* given) {
  auto c = read(what, given);
  if (!c) return c.status();
  return ConstVector{c->data, c->size, static_cast<DType>(c->dtype)};
}

Result<BlockScales> scales_of(std::string_view what, const detgemm_block_scales_t* given) {
  if (given == nullptr) return BlockScales{};
  auto c = read(what, given);
  if (!c) return c.status();
  return BlockScales{
      c->data,       static_cast<ScaleType>(c->type), c->per, c->blocks, c->leaves, c->stride,
      c->leaf_stride};
}

Result<Operands> operands_of(const GemmSpec& spec, const detgemm_operands_t* given, Inputs inputs) {
  auto c = read("operands", given);
  if (!c) return c.status();
  if (Status s = check_reserved("operands", c->reserved); !s) return s;
  Operands operands;
  auto d = matrix_of("operands.d", c->d);
  if (!d) return d.status();
  operands.d = *d;
  if (inputs == Inputs::a_and_b) {
    auto a = matrix_of("operands.a", c->a);
    if (!a) return a.status();
    auto b = matrix_of("operands.b", c->b);
    if (!b) return b.status();
    operands.a = *a;
    operands.b = *b;
  }
  if (spec.reads_c()) {
    auto view = matrix_of("operands.c", c->c);
    if (!view) return view.status();
    operands.c = *view;
  }
  if (spec.bias) {
    auto bias = vector_of("operands.bias", c->bias);
    if (!bias) return bias.status();
    operands.bias = *bias;
  }
  auto scale_a = scales_of("operands.scale_a", c->scale_a);
  if (!scale_a) return scale_a.status();
  auto scale_b = scales_of("operands.scale_b", c->scale_b);
  if (!scale_b) return scale_b.status();
  operands.scale_a = *scale_a;
  operands.scale_b = *scale_b;
  return operands;
}

}  // namespace detgemm::capi

using namespace detgemm;
using namespace detgemm::capi;

detgemm_status_t detgemm_gemm_spec_validate(const detgemm_gemm_spec_t* spec) {
  return guarded([&] { return spec_of("spec", spec).status(); });
}

detgemm_status_t detgemm_operands_validate(const detgemm_gemm_spec_t* spec,
                                           const detgemm_operands_t* operands) {
  return guarded([&]() -> Status {
    auto problem = spec_of("spec", spec);
    if (!problem) return problem.status();
    auto arrays = operands_of(*problem, operands, Inputs::a_and_b);
    if (!arrays) return arrays.status();
    return validate(*problem, *arrays);
  });
}

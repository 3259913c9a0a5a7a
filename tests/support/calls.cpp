// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/calls.hpp"

#include <memory>

#include "core/capi/handles.hpp"
#include "detgemm/detgemm.h"

namespace detgemm {

Status call_cpp(Call call, const Backend& backend, const Problem& p) {
  if (call == Call::gemm) {
    GemmOptions o;
    o.op_a = p.spec.op_a;
    o.op_b = p.spec.op_b;
    o.alpha = p.spec.alpha;
    o.beta = p.spec.beta;
    o.activation = p.spec.activation;
    o.continue_from_c = p.spec.continue_from_c;
    o.c = p.operands.c;
    o.bias = p.operands.bias;
    o.backend = p.backend;
    o.variant = p.options.variant;
    o.workspace = p.workspace;
    o.max_workers = p.options.max_workers;
    o.stable = p.options.stable;
    return gemm(p.stream, p.operands.a, p.operands.b, p.operands.d, p.spec.contract, o);
  }
  auto plan = Plan::create(backend, p.spec, p.options);
  if (!plan || call == Call::create) return plan.status();
  if (call == Call::run) return plan->run(p.stream, p.operands, p.workspace);
  return plan->combine(p.stream, p.roots, p.operands, p.workspace);
}

namespace {

template <class T, class View>
T matrix_for_c(const View& v) {
  return {sizeof(T),   static_cast<detgemm_dtype_t>(v.dtype), v.data, v.rows, v.cols, v.row_stride,
          v.col_stride};
}

/// A Problem as the C interface sees it.
struct ForC {
  explicit ForC(const Problem& p)
      : a(matrix_for_c<detgemm_const_matrix_t>(p.operands.a)),
        b(matrix_for_c<detgemm_const_matrix_t>(p.operands.b)),
        c(matrix_for_c<detgemm_const_matrix_t>(p.operands.c)),
        d(matrix_for_c<detgemm_matrix_t>(p.operands.d)),
        bias{sizeof bias, static_cast<detgemm_dtype_t>(p.operands.bias.dtype), p.operands.bias.data,
             p.operands.bias.size},
        stream{sizeof stream, static_cast<detgemm_device_kind_t>(p.stream.kind), p.stream.handle} {
    const Contract& k = p.spec.contract;
    detgemm_contract_init(&contract, sizeof contract);
    contract.version = k.version;
    contract.arithmetic = static_cast<detgemm_arithmetic_t>(k.arithmetic);
    contract.input = static_cast<detgemm_dtype_t>(k.input);
    contract.k_block = k.k_block;
    contract.k_order = static_cast<std::int32_t>(k.k_order);
    contract.reduction = static_cast<detgemm_reduction_t>(k.reduction.kind);
    contract.rounding = static_cast<std::int32_t>(k.rounding);
    contract.leaf_k = k.reduction.leaf_k;
    contract.output = static_cast<detgemm_dtype_t>(k.output);
    detgemm_gemm_spec_init(&spec, sizeof spec);
    spec.op_a = static_cast<detgemm_op_t>(p.spec.op_a);
    spec.op_b = static_cast<detgemm_op_t>(p.spec.op_b);
    spec.n = p.spec.n;
    spec.k = p.spec.k;
    spec.contract = &contract;
    spec.activation = static_cast<detgemm_activation_t>(p.spec.activation);
    spec.alpha = p.spec.alpha;
    spec.beta = p.spec.beta;
    if (p.spec.bias) spec.bias = static_cast<detgemm_dtype_t>(*p.spec.bias);
    spec.continue_from_c = p.spec.continue_from_c ? 1 : 0;
    for (const ConstMatrix& root : p.roots) {
      roots.push_back(matrix_for_c<detgemm_const_matrix_t>(root));
    }
    for (const auto& root : roots) root_pointers.push_back(&root);
    root_pointers.push_back(nullptr);  // so that data() is never null
  }

  detgemm_const_matrix_t a, b, c;
  detgemm_matrix_t d;
  detgemm_vector_t bias;
  detgemm_stream_t stream;
  detgemm_contract_t contract{};
  detgemm_gemm_spec_t spec{};
  std::vector<detgemm_const_matrix_t> roots;
  std::vector<const detgemm_const_matrix_t*> root_pointers;
};

Status status_of(detgemm_status_t code) {
  return {static_cast<Errc>(code), code == DETGEMM_OK ? "" : detgemm_last_error()};
}

detgemm_status_t gemm_c(const Problem& p, const ForC& c) {
  detgemm_gemm_options_t o{};
  detgemm_gemm_options_init(&o, sizeof o);
  o.op_a = c.spec.op_a;
  o.op_b = c.spec.op_b;
  o.activation = c.spec.activation;
  o.alpha = c.spec.alpha;
  o.beta = c.spec.beta;
  o.continue_from_c = c.spec.continue_from_c;
  o.c = &c.c;
  o.bias = &c.bias;
  o.backend = p.backend.c_str();
  o.variant = p.options.variant.c_str();
  o.workspace = p.workspace.data;
  o.workspace_bytes = p.workspace.bytes;
  o.max_workers = p.options.max_workers;
  o.stable = static_cast<detgemm_stable_t>(p.options.stable);
  return detgemm_gemm(&c.stream, &c.a, &c.b, &c.d, &c.contract, &o);
}

}  // namespace

Status call_c(Call call, const Backend& backend, const Problem& p) {
  const ForC c(p);
  if (call == Call::gemm) return status_of(gemm_c(p, c));
  detgemm_plan_options_t options{sizeof options, p.options.max_workers, p.options.variant.c_str(),
                                 static_cast<detgemm_stable_t>(p.options.stable), 0};
  detgemm_plan_t* created = nullptr;
  const auto code = detgemm_plan_create(capi::handle_of(&backend), &c.spec, &options, &created);
  const std::unique_ptr<detgemm_plan_t, decltype(&detgemm_plan_destroy)> plan(created,
                                                                              detgemm_plan_destroy);
  if (code != DETGEMM_OK || call == Call::create) return status_of(code);
  const detgemm_operands_t operands{sizeof operands, 0,       &c.a,   &c.b, &c.d, &c.c,
                                    &c.bias,         nullptr, nullptr};
  if (call == Call::run) {
    return status_of(detgemm_plan_run(plan.get(), &c.stream, &operands, p.workspace.data,
                                      p.workspace.bytes, nullptr));
  }
  return status_of(detgemm_plan_combine(plan.get(), &c.stream, c.root_pointers.data(),
                                        c.roots.size(), &operands, p.workspace.data,
                                        p.workspace.bytes, nullptr));
}

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/plan.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/capi/descriptors.hpp"
#include "core/capi/error.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/run_info.hpp"
#include "core/capi/text.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace {

Status check_m(std::int64_t m) {
  if (m >= 0) return {};
  return invalid("m is " + std::to_string(m) + ": it must not be negative");
}

/// Checks the number of roots, since that many of the caller's pointers are about to be read.
Status check_count(const GemmSpec& spec, std::size_t count) {
  if (count == 0 || (count & (count - 1)) != 0) {
    return invalid("count is " + std::to_string(count) + ": it must be a power of two");
  }
  const auto leaves = static_cast<std::uint64_t>(spec.contract.leaves(spec.k));
  if (leaves % count != 0) {
    return invalid("count is " + std::to_string(count) + ": it must divide the " +
                   std::to_string(leaves) + " leaves of k = " + std::to_string(spec.k));
  }
  return {};
}

/// The part that run and combine share: the caller's structs are read first, so that a bad one is
/// refused before anything is written, and `info` is filled in last.
template <class Body>
detgemm_status_t launch(const detgemm_plan_t* plan, const detgemm_stream_t* stream,
                        const detgemm_operands_t* operands, Inputs inputs, detgemm_run_info_t* info,
                        Body&& body) {
  return capi::launch([&] { return check(plan); }, [&] { return plan->plan.spec(); }, stream,
                      operands, inputs, info, body);
}

}  // namespace

detgemm_status_t detgemm_plan_create(const detgemm_backend_t* backend,
                                     const detgemm_gemm_spec_t* spec,
                                     const detgemm_plan_options_t* options, detgemm_plan_t** plan) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan", "a place for the answer");
    *plan = nullptr;
    if (Status s = check(backend); !s) return s;
    auto problem = spec_of("spec", spec);
    if (!problem) return problem.status();
    auto choices = plan_options_of("options", options);
    if (!choices) return choices.status();
    auto created = Plan::create(backend_of(backend), *problem, *choices);
    if (!created) return created.status();
    *plan = new detgemm_plan_t{std::move(*created), c_contract(problem->contract)};
    return {};
  });
}

void detgemm_plan_destroy(detgemm_plan_t* plan) {
  if (plan == nullptr) return;
  if (guarded([&] { return check(plan); }) == DETGEMM_OK) delete plan;
}

detgemm_status_t detgemm_plan_workspace_size(const detgemm_plan_t* plan, int64_t max_m,
                                             size_t* bytes) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (bytes == nullptr) return null_argument("bytes", "a place for the answer");
    auto needed = plan->plan.workspace_bytes(max_m);
    if (!needed) return needed.status();
    *bytes = *needed;
    return {};
  });
}

detgemm_status_t detgemm_plan_fast_workspace_size(const detgemm_plan_t* plan,
                                                  const detgemm_operands_t* operands,
                                                  size_t* bytes) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (bytes == nullptr) return null_argument("bytes", "a place for the answer");
    auto arrays = operands_of(plan->plan.spec(), operands, Inputs::a_and_b);
    if (!arrays) return arrays.status();
    auto fast = plan->plan.fast_workspace_bytes(*arrays);
    if (!fast) return fast.status();
    *bytes = *fast;
    return {};
  });
}

detgemm_status_t detgemm_plan_fast_workspace_bound(const detgemm_plan_t* plan, int64_t max_m,
                                                   size_t* bytes) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (bytes == nullptr) return null_argument("bytes", "a place for the answer");
    auto enough = plan->plan.fast_workspace_bytes(max_m);
    if (!enough) return enough.status();
    *bytes = *enough;
    return {};
  });
}

detgemm_status_t detgemm_plan_run(const detgemm_plan_t* plan, const detgemm_stream_t* stream,
                                  const detgemm_operands_t* operands, void* workspace,
                                  size_t workspace_bytes, detgemm_run_info_t* info) {
  const Workspace scratch{workspace, workspace_bytes};
  return launch(plan, stream, operands, Inputs::a_and_b, info,
                [&](Stream queue, const Operands& arrays, RunInfo* ran) {
                  return plan->plan.run(queue, arrays, scratch, ran);
                });
}

detgemm_status_t detgemm_plan_combine(const detgemm_plan_t* plan, const detgemm_stream_t* stream,
                                      const detgemm_const_matrix_t* const* roots, size_t count,
                                      const detgemm_operands_t* operands, void* workspace,
                                      size_t workspace_bytes, detgemm_run_info_t* info) {
  const Workspace scratch{workspace, workspace_bytes};
  return launch(plan, stream, operands, Inputs::none, info,
                [&](Stream queue, const Operands& arrays, RunInfo* ran) -> Status {
                  if (roots == nullptr) return null_argument("roots", "an array of matrices");
                  std::vector<ConstMatrix> views;
                  const GemmSpec& spec = plan->plan.spec();
                  if (spec.contract.reduction.kind != ReductionKind::tree) {
                    return plan->plan.combine(queue, views, arrays, scratch, ran);  // refuses
                  }
                  // The plan refuses such counts too, but only after they have been read here.
                  if (Status s = check_count(spec, count); !s) return s;
                  for (std::size_t i = 0; i < count; ++i) {
                    auto view = matrix_of("roots[" + std::to_string(i) + "]", roots[i]);
                    if (!view) return view.status();
                    views.push_back(*view);
                  }
                  return plan->plan.combine(queue, views, arrays, scratch, ran);
                });
}

detgemm_status_t detgemm_plan_describe(const detgemm_plan_t* plan, int64_t m, char* buffer,
                                       size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (Status s = check_m(m); !s) return s;
    return give_text(plan->plan.describe(m), buffer, size, needed);
  });
}

detgemm_status_t detgemm_plan_kernel(const detgemm_plan_t* plan, int64_t m, char* buffer,
                                     size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (Status s = check_m(m); !s) return s;
    return give_text(plan->plan.kernel(m), buffer, size, needed);
  });
}

detgemm_status_t detgemm_plan_digest(const detgemm_plan_t* plan, uint64_t* digest) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    if (digest == nullptr) return null_argument("digest", "a place for the answer");
    *digest = plan->plan.contract().digest();
    return {};
  });
}

detgemm_status_t detgemm_plan_spec(const detgemm_plan_t* plan, detgemm_gemm_spec_t* out) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    const GemmSpec& spec = plan->plan.spec();
    auto c = defaults<detgemm_gemm_spec_t>();
    c.op_a = static_cast<detgemm_op_t>(spec.op_a);
    c.op_b = static_cast<detgemm_op_t>(spec.op_b);
    c.n = spec.n;
    c.k = spec.k;
    c.contract = &plan->contract;
    c.activation = static_cast<detgemm_activation_t>(spec.activation);
    c.alpha = spec.alpha;
    c.beta = spec.beta;
    if (spec.bias) c.bias = static_cast<detgemm_dtype_t>(*spec.bias);
    c.continue_from_c = spec.continue_from_c ? 1 : 0;
    c.a_snapped = spec.a_snapped ? 1 : 0;
    c.b_snapped = spec.b_snapped ? 1 : 0;
    return write("out", c, out);
  });
}

detgemm_status_t detgemm_plan_options(const detgemm_plan_t* plan, detgemm_plan_options_t* out) {
  return guarded([&]() -> Status {
    if (Status s = check(plan); !s) return s;
    auto c = defaults<detgemm_plan_options_t>();
    c.max_workers = plan->plan.options().max_workers;
    c.variant = plan->plan.options().variant.c_str();
    c.stable = static_cast<detgemm_stable_t>(plan->plan.options().stable);
    c.serial_launch = plan->plan.options().serial_launch ? 1 : 0;
    c.tuning = plan->tuning ? &*plan->tuning : nullptr;
    return write("out", c, out);
  });
}

const detgemm_backend_t* detgemm_plan_backend(const detgemm_plan_t* plan) {
  const auto status = guarded([&] { return check(plan); });
  return status == DETGEMM_OK ? handle_of(&plan->plan.backend()) : nullptr;
}

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/grouped.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "core/capi/descriptors.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/run_info.hpp"
#include "core/capi/text.hpp"
#include "detgemm/detgemm_grouped.h"

/// What is behind the C interface's opaque plan for groups.
struct detgemm_grouped_plan_t {
  static constexpr std::uint64_t kMagic = 0x70756f72676d6764;  // "dgmgroup" as bytes

  explicit detgemm_grouped_plan_t(detgemm::GroupedPlan made) : plan(std::move(made)) {}
  detgemm_grouped_plan_t(const detgemm_grouped_plan_t&) = delete;
  detgemm_grouped_plan_t& operator=(const detgemm_grouped_plan_t&) = delete;
  ~detgemm_grouped_plan_t() { magic = 0; }

  volatile std::uint64_t magic = kMagic;  // first; volatile, so that its last write stays
  detgemm::GroupedPlan plan;
};

namespace detgemm::capi {

template <>
struct Descriptor<detgemm_grouped_operands_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_grouped_operands_t, c_group);
};
}  // namespace detgemm::capi

DETGEMM_STRUCT(grouped_spec, spec, ours.groups = 1)
DETGEMM_STRUCT(grouped_operands, operands)

namespace detgemm::capi {
namespace {

Status check_plan(const detgemm_grouped_plan_t* handle) {
  if (handle == nullptr) return null_argument("plan", "a plan");
  if (handle->magic == detgemm_grouped_plan_t::kMagic) return {};
  return invalid(
      "plan is not a plan's handle: it must be a result of detgemm_grouped_plan_create that "
      "detgemm_grouped_plan_destroy has not destroyed");
}

Result<GroupedSpec> grouped_spec_of(const detgemm_grouped_spec_t* given) {
  auto c = read("spec", given);
  if (!c) return c.status();
  auto gemm = spec_of("spec.gemm", c->gemm);
  if (!gemm) return gemm.status();
  GroupedSpec spec{*gemm, static_cast<GroupKind>(c->kind), c->groups};
  if (Status s = validate(spec); !s) return s;
  return spec;
}

Result<GroupedOperands> grouped_operands_of(const GroupedSpec& spec,
                                            const detgemm_grouped_operands_t* given) {
  auto c = read("operands", given);
  if (!c) return c.status();
  auto arrays = operands_of(spec.gemm, c->arrays, Inputs::a_and_b);
  if (!arrays) return arrays.status();
  GroupedOperands operands;
  operands.arrays = *arrays;
  operands.group = {c->a_group,    c->b_group,       c->d_group,      c->c_group,
                    c->bias_group, c->scale_a_group, c->scale_b_group};
  operands.offsets = {c->offsets, c->offset_count, static_cast<OffsetType>(c->offset_type)};
  return operands;
}

}  // namespace
}  // namespace detgemm::capi

using namespace detgemm;
using namespace detgemm::capi;

const char* detgemm_group_kind_name(detgemm_group_kind_t kind) {
  return interned(name(static_cast<GroupKind>(kind)));
}

detgemm_status_t detgemm_grouped_spec_validate(const detgemm_grouped_spec_t* spec) {
  return guarded([&] { return grouped_spec_of(spec).status(); });
}

detgemm_status_t detgemm_grouped_operands_validate(const detgemm_grouped_spec_t* spec,
                                                   const detgemm_grouped_operands_t* operands) {
  return guarded([&]() -> Status {
    auto problem = grouped_spec_of(spec);
    if (!problem) return problem.status();
    auto arrays = grouped_operands_of(*problem, operands);
    if (!arrays) return arrays.status();
    return validate(*problem, *arrays);
  });
}

detgemm_status_t detgemm_backend_supports_grouped(const detgemm_backend_t* backend,
                                                  const detgemm_grouped_spec_t* spec) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    auto problem = grouped_spec_of(spec);
    if (!problem) return problem.status();
    return backend_of(backend).supports_grouped(*problem);
  });
}

detgemm_status_t detgemm_grouped_plan_create(const detgemm_backend_t* backend,
                                             const detgemm_grouped_spec_t* spec,
                                             const detgemm_plan_options_t* options,
                                             detgemm_grouped_plan_t** plan) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan", "a place for the answer");
    *plan = nullptr;
    if (Status s = check(backend); !s) return s;
    auto problem = grouped_spec_of(spec);
    if (!problem) return problem.status();
    auto choices = plan_options_of("options", options);
    if (!choices) return choices.status();
    auto made = GroupedPlan::create(backend_of(backend), *problem, *choices);
    if (!made) return made.status();
    *plan = new detgemm_grouped_plan_t(*std::move(made));
    return {};
  });
}

void detgemm_grouped_plan_destroy(detgemm_grouped_plan_t* plan) {
  if (plan == nullptr) return;
  if (guarded([&] { return check_plan(plan); }) == DETGEMM_OK) delete plan;
}

detgemm_status_t detgemm_grouped_plan_workspace_size(const detgemm_grouped_plan_t* plan,
                                                     int64_t max_m, int64_t max_k, size_t* bytes) {
  return guarded([&]() -> Status {
    if (Status s = check_plan(plan); !s) return s;
    if (bytes == nullptr) return null_argument("bytes", "a place for the answer");
    auto needed = plan->plan.workspace_bytes(max_m, max_k);
    if (!needed) return needed.status();
    *bytes = *needed;
    return {};
  });
}

detgemm_status_t detgemm_grouped_plan_run(const detgemm_grouped_plan_t* plan,
                                          const detgemm_stream_t* stream,
                                          const detgemm_grouped_operands_t* operands,
                                          void* workspace, size_t workspace_bytes,
                                          detgemm_run_info_t* info) {
  return guarded([&]() -> Status {
    if (Status s = check_plan(plan); !s) return s;
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto arrays = grouped_operands_of(plan->plan.spec(), operands);
    if (!arrays) return arrays.status();
    return tell(info, [&](RunInfo* ran) {
      return plan->plan.run(*queue, *arrays, {workspace, workspace_bytes}, ran);
    });
  });
}

detgemm_status_t detgemm_grouped_plan_check(const detgemm_grouped_plan_t* plan,
                                            const detgemm_stream_t* stream,
                                            const detgemm_grouped_operands_t* operands) {
  return guarded([&]() -> Status {
    if (Status s = check_plan(plan); !s) return s;
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto arrays = grouped_operands_of(plan->plan.spec(), operands);
    if (!arrays) return arrays.status();
    return plan->plan.check(*queue, *arrays);
  });
}

detgemm_status_t detgemm_grouped_plan_describe(const detgemm_grouped_plan_t* plan, int64_t m,
                                               int64_t k, char* buffer, size_t size,
                                               size_t* needed) {
  return guarded([&]() -> Status {
    if (Status s = check_plan(plan); !s) return s;
    auto unused = plan->plan.workspace_bytes(m, k);
    if (!unused) return unused.status();
    return give_text(plan->plan.describe(m, k), buffer, size, needed);
  });
}

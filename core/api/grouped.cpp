// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/grouped.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "core/api/good_calls.hpp"
#include "core/api/grouped_checks.hpp"
#include "core/api/grouped_loop.hpp"
#include "core/api/plan_checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"

namespace detgemm {

using arithmetic::FloatingPointMode;  // as in plan.cpp

GroupedPlanImpl::~GroupedPlanImpl() = default;
bool GroupedPlanImpl::waits_for_offsets() const { return false; }

// A backend without kernels over groups computes them one after the other.

Status Backend::supports_grouped(const GroupedSpec& spec) const { return supports(spec.gemm); }

std::vector<std::string> Backend::grouped_variants(const GroupedSpec& spec) const {
  return variants(spec.gemm);
}

Result<std::shared_ptr<const GroupedPlanImpl>> Backend::make_grouped_plan(
    const GroupedSpec& spec, const PlanOptions& options) const {
  return make_grouped_loop(*this, spec, options);
}

struct GroupedPlan::State {
  const Backend* backend;
  GroupedSpec spec;
  PlanOptions options;
  std::shared_ptr<const GroupedPlanImpl> impl;
  std::uint64_t number = new_plan_number();
};

namespace {

Status check_sizes(const GroupedSpec& spec, std::int64_t max_m, std::int64_t max_k) {
  if (max_m < 0) {
    return invalid("max_m is " + std::to_string(max_m) + ": it must not be negative");
  }
  if (max_k < 0) {
    return invalid("max_k is " + std::to_string(max_k) + ": it must not be negative");
  }
  if (max_k == 0 || spec.kind == GroupKind::k_grouped) return {};
  return invalid("max_k is " + std::to_string(max_k) + ": it must be 0 for " +
                 std::string(name(spec.kind)) + ", whose plan has k");
}

std::int64_t products_of(const GroupedSpec& spec, const GroupedOperands& operands) {
  if (spec.kind != GroupKind::k_grouped) return 0;
  const ConstMatrix& a = operands.arrays.a;
  return spec.gemm.op_a == Op::transpose ? a.rows : a.cols;
}

}  // namespace

Result<GroupedPlan> GroupedPlan::create(const Backend& backend, const GroupedSpec& spec,
                                        const PlanOptions& options) try {
  const FloatingPointMode ieee;
  if (Status s = validate(spec); !s) return s;
  if (Status s = backend.available(); !s) return s;
  if (Status s = backend.supports_grouped(spec); !s) return s;
  std::vector<std::string> known;
  if (!options.variant.empty()) known = backend.grouped_variants(spec);
  if (Status s = check_options(backend, options, known, "these groups"); !s) return s;
  auto impl = backend.make_grouped_plan(spec, options);
  if (!impl) return impl.status();
  return GroupedPlan(
      std::make_shared<const State>(State{&backend, spec, options, *std::move(impl)}));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<std::size_t> GroupedPlan::workspace_bytes(std::int64_t max_m, std::int64_t max_k) const {
  if (Status s = check_sizes(state_->spec, max_m, max_k); !s) return s;
  const FloatingPointMode ieee;
  return state_->impl->workspace_bytes(max_m, max_k);
}

Status GroupedPlan::run(Stream stream, const GroupedOperands& operands, Workspace workspace,
                        RunInfo* info) const try {
  const FloatingPointMode ieee;
  const GroupedSpec& spec = state_->spec;
  if (Status s = check_stream(*state_->backend, stream); !s) return s;
  static thread_local GoodCalls<GroupedOperands> good_calls;
  auto& known = good_calls.entry_of(state_->number, operands.arrays);
  if (!known.is(state_->number, operands, workspace)) {
    GroupExtents at;
    if (Status s = check_groups(spec, operands, at); !s) return s;
    const std::size_t needed =
        state_->impl->workspace_bytes(operands.arrays.d.rows, products_of(spec, operands));
    if (Status s = check_grouped_workspace(workspace, needed, at); !s) return s;
    known = {state_->number, operands, workspace, needed};
  }
  if (operands.arrays.d.rows == 0 || spec.gemm.n == 0) {
    return no_outputs(info);
  }
  return state_->impl->run(stream, operands, {workspace.data, known.used}, info);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status GroupedPlan::check(Stream stream, const GroupedOperands& operands) const try {
  const GroupedSpec& spec = state_->spec;
  if (Status s = check_stream(*state_->backend, stream); !s) return s;
  if (Status s = validate(spec, operands); !s) return s;
  if (operands.offsets.size == 0) return {};
  const auto values = read_offsets(state_->backend->device(), stream, operands.offsets);
  if (!values) return values.status();
  return check_offset_values(spec, operands, *values);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

const GroupedSpec& GroupedPlan::spec() const noexcept { return state_->spec; }
const Backend& GroupedPlan::backend() const noexcept { return *state_->backend; }
const PlanOptions& GroupedPlan::options() const noexcept { return state_->options; }
bool GroupedPlan::waits_for_offsets() const noexcept { return state_->impl->waits_for_offsets(); }
std::string GroupedPlan::kernel(std::int64_t m) const {
  const FloatingPointMode ieee;
  return state_->impl->kernel(std::max<std::int64_t>(m, 0));
}

std::string GroupedPlan::describe(std::int64_t m, std::int64_t k) const {
  const GroupedSpec& spec = state_->spec;
  const bool by_k = spec.kind == GroupKind::k_grouped;
  const Contract& contract = spec.gemm.contract;
  std::string text = "contract   " + contract.text() + "\n";
  text += "digest     " + hex(contract.digest()) + "\n";
  text += "evidence   " + std::string(evidence(contract.arithmetic)) + "\n";
  text += "problem    " + std::string(name(spec.kind)) + ", " + std::to_string(spec.groups) +
          (spec.groups == 1 ? " group" : " groups") + ", m = " + std::to_string(m) +
          ", n = " + std::to_string(spec.gemm.n) +
          ", k = " + std::to_string(by_k ? k : spec.gemm.k) + (by_k ? " of all groups" : "") +
          ", A " + std::string(name(spec.gemm.op_a)) + ", B " + std::string(name(spec.gemm.op_b)) +
          "\n";
  text += "backend    " + std::string(state_->backend->name()) + "\n";
  text += "kernel     " + kernel(m) + "\n";
  if (spec.kind != GroupKind::batched) {
    text += waits_for_offsets() ? "offsets    read by the host, which waits for the stream\n"
                                : "offsets    read as it runs; nothing waits for them\n";
  }
  const auto bytes = workspace_bytes(m, by_k ? k : 0);
  text += "workspace  " + (bytes ? std::to_string(*bytes) + " bytes" : bytes.status().message());
  return text + "\n";
}

}  // namespace detgemm

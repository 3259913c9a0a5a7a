// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/plan.hpp"

#include <algorithm>
#include <new>

#include "core/api/checks.hpp"

namespace detgemm {

Backend::~Backend() = default;
PlanImpl::~PlanImpl() = default;

struct Plan::State {
  const Backend* backend;
  GemmSpec spec;
  PlanOptions options;
  std::shared_ptr<const PlanImpl> impl;
};

namespace {

Status check_variant(const Backend& backend, const GemmSpec& spec, const PlanOptions& options) {
  if (options.max_workers < 0) {
    return invalid("max_workers is " + std::to_string(options.max_workers) +
                   ": it must be 0 (all) or positive");
  }
  if (options.variant.empty()) return {};
  const auto known = backend.variants(spec);
  if (std::find(known.begin(), known.end(), options.variant) != known.end()) return {};
  std::string list;
  for (const auto& variant : known) list += (list.empty() ? "" : ", ") + variant;
  return {Errc::not_found, "variant is \"" + options.variant +
                               "\": " + std::string(backend.name()) + " has " +
                               (list.empty() ? "none" : list) + " for this problem"};
}

Status check_stream(const Backend& backend, Stream stream) {
  const DeviceKind kind = backend.device().kind();
  if (stream.kind == kind) return {};
  return invalid("stream.kind is " + std::string(name(stream.kind)) + ": backend " +
                 std::string(backend.name()) + " needs " + std::string(name(kind)));
}

Status out_of_memory() { return {Errc::internal, "host memory is exhausted"}; }

}  // namespace

Result<Plan> Plan::create(const Backend& backend, const GemmSpec& spec,
                          const PlanOptions& options) try {
  if (Status s = validate(spec); !s) return s;
  if (Status s = backend.available(); !s) return s;
  if (Status s = backend.supports(spec); !s) return s;
  if (Status s = check_variant(backend, spec, options); !s) return s;
  auto impl = backend.make_plan(spec, options);
  if (!impl) return impl.status();
  return Plan(std::make_shared<const State>(State{&backend, spec, options, *std::move(impl)}));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<std::size_t> Plan::workspace_bytes(std::int64_t max_m) const {
  if (max_m < 0) {
    return invalid("max_m is " + std::to_string(max_m) + ": it must not be negative");
  }
  return state_->impl->workspace_bytes(max_m);
}

Status Plan::run(Stream stream, const Operands& operands, Workspace workspace, RunInfo* info) const
    try {
  const GemmSpec& spec = state_->spec;
  if (Status s = check_stream(*state_->backend, stream); !s) return s;
  if (Status s = validate(spec, operands); !s) return s;
  const std::size_t needed = state_->impl->workspace_bytes(operands.d.rows);
  if (Status s = check_workspace(workspace, needed, operands, spec, true); !s) return s;
  if (operands.d.rows == 0 || spec.n == 0) {
    if (info != nullptr) info->kernel = "none (no outputs)";
    return {};
  }
  return state_->impl->run(stream, operands, workspace, info);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status Plan::combine(Stream stream, std::span<const ConstMatrix> roots, const Operands& operands,
                     Workspace workspace, RunInfo* info) const try {
  const GemmSpec& spec = state_->spec;
  if (spec.contract.reduction.kind != ReductionKind::tree) {
    return unsupported("contract is " + spec.contract.text() +
                       ": only a tree has roots to combine");
  }
  if (Status s = check_stream(*state_->backend, stream); !s) return s;
  if (roots.empty() || (roots.size() & (roots.size() - 1)) != 0) {
    return invalid("roots.size() is " + std::to_string(roots.size()) +
                   ": it must be a power of two");
  }
  if (Status s = check_output_side(spec, operands); !s) return s;
  const Extent out = extent_of(ConstMatrix(operands.d));
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::string what = "roots[" + std::to_string(i) + "]";
    if (Status s = check_view(what, roots[i]); !s) return s;
    if (roots[i].dtype != DType::fp32 || roots[i].rows != operands.d.rows ||
        roots[i].cols != spec.n) {
      return invalid(what + " is " + std::to_string(roots[i].rows) + " x " +
                     std::to_string(roots[i].cols) + " " + std::string(name(roots[i].dtype)) +
                     ": it must be fp32 and m x n = " + std::to_string(operands.d.rows) + " x " +
                     std::to_string(spec.n));
    }
    if (out.overlaps(extent_of(roots[i])))
      return invalid("d overlaps " + what + ": it must lie apart");
  }
  const std::size_t needed = state_->impl->workspace_bytes(operands.d.rows);
  if (Status s = check_workspace(workspace, needed, operands, spec, false); !s) return s;
  if (operands.d.rows == 0 || spec.n == 0) return {};
  return state_->impl->combine(stream, roots, operands, workspace, info);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

const GemmSpec& Plan::spec() const noexcept { return state_->spec; }
const Backend& Plan::backend() const noexcept { return *state_->backend; }
const PlanOptions& Plan::options() const noexcept { return state_->options; }
std::string Plan::kernel(std::int64_t m) const { return state_->impl->kernel(m); }

std::string Plan::describe(std::int64_t m) const {
  const GemmSpec& spec = state_->spec;
  std::string text = "contract   " + spec.contract.text() + "\n";
  text += "digest     " + hex(spec.contract.digest()) + "\n";
  text += "evidence   " + std::string(evidence(spec.contract.arithmetic)) + "\n";
  text += "problem    m = " + std::to_string(m) + ", n = " + std::to_string(spec.n) +
          ", k = " + std::to_string(spec.k) + ", A " + std::string(name(spec.op_a)) + ", B " +
          std::string(name(spec.op_b)) + "\n";
  text += "leaves     " + std::to_string(spec.contract.leaves(spec.k)) + "\n";
  text += "backend    " + std::string(state_->backend->name()) + "\n";
  text += "kernel     " + kernel(m) + "\n";
  text += "workspace  " + std::to_string(m < 0 ? 0 : state_->impl->workspace_bytes(m)) + " bytes\n";
  return text;
}

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <vector>

#include "core/api/checks.hpp"
#include "core/api/good_calls.hpp"
#include "core/api/plan_checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"
#include "core/arithmetic/step.hpp"
#include "core/contract/cover.hpp"
#include "detgemm/peers.hpp"
#include "detgemm/tuning.hpp"

namespace detgemm {

// What a backend decides and computes on this thread is in this mode, whatever the caller's is.
using arithmetic::FloatingPointMode;

Backend::~Backend() = default;
PlanImpl::~PlanImpl() = default;
PeerWindow::~PeerWindow() = default;
PeerMemory::~PeerMemory() = default;
PeerEngine::~PeerEngine() = default;
const PeerEngine* Backend::peers() const noexcept { return nullptr; }
Result<Verification> Backend::verify(const Contract&) const {
  return unsupported(std::string(name()) + ": this backend has no pinned products");
}

// A member function on what may be no object would be undefined, so the mark is read as bytes: it
// is the first member, behind the pointer to the virtual functions.
bool Backend::is_at(const void* address) noexcept {
  std::uint64_t mark;
  std::memcpy(&mark, static_cast<const std::byte*>(address) + sizeof(void*), sizeof mark);
  return mark == kMark;
}

Status PlanImpl::check(Stream, const Operands&, Workspace) const { return {}; }
std::size_t PlanImpl::fast_workspace_bytes(const Operands& operands) const {
  return workspace_bytes(operands.d.rows);
}
std::size_t PlanImpl::fast_workspace_bound(std::int64_t max_m) const {
  return workspace_bytes(max_m);
}

struct Plan::State {
  const Backend* backend;
  GemmSpec spec;
  PlanOptions options;
  std::shared_ptr<const PlanImpl> impl;
  std::uint64_t number = new_plan_number();
};

namespace {

Status check_max_m(std::int64_t max_m) {
  if (max_m >= 0) return {};
  return invalid("max_m is " + std::to_string(max_m) + ": it must not be negative");
}

Status check_tree(const Contract& contract) {
  if (contract.reduction.kind == ReductionKind::tree) return {};
  return unsupported("contract is " + contract.text() + ": only a tree has roots to combine");
}

/// The bytes of workspace that a call uses, or the rule that its arguments break.
Result<std::size_t> check_call(const PlanImpl& impl, const GemmSpec& spec, const Operands& operands,
                               const Workspace& workspace) {
  if (Status s = validate(spec, operands); !s) return s;
  std::size_t used = impl.workspace_bytes(operands.d.rows);
  if (workspace.data != nullptr && workspace.bytes > used) {
    const std::size_t fast = impl.fast_workspace_bytes(operands);
    if (workspace.bytes >= fast) used = fast;
  }
  const std::array<NamedView, 2> inputs{{{"a", operands.a}, {"b", operands.b}}};
  if (Status s = check_workspace(workspace, used, spec, operands, inputs); !s) return s;
  return used;
}

/// The options with the tuning that the plan takes: its own, or that of the process.
Result<PlanOptions> with_tuning(const Backend& backend, const PlanOptions& options) {
  PlanOptions all = options;
  if (all.tuning == nullptr) {
    all.tuning = tuning_in_use();
    if (all.tuning != nullptr && &all.tuning->backend() != &backend) all.tuning = nullptr;
  } else if (&all.tuning->backend() != &backend) {
    return invalid("tuning.backend is " + std::string(all.tuning->backend().name()) +
                   ": it must be the plan's own, " + std::string(backend.name()));
  }
  return all;
}

}  // namespace

Result<Plan> Plan::create(const Backend& backend, const GemmSpec& spec,
                          const PlanOptions& options) try {
  const FloatingPointMode ieee;
  if (Status s = validate(spec); !s) return s;
  if (Status s = backend.available(); !s) return s;
  if (Status s = backend.supports(spec); !s) return s;
  std::vector<std::string> known;
  if (!options.variant.empty()) known = backend.variants(spec);
  if (Status s = check_options(backend, options, known, "this problem"); !s) return s;
  auto all = with_tuning(backend, options);
  if (!all) return all.status();
  auto impl = backend.make_plan(spec, *all);
  if (!impl) return impl.status();
  return Plan(
      std::make_shared<const State>(State{&backend, spec, *std::move(all), *std::move(impl)}));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<std::size_t> Plan::workspace_bytes(std::int64_t max_m) const {
  if (Status s = check_max_m(max_m); !s) return s;
  const FloatingPointMode ieee;
  return state_->impl->workspace_bytes(max_m);
}

Result<std::size_t> Plan::fast_workspace_bytes(const Operands& operands) const try {
  const FloatingPointMode ieee;
  if (Status s = validate(state_->spec, operands); !s) return s;
  return state_->impl->fast_workspace_bytes(operands);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<std::size_t> Plan::fast_workspace_bytes(std::int64_t max_m) const {
  if (Status s = check_max_m(max_m); !s) return s;
  const FloatingPointMode ieee;
  return state_->impl->fast_workspace_bound(max_m);
}

Status Plan::run(Stream stream, const Operands& operands, Workspace workspace, RunInfo* info) const
    try {
  const FloatingPointMode ieee;
  const GemmSpec& spec = state_->spec;
  if (Status s = check_stream(*state_->backend, stream); !s) return s;
  static thread_local GoodCalls<Operands> good_calls;
  auto& known = good_calls.entry_of(state_->number, operands);
  if (!known.is(state_->number, operands, workspace)) {
    const auto used = check_call(*state_->impl, spec, operands, workspace);
    if (!used) return used.status();
    known = {state_->number, operands, workspace, *used};
  }
  if (operands.d.rows == 0 || spec.n == 0) return no_outputs(info);
  return state_->impl->run(stream, operands, {workspace.data, known.used}, info);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status Plan::join(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                  Workspace workspace, RunInfo* info) const {
  const FloatingPointMode ieee;
  const GemmSpec& spec = state_->spec;
  std::vector<ConstMatrix> views;
  for (const TreeRoot& root : roots) views.push_back(root.root);
  if (Status s = check_stream(*state_->backend, stream); !s) return s;
  if (Status s = check_output_side(spec, operands); !s) return s;
  if (Status s = check_roots(spec, views, operands.d); !s) return s;
  std::vector<NamedView> inputs;
  for (const ConstMatrix& root : views) {
    inputs.push_back({"roots[" + std::to_string(inputs.size()) + "]", root});
  }
  const std::size_t needed = state_->impl->workspace_bytes(operands.d.rows);
  if (Status s = check_workspace(workspace, needed, spec, operands, inputs); !s) return s;
  if (operands.d.rows == 0 || spec.n == 0) return no_outputs(info);
  return state_->impl->combine(stream, roots, operands, workspace, info);
}

Status Plan::combine(Stream stream, std::span<const ConstMatrix> roots, const Operands& operands,
                     Workspace workspace, RunInfo* info) const try {
  if (Status s = check_tree(state_->spec.contract); !s) return s;
  if (Status s = check_root_count(state_->spec, roots.size()); !s) return s;
  std::vector<TreeRoot> list;
  for (const ConstMatrix& root : roots) {
    // The tree over 2^r equal ranges is perfect: root i ends a node for each 1 at the end of i.
    list.push_back({root, std::countr_one(list.size())});
  }
  return join(stream, list, operands, workspace, info);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status Plan::combine(Stream stream, std::span<const NodeRoot> roots, const Operands& operands,
                     Workspace workspace, RunInfo* info) const try {
  const GemmSpec& spec = state_->spec;
  if (Status s = check_tree(spec.contract); !s) return s;
  std::vector<LeafRange> nodes;
  for (const NodeRoot& root : roots) nodes.push_back(root.leaves);
  if (Status s = check_nodes(spec, nodes); !s) return s;
  std::vector<TreeRoot> list;
  const std::int64_t sums = arithmetic::sums_per_leaf(spec.contract.arithmetic);
  const std::int64_t all = spec.contract.leaves(spec.k) * sums;
  for (const NodeRoot& root : roots) {
    const LeafRange node{root.leaves.begin * sums, root.leaves.end * sums};
    list.push_back({root.root, nodes_closed_by(node, all)});
  }
  return join(stream, list, operands, workspace, info);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

const GemmSpec& Plan::spec() const noexcept { return state_->spec; }
const Backend& Plan::backend() const noexcept { return *state_->backend; }
const PlanOptions& Plan::options() const noexcept { return state_->options; }
std::string Plan::kernel(std::int64_t m) const {
  const FloatingPointMode ieee;
  return state_->impl->kernel(std::max<std::int64_t>(m, 0));
}

std::string Plan::describe(std::int64_t m) const {
  const FloatingPointMode ieee;
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
  const auto bytes = [](std::size_t count) { return std::to_string(count) + " bytes\n"; };
  const std::size_t needed = m < 0 ? 0 : state_->impl->workspace_bytes(m);
  const std::size_t fast = m < 0 ? 0 : state_->impl->fast_workspace_bound(m);
  text += "workspace  " + bytes(needed);
  if (fast > needed) text += "fast       up to " + bytes(fast);
  return text;
}

}  // namespace detgemm

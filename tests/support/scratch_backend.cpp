// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/scratch_backend.hpp"

#include <cstring>

#include "backends/skeleton/skeleton.hpp"

namespace detgemm {
namespace {

class ScratchPlan final : public PlanImpl {
 public:
  explicit ScratchPlan(std::shared_ptr<const PlanImpl> inner) : inner_(std::move(inner)) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    return 256 * static_cast<std::size_t>(max_m);
  }
  std::size_t fast_workspace_bytes(const Operands& operands) const override {
    return fast_workspace_bound(operands.d.rows);
  }
  std::size_t fast_workspace_bound(std::int64_t max_m) const override {
    return 512 * static_cast<std::size_t>(max_m);
  }
  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    std::memset(workspace.data, 0xff, workspace.bytes);  // all that it was given
    return inner_->run(stream, operands, {}, info);
  }
  Status combine(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override {
    std::memset(workspace.data, 0xff, workspace_bytes(operands.d.rows));
    return inner_->combine(stream, roots, operands, {}, info);
  }
  std::string kernel(std::int64_t m) const override { return inner_->kernel(m); }

 private:
  std::shared_ptr<const PlanImpl> inner_;
};

class ScratchBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "scratch"; }
  std::string_view description() const noexcept override { return "skeleton with a workspace"; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec&) const override { return {}; }
  Guarantees guarantees(const Contract& contract) const override {
    return skeleton_backend().guarantees(contract);
  }
  std::vector<std::string> variants(const GemmSpec& spec) const override {
    return skeleton_backend().variants(spec);
  }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    auto inner = skeleton_backend().make_plan(spec, options);
    if (!inner) return inner.status();
    return std::shared_ptr<const PlanImpl>(std::make_shared<ScratchPlan>(*inner));
  }
  Device& device() const noexcept override { return host_device(); }
};

}  // namespace

const Backend& scratch_backend() noexcept {
  static const ScratchBackend backend;
  return backend;
}

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/controls/faulty_backend.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "core/conformance/controls/control.hpp"

namespace detgemm::controls {
namespace {

class FaultyPlan final : public PlanImpl {
 public:
  FaultyPlan(const Fault& fault, const GemmSpec& spec, const PlanOptions& options)
      : fault_(fault), spec_(spec), options_(options) {}

  std::size_t workspace_bytes(std::int64_t) const override { return fault_.workspace; }

  Status run(Stream, const Operands& operands, Workspace workspace, RunInfo* info) const override {
    fault_.run({spec_, options_, operands, workspace});
    if (info != nullptr) info->kernel = kernel(operands.d.rows);
    return {};
  }

  Status combine(Stream, std::span<const TreeRoot> roots, const Operands& operands, Workspace,
                 RunInfo* info) const override {
    GemmArguments g = flatten(spec_, operands);
    if (fault_.combine_without_c) g.epilogue.beta = 0.0F;
    std::vector<float> values(roots.size());
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      for (std::size_t i = 0; i < roots.size(); ++i) {
        const Strides s = strides_of(roots[i].root, Op::none);
        values[i] = static_cast<const float*>(roots[i].root.data)[row * s.row + col * s.col];
      }
      if (fault_.join != nullptr) {
        finish_element(g, row, col, fault_.join(values));
      } else {
        combine_element(
            g, row, col, static_cast<std::int64_t>(values.size()),
            [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; },
            [&](std::int64_t i) { return roots[static_cast<std::size_t>(i)].closes; });
      }
    });
    if (info != nullptr) info->kernel = kernel(g.m);
    return {};
  }

  // Always the first name: right if there is one variant, and wrong if there are more.
  std::string kernel(std::int64_t) const override { return fault_.variants.front(); }

 private:
  const Fault& fault_;
  GemmSpec spec_;
  PlanOptions options_;
};

class FaultyGroupedPlan final : public GroupedPlanImpl {
 public:
  FaultyGroupedPlan(const GroupedSpec& spec, const Fault& fault) : spec_(spec), fault_(fault) {}
  std::size_t workspace_bytes(std::int64_t, std::int64_t) const override { return 0; }
  Status run(Stream, const GroupedOperands& operands, Workspace, RunInfo* info) const override {
    const GroupedArguments p = flatten(spec_, operands);
    const ScalePair all = flatten_scales(spec_.gemm, operands.arrays);
    GroupDistances distance = p.distance;
    if (fault_.groups_share_scales) distance.scale_b = 0;
    const ScalarStep step = step_of(spec_.gemm.contract);
    for (std::int64_t group = 0; group < p.groups; ++group) {
      const Segment part = part_of_group(p, group);
      GemmArguments g = arguments_of_group(p, group, part);
      if (fault_.groups != nullptr) fault_.groups(p, group, g);
      const ScalePair scales = scales_of_group(all, distance, group, part);
      for_outputs(g,
                  [&](std::int64_t row, std::int64_t col) { step.element(g, scales, row, col); });
    }
    if (info != nullptr) info->kernel = kernel(p.all.m);
    return {};
  }
  std::string kernel(std::int64_t) const override { return "scalar"; }

 private:
  GroupedSpec spec_;
  const Fault& fault_;
};

class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(const Fault& fault)
      : fault_(fault), name_("control:" + std::string(fault.name)) {}

  std::string_view name() const noexcept override { return name_; }
  std::string_view description() const noexcept override { return "an engine that must fail"; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec&) const override { return {}; }
  Guarantees guarantees(const Contract&) const override { return {}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return fault_.variants; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    return std::shared_ptr<const PlanImpl>(std::make_shared<FaultyPlan>(fault_, spec, options));
  }
  Status supports_grouped(const GroupedSpec&) const override { return {}; }
  Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions&) const override {
    return std::shared_ptr<const GroupedPlanImpl>(
        std::make_shared<FaultyGroupedPlan>(spec, fault_));
  }
  Status snap(Stream stream, const SnapSpec& spec, const ConstMatrix& from,
              const Matrix& to) const override {
    return honest().snap(stream, spec, from, to);
  }
  const LogProbEngine* log_prob() const noexcept override {
    return fault_.log_prob != nullptr ? fault_.log_prob : honest().log_prob();
  }
  Device& device() const noexcept override {
    return fault_.device != nullptr ? *fault_.device : host_device();
  }

 private:
  Fault fault_;
  std::string name_;
};

std::uint32_t load(const void* data, std::int64_t index, std::size_t size) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(data) + static_cast<std::size_t>(index) * size, size);
  return bits;
}

/// A packed copy of op(X), rows x cols, with every element changed.
std::vector<std::uint8_t> changed(const void* data, Strides s, std::int64_t rows, std::int64_t cols,
                                  DType type, std::uint32_t (*change)(std::uint32_t, DType)) {
  const std::size_t size = size_of(type);
  std::vector<std::uint8_t> copy(static_cast<std::size_t>(rows * cols) * size);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      const std::uint32_t bits = change(load(data, i * s.row + j * s.col, size), type);
      std::memcpy(copy.data() + static_cast<std::size_t>(i * cols + j) * size, &bits, size);
    }
  }
  return copy;
}

}  // namespace

const Backend* make_backend(const Fault& fault) {
  static std::vector<std::unique_ptr<const Backend>> kept;
  return kept.emplace_back(std::make_unique<FaultyBackend>(fault)).get();
}

ScalarStep step_of(const Contract& contract) {
  ScalarStep step{contract.input, nullptr, nullptr, nullptr};
  arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic A, DType T>() {
    step.load = [](const void* data, std::int64_t index) {
      return arithmetic::to_float<T>(static_cast<const arithmetic::Storage<T>*>(data)[index]);
    };
    step.chain = &chain_element<A, T>;
    step.element = &compute_element<A, T>;
  });
  return step;
}

void compute_honestly(const Run& run) { compute_with(run, run.spec.contract.reduction); }

void compute_with(const Run& run, const Reduction& reduction) {
  const ScalePair scales = flatten_scales(run.spec, run.operands);
  with_step(run, [&](GemmArguments g, const ScalarStep& step) {
    g.reduction = reduction;
    for_outputs(g, [&](std::int64_t row, std::int64_t col) { step.element(g, scales, row, col); });
  });
}

Reduction another(const Contract& contract) {
  const std::int64_t leaf = std::max<std::int64_t>(contract.reduction.leaf_k, 2 * contract.k_block);
  if (contract.reduction.kind == ReductionKind::chain) return {ReductionKind::fold, leaf};
  return {ReductionKind::chain, 0};
}

void compute_on_changed_inputs(const Run& run, std::uint32_t (*change)(std::uint32_t, DType)) {
  const ScalePair scales = flatten_scales(run.spec, run.operands);
  with_step(run, [&](GemmArguments g, const ScalarStep& step) {
    const auto a = changed(g.a, g.as, g.m, g.k, step.input, change);
    const auto b = changed(g.b, g.bs, g.k, g.n, step.input, change);
    g.a = a.data();
    g.b = b.data();
    g.as = {g.k, 1};
    g.bs = {g.n, 1};
    for_outputs(g, [&](std::int64_t row, std::int64_t col) { step.element(g, scales, row, col); });
  });
}

}  // namespace detgemm::controls

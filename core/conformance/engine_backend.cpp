// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/engine_backend.hpp"

#include <bit>
#include <cstring>

#include "core/conformance/case.hpp"
#include "core/conformance/engine_call.hpp"
#include "detgemm/grouped.hpp"
#include "detgemm/log_prob.hpp"

namespace detgemm::conformance {
namespace {

/// Hands the arrays to a callback and reads what it answers.
template <class Run>
Status call_engine(bool has_bias, Stream stream, const Operands& o, Workspace workspace,
                   RunInfo* info, Run&& run) {
  Sentence sentence{};
  Sentence kernel{};
  detgemm_engine_call c{};
  c.struct_size = sizeof c;
  c.a = to_c(o.a);
  c.b = to_c(o.b);
  c.c = to_c(o.c);
  c.d = to_c(o.d);
  c.bias = has_bias ? o.bias.data : nullptr;
  c.stream = stream.handle;
  c.workspace = workspace.data;
  c.workspace_bytes = workspace.bytes;
  c.kernel = kernel.data();
  c.kernel_size = kernel.size();
  c.sentence = sentence.data();
  c.sentence_size = sentence.size();
  c.scale_a = to_c(o.scale_a);
  c.scale_b = to_c(o.scale_b);
  if (const int code = run(c); code != 0) {
    return {Errc::internal, "the engine returned " + std::to_string(code) + ": " +
                                text_of(sentence, "it gave no sentence")};
  }
  if (info != nullptr) info->kernel = text_of(kernel, "");
  return {};
}

class EnginePlan final : public PlanImpl {
 public:
  EnginePlan(const detgemm_engine& engine, const GemmSpec& spec, const PlanOptions& options)
      : engine_(engine), spec_(spec, options), has_bias_(spec.bias.has_value()) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    return engine_.workspace_bytes == nullptr ? 0 : engine_.workspace_bytes(&spec_.c, max_m);
  }

  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    return call_engine(has_bias_, stream, operands, workspace, info,
                       [&](const detgemm_engine_call& c) { return engine_.run(&spec_.c, &c); });
  }

  Status combine(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override {
    if (engine_.combine == nullptr) {
      return unsupported(std::string("engine \"") + engine_.name + "\" has no combine callback");
    }
    std::vector<detgemm_engine_matrix> list;
    for (const auto& [root, closes] : roots) {
      if (closes != std::countr_one(list.size())) {
        return unsupported(std::string("engine \"") + engine_.name +
                           "\" joins the roots of equal ranges alone");
      }
      list.push_back(to_c(root));
    }
    return call_engine(has_bias_, stream, operands, workspace, info,
                       [&](const detgemm_engine_call& c) {
                         return engine_.combine(&spec_.c, list.data(), list.size(), &c);
                       });
  }

  // An engine has no function that predicts its kernel.
  std::string kernel(std::int64_t) const override { return ""; }

 private:
  const detgemm_engine& engine_;
  CSpec spec_;
  bool has_bias_;
};

/// The kind and the number of groups; the rest is 0.
detgemm_engine_groups to_c(const GroupedSpec& spec) {
  detgemm_engine_groups g{};
  g.struct_size = sizeof g;
  g.kind = static_cast<std::int32_t>(spec.kind);
  g.count = spec.groups;
  return g;
}

class EngineGroupedPlan final : public GroupedPlanImpl {
 public:
  EngineGroupedPlan(const detgemm_engine& engine, const GroupedSpec& spec,
                    const PlanOptions& options)
      : engine_(engine),
        spec_(spec.gemm, options),
        groups_(to_c(spec)),
        has_bias_(spec.gemm.bias.has_value()) {}

  std::size_t workspace_bytes(std::int64_t max_m, std::int64_t max_k) const override {
    if (engine_.groups_workspace_bytes == nullptr) return 0;
    return engine_.groups_workspace_bytes(&spec_.c, &groups_, max_m, max_k);
  }
  Status run(Stream stream, const GroupedOperands& operands, Workspace workspace,
             RunInfo* info) const override {
    detgemm_engine_groups g = groups_;
    const GroupDistances& far = operands.group;
    g.offset_type = static_cast<std::int32_t>(operands.offsets.type);
    g.offsets = operands.offsets.data;
    g.a = far.a, g.b = far.b, g.c = far.c, g.d = far.d, g.bias = far.bias;
    g.scale_a = far.scale_a, g.scale_b = far.scale_b;
    return call_engine(
        has_bias_, stream, operands.arrays, workspace, info,
        [&](const detgemm_engine_call& c) { return engine_.run_groups(&spec_.c, &g, &c); });
  }
  std::string kernel(std::int64_t) const override { return ""; }

 private:
  const detgemm_engine& engine_;
  CSpec spec_;
  detgemm_engine_groups groups_;
  bool has_bias_;
};

class EngineBackend final : public Backend {
 public:
  explicit EngineBackend(const detgemm_engine& engine)
      : engine_(engine),
        name_(engine.name),
        description_(engine.description == nullptr ? "" : engine.description),
        device_(engine.device != 0 ? make_engine_device(engine_) : nullptr),
        log_prob_(engine.log_probs != nullptr ? make_engine_log_prob(engine_) : nullptr) {}

  std::string_view name() const noexcept override { return name_; }
  std::string_view description() const noexcept override { return description_; }
  Status available() const override { return {}; }

  Status supports(const GemmSpec& spec) const override {
    if (Status s = takes(spec); !s) return s;
    const CSpec c(spec, {});
    Sentence sentence{};
    if (engine_.supports(&c.c, sentence.data(), sentence.size()) == 0) return {};
    return unsupported(text_of(sentence, "the engine refused without a sentence"));
  }
  Guarantees guarantees(const Contract&) const override { return {}; }

  std::vector<std::string> variants(const GemmSpec& spec) const override {
    std::vector<std::string> list;
    if (engine_.variant == nullptr) return list;
    const CSpec c(spec, {});
    for (std::size_t i = 0; i <= kMaxVariants; ++i) {  // for an engine that never returns NULL
      const char* variant = engine_.variant(&c.c, i);
      if (variant == nullptr) break;
      // Cut, a long name does no harm, and the property `variants` says that it is one.
      list.emplace_back(variant, strnlen(variant, kMaxVariantName + 1));
    }
    return list;
  }

  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    return std::shared_ptr<const PlanImpl>(std::make_shared<EnginePlan>(engine_, spec, options));
  }

  // The harness could run it group by group, and would learn nothing of the engine.
  Status supports_grouped(const GroupedSpec& spec) const override {
    if (engine_.supports_groups == nullptr || engine_.run_groups == nullptr) {
      return unsupported("engine \"" + name_ + "\" has no run_groups callback: it is not given " +
                         std::string(detgemm::name(spec.kind)) + " problems");
    }
    if (Status s = takes(spec.gemm); !s) return s;
    const CSpec c(spec.gemm, {});
    const detgemm_engine_groups groups = to_c(spec);
    Sentence sentence{};
    if (engine_.supports_groups(&c.c, &groups, sentence.data(), sentence.size()) == 0) return {};
    return unsupported(text_of(sentence, "the engine refused without a sentence"));
  }
  std::vector<std::string> grouped_variants(const GroupedSpec&) const override { return {}; }
  Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions& options) const override {
    return std::shared_ptr<const GroupedPlanImpl>(
        std::make_shared<EngineGroupedPlan>(engine_, spec, options));
  }

  Device& device() const noexcept override { return device_ ? *device_ : host_device(); }
  const LogProbEngine* log_prob() const noexcept override { return log_prob_.get(); }

 private:
  /// What older engines do not look at, and would compute wrongly, only those get that say so.
  Status takes(const GemmSpec& spec) const {
    const auto lacks = [&](bool asked, std::uint64_t bit) {
      return asked && (engine_.takes & bit) == 0;
    };
    const auto refuse = [&](const std::string& what, const char* bit) {
      return unsupported("engine \"" + name_ + "\": " + what + ", and its table's takes lacks " +
                         bit);
    };
    if (lacks(spec.contract.reduction.kind == ReductionKind::scaled, DETGEMM_ENGINE_SCALES)) {
      return refuse("contract is " + spec.contract.text() + ", which reads scales",
                    "DETGEMM_ENGINE_SCALES");
    }
    if (lacks(spec.line_scales, DETGEMM_ENGINE_LINE_SCALES)) {
      return refuse("line_scales is true", "DETGEMM_ENGINE_LINE_SCALES");
    }
    if (lacks(spec.a_snapped || spec.b_snapped, DETGEMM_ENGINE_SNAPPED)) {
      return refuse(spec.a_snapped ? "a_snapped is true" : "b_snapped is true",
                    "DETGEMM_ENGINE_SNAPPED");
    }
    return {};
  }

  detgemm_engine engine_;
  std::string name_;
  std::string description_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<LogProbEngine> log_prob_;
};

}  // namespace

std::unique_ptr<Backend> make_engine_backend(const detgemm_engine& engine) {
  return std::make_unique<EngineBackend>(engine);
}

}  // namespace detgemm::conformance

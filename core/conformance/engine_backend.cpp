// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/engine_backend.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "core/conformance/case.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::conformance {
namespace {

using Sentence = std::array<char, 512>;

/// The text that an engine wrote, made safe: it may lack the final 0, or be missing altogether.
std::string text_of(Sentence& buffer, const char* otherwise) {
  buffer.back() = '\0';
  return buffer.front() == '\0' ? otherwise : buffer.data();
}

detgemm_engine_matrix to_c(const ConstMatrix& m) {
  return {const_cast<void*>(m.data),          m.rows, m.cols, m.row_stride, m.col_stride,
          static_cast<std::int32_t>(m.dtype), 0};
}

/// The spec in C, with the strings that it points to.
struct CSpec {
  CSpec(const GemmSpec& spec, const PlanOptions& options)
      : contract(spec.contract.text()),
        arithmetic(name(spec.contract.arithmetic)),
        variant(options.variant) {
    c.struct_size = sizeof c;
    c.n = spec.n;
    c.k = spec.k;
    c.contract = contract.c_str();
    c.arithmetic = arithmetic.c_str();
    c.input = static_cast<std::int32_t>(spec.contract.input);
    c.output = static_cast<std::int32_t>(spec.contract.output);
    c.k_block = spec.contract.k_block;
    c.reduction = static_cast<std::int32_t>(spec.contract.reduction.kind);
    c.leaf_k = spec.contract.reduction.leaf_k;
    c.op_a = static_cast<std::int32_t>(spec.op_a);
    c.op_b = static_cast<std::int32_t>(spec.op_b);
    c.alpha = spec.alpha;
    c.beta = spec.beta;
    c.bias = spec.bias ? static_cast<std::int32_t>(*spec.bias) : -1;
    c.activation = static_cast<std::int32_t>(spec.activation);
    c.continue_from_c = spec.continue_from_c ? 1 : 0;
    c.max_workers = options.max_workers;
    c.variant = variant.c_str();
  }
  CSpec(const CSpec&) = delete;

  std::string contract, arithmetic, variant;
  detgemm_engine_spec c{};
};

class EnginePlan final : public PlanImpl {
 public:
  EnginePlan(const detgemm_engine& engine, const GemmSpec& spec, const PlanOptions& options)
      : engine_(engine), spec_(spec, options), has_bias_(spec.bias.has_value()) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    return engine_.workspace_bytes == nullptr ? 0 : engine_.workspace_bytes(&spec_.c, max_m);
  }

  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    return call(stream, operands, workspace, info,
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
    return call(stream, operands, workspace, info, [&](const detgemm_engine_call& c) {
      return engine_.combine(&spec_.c, list.data(), list.size(), &c);
    });
  }

  // An engine has no function that predicts its kernel.
  std::string kernel(std::int64_t) const override { return ""; }

 private:
  template <class Run>
  Status call(Stream stream, const Operands& o, Workspace workspace, RunInfo* info,
              Run&& run) const {
    Sentence sentence{};
    Sentence kernel{};
    detgemm_engine_call c{};
    c.struct_size = sizeof c;
    c.a = to_c(o.a);
    c.b = to_c(o.b);
    c.c = to_c(o.c);
    c.d = to_c(o.d);
    c.bias = has_bias_ ? o.bias.data : nullptr;
    c.stream = stream.handle;
    c.workspace = workspace.data;
    c.workspace_bytes = workspace.bytes;
    c.kernel = kernel.data();
    c.kernel_size = kernel.size();
    c.sentence = sentence.data();
    c.sentence_size = sentence.size();
    if (const int code = run(c); code != 0) {
      return {Errc::internal, "the engine returned " + std::to_string(code) + ": " +
                                  text_of(sentence, "it gave no sentence")};
    }
    if (info != nullptr) info->kernel = text_of(kernel, "");
    return {};
  }

  const detgemm_engine& engine_;
  CSpec spec_;
  bool has_bias_;
};

class EngineBackend final : public Backend {
 public:
  explicit EngineBackend(const detgemm_engine& engine)
      : engine_(engine),
        name_(engine.name),
        description_(engine.description == nullptr ? "" : engine.description),
        device_(engine.device != 0 ? make_engine_device(engine_) : nullptr) {}

  std::string_view name() const noexcept override { return name_; }
  std::string_view description() const noexcept override { return description_; }
  Status available() const override { return {}; }

  Status supports(const GemmSpec& spec) const override {
    if (spec.reads_scales()) {
      return unsupported("engine \"" + name_ + "\": contract is " + spec.contract.text() +
                         ": engines in C are not given scales");
    }
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
    return unsupported("engine \"" + name_ + "\": engines in C are not given " +
                       std::string(detgemm::name(spec.kind)) + " problems");
  }

  Device& device() const noexcept override { return device_ ? *device_ : host_device(); }

 private:
  detgemm_engine engine_;
  std::string name_;
  std::string description_;
  std::unique_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<Backend> make_engine_backend(const detgemm_engine& engine) {
  return std::make_unique<EngineBackend>(engine);
}

}  // namespace detgemm::conformance

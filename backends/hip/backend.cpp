// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/hip/device.hpp"
#include "backends/hip/plan.hpp"
#include "core/contract/in_words.hpp"
#include "detgemm/hip.hpp"

namespace detgemm {
namespace {

bool any_chip_computes(const Contract& contract) {
  if (contract.reduction.kind == ReductionKind::scaled) return false;
  for (const hip::Chip chip : hip::chips()) {
    if (hip::computes(chip, contract)) return true;
  }
  return false;
}

bool on_one_chip(const Contract& contract) {
  return contract.arithmetic == Arithmetic::cdna3 || contract.arithmetic == Arithmetic::cdna2;
}

/// Which contracts the chips of this build compute, and which compiler made the code of their
/// matrix cores: what was emulated was the code of one compiler.
std::string what_was_built() {
  // Chips that compute the same are named together.
  std::vector<std::pair<std::string, std::string>> groups;  // contracts, chips
  std::string others;
  const auto add = [&](const std::string& contracts, const std::string& chip) {
    if (contracts.empty()) return;
    const auto it = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& group) { return group.first == contracts; });
    if (it == groups.end()) {
      groups.emplace_back(contracts, chip);
    } else {
      it->second += ", " + chip;
    }
  };
  for (const hip::CodeObject& object : hip::code_objects()) {
    const std::string chip(hip::name(object.chip));
    // The matrix cores' own contracts first: the others are the same on every chip.
    for (const bool own : {true, false}) {
      add(contracts_in_words([&](const Contract& c) {
            return hip::computes(object.chip, c) && own == on_one_chip(c);
          }),
          chip);
    }
    if (!hip::has_matrix_kernels(object.chip) ||
        hip::is_of(object.compiler, hip::tested_compiler()))
      continue;
    others += "; the code for " + chip + " is of " + std::string(object.compiler) +
              ", and the tests executed that of " + std::string(hip::tested_compiler());
  }
  std::string text;
  for (const auto& [contracts, chips] : groups) {
    text += (text.empty() ? "" : "; ") + contracts + " on " + chips;
  }
  return (text.empty() ? "no chip in this build" : text) + others;
}

/// The chip of the current device, if there is one.
std::optional<hip::Chip> current_chip() {
  const auto device = hip::current_device();
  if (!device) return std::nullopt;
  const auto chip = hip::chip_of(*device);
  return chip ? std::optional(*chip) : std::nullopt;
}

/// Without a device there is no chip to ask, and the list has the kernels of all.
std::vector<std::string> names_of(std::span<const hip::KernelInfo> kernels) {
  const auto chip = current_chip();
  std::vector<std::string> list;
  for (const hip::KernelInfo& kernel : kernels) {
    if (!chip || hip::has(*chip, kernel.variant)) list.emplace_back(kernel.name);
  }
  return list;
}

bool has_group_kernels(const GroupedSpec& spec) {
  for (const hip::Chip chip : hip::chips()) {
    if (hip::computes_groups(chip, spec)) return true;
  }
  return false;
}

class HipBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "hip"; }
  std::string_view description() const noexcept override {
    static const std::string text = "AMD GPUs, not run on AMD hardware: " + what_was_built();
    return text;
  }
  Status available() const override {
    if (hip::code_objects().empty()) {
      return {
          Errc::unavailable,
          "hip: this library was built without HIP kernels: no clang with lld that compiles them "
          "was found, and DETGEMM_HIP_COMPILER named no other"};
    }
    return hip::Hip::available();
  }

  Status supports(const GemmSpec& spec) const override {
    const std::string text = spec.contract.text();
    if (spec.reads_scales()) {
      return unsupported("hip: contract is " + text +
                         ": this backend has no kernels with scales yet");
    }
    if (!any_chip_computes(spec.contract)) {
      return unsupported("hip: contract is " + text + ": this backend computes " +
                         contracts_in_words(any_chip_computes));
    }
    const auto device = hip::current_device();
    if (!device) return device.status();
    const auto chip = hip::chip_of(*device);
    if (!chip) return chip.status();
    if (hip::computes(*chip, spec.contract)) return {};
    std::string others;
    for (const hip::Chip other : hip::chips()) {
      if (hip::computes(other, spec.contract)) {
        others += (others.empty() ? "" : ", ") + std::string(hip::name(other));
      }
    }
    return unsupported("hip: device " + std::to_string(device->ordinal) + " (" + device->name +
                       ") is a " + device->processor() + ": " + text + " needs " + others +
                       ", and there is no fallback");
  }

  Guarantees guarantees(const Contract& contract) const override {
    if (!any_chip_computes(contract)) return {};
    return {true, true, true, true, true};
  }

  std::vector<std::string> variants(const GemmSpec& spec) const override {
    if (!any_chip_computes(spec.contract)) return {};
    return names_of(hip::kernels(spec.contract));
  }
  std::vector<std::string> grouped_variants(const GroupedSpec& spec) const override {
    if (!any_chip_computes(spec.gemm.contract)) return {};
    return has_group_kernels(spec) ? names_of(hip::group_kernels(spec.gemm.contract))
                                   : variants(spec.gemm);
  }

  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    const auto device = hip::current_device();
    if (!device) return device.status();
    return hip::make_plan(spec, options, *device);
  }

  /// What kernels over groups do not compute, a plan per group does.
  Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions& options) const override {
    if (!has_group_kernels(spec)) return Backend::make_grouped_plan(spec, options);
    const auto device = hip::current_device();
    if (!device) return device.status();
    return hip::make_grouped_plan(spec, options, *device);
  }

  Device& device() const noexcept override { return hip::hip_device(); }

  Status snap(Stream stream, const SnapSpec& spec, const ConstMatrix& from,
              const Matrix& to) const override {
    const auto device = hip::current_device();
    if (!device) return device.status();
    return hip::snap_matrix(gpu::handle<hip::Hip>(stream), spec, from, to, *device);
  }
};

}  // namespace

const Backend& hip_backend() noexcept {
  static const HipBackend backend;
  return backend;
}

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "backends/hip/device.hpp"
#include "backends/hip/plan.hpp"
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

/// The chips, and which compiler made the code of the matrix cores: what was emulated was the code
/// of one compiler.
std::string what_was_built() {
  std::string all;
  std::string others;
  for (const hip::CodeObject& object : hip::code_objects()) {
    const std::string chip(hip::name(object.chip));
    all += (all.empty() ? "" : ", ") + chip;
    if (!hip::has_matrix_kernels(object.chip) ||
        hip::is_of(object.compiler, hip::tested_compiler()))
      continue;
    others += "; the code for " + chip + " is of " + std::string(object.compiler) +
              ", and the tests executed that of " + std::string(hip::tested_compiler());
  }
  if (all.empty()) all = "no chip";
  return "cdna3 on gfx942 and cdna2 on gfx90a ({bf16,fp16}, matrix cores), ieee_fma on " + all +
         "; chain, fold, tree; snap/bf16 and snap3/{bf16,fp32} on the same chips: fold, tree" +
         others;
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
      return unsupported("hip: contract is " + text +
                         ": this backend computes cdna3 and cdna2 with bf16 and fp16, ieee_fma "
                         "with bf16, fp16 and fp32, snap with bf16, and snap3 with bf16 and fp32");
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
    // Without a device there is no chip to ask, and the list has the kernels of all.
    const auto device = hip::current_device();
    const auto chip = device ? hip::chip_of(*device) : Result<hip::Chip>(device.status());
    std::vector<std::string> list;
    for (const hip::KernelInfo& kernel : hip::kernels(spec.contract)) {
      if (!chip || hip::has(*chip, kernel.variant)) list.emplace_back(kernel.name);
    }
    return list;
  }

  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    const auto device = hip::current_device();
    if (!device) return device.status();
    return hip::make_plan(spec, options, *device);
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

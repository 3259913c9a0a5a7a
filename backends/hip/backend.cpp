// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "backends/hip/device.hpp"
#include "backends/hip/plan.hpp"
#include "detgemm/hip.hpp"

namespace detgemm {
namespace {

constexpr hip::Chip kChips[] = {hip::Chip::gfx90a, hip::Chip::gfx942, hip::Chip::gfx1100};

bool any_chip_computes(const Contract& contract) {
  for (const hip::Chip chip : kChips) {
    if (hip::computes(chip, contract)) return true;
  }
  return false;
}

class HipBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "hip"; }
  std::string_view description() const noexcept override {
    return "AMD GPUs, not run on AMD hardware: cdna3 on gfx942 and cdna2 on gfx90a "
           "({bf16,fp16}, matrix cores), ieee_fma on gfx90a, gfx942 and gfx1100; chain, fold, tree";
  }
  Status available() const override {
    if (hip::code_objects().empty()) {
      return {Errc::unavailable,
              "hip: this library was built without HIP kernels: no clang 19 or newer with lld was "
              "found, and DETGEMM_HIP_COMPILER named no other"};
    }
    return hip::Hip::available();
  }

  Status supports(const GemmSpec& spec) const override {
    const std::string text = spec.contract.text();
    if (!any_chip_computes(spec.contract)) {
      return unsupported("hip: contract is " + text +
                         ": this backend computes cdna3 and cdna2 with bf16 and fp16, and ieee_fma "
                         "with bf16, fp16 and fp32");
    }
    const auto device = hip::current_device();
    if (!device) return device.status();
    const auto chip = hip::chip_of(*device);
    if (!chip) return chip.status();
    if (hip::computes(*chip, spec.contract)) return {};
    std::string others;
    for (const hip::Chip other : kChips) {
      if (hip::computes(other, spec.contract)) {
        others += (others.empty() ? "" : ", ") + std::string(hip::name(other));
      }
    }
    return unsupported("hip: device " + std::to_string(device->ordinal) + " (" + device->name +
                       ") is a " + device->processor() + ": " + text + " needs " + others +
                       ", and nothing else runs in its place");
  }

  Guarantees guarantees(const Contract& contract) const override {
    if (!any_chip_computes(contract)) return {};
    return {true, true, true, true, true};
  }

  std::vector<std::string> variants(const GemmSpec& spec) const override {
    if (!any_chip_computes(spec.contract)) return {};
    std::vector<std::string> list;
    for (const hip::KernelInfo& kernel : hip::kernels(spec.contract))
      list.emplace_back(kernel.name);
    return list;
  }

  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    const auto device = hip::current_device();
    if (!device) return device.status();
    return hip::make_plan(spec, options, *device);
  }

  Device& device() const noexcept override { return hip::hip_device(); }
};

}  // namespace

const Backend& hip_backend() noexcept {
  static const HipBackend backend;
  return backend;
}

}  // namespace detgemm

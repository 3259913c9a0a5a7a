// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::test {

/// The skeleton on another device or with other plans: `wrap` makes a plan of each of its plans.
class WrappedSkeleton final : public Backend {
 public:
  using Inner = std::shared_ptr<const PlanImpl>;
  WrappedSkeleton(std::string_view name, Device& device, std::function<Inner(Inner)> wrap)
      : name_(name), device_(device), wrap_(std::move(wrap)) {}
  std::string_view name() const noexcept override { return name_; }
  std::string_view description() const noexcept override { return "the skeleton, wrapped"; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec& spec) const override { return skeleton_backend().supports(spec); }
  Guarantees guarantees(const Contract& contract) const override {
    return skeleton_backend().guarantees(contract);
  }
  std::vector<std::string> variants(const GemmSpec&) const override { return {"scalar"}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    auto inner = skeleton_backend().make_plan(spec, options);
    if (!inner) return inner.status();
    return wrap_(*std::move(inner));
  }
  Device& device() const noexcept override { return device_; }

 private:
  std::string_view name_;
  Device& device_;
  std::function<Inner(Inner)> wrap_;
};

}  // namespace detgemm::test

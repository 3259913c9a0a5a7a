// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "backends/cuda/devices.hpp"
#include "cuda/launch.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::cuda {

/// What plans share whatever kernels they run: the device, the arguments, the combine.
class DevicePlan : public PlanImpl {
 public:
  DevicePlan(const GemmSpec& spec, const LaunchOptions& options, int device)
      : spec_(spec), options_(options), device_(device) {}

  /// Joins roots on the device, whatever arithmetic made them; at most kMostRoots.
  Status combine(Stream stream, std::span<const ConstMatrix> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override;

 protected:
  const GemmSpec& spec() const { return spec_; }
  const LaunchOptions& options() const { return options_; }
  LaunchOptions options_on(Stream stream) const;
  int device() const { return device_; }

 private:
  GemmSpec spec_;
  LaunchOptions options_;
  int device_;
};

/// What the spec does not use is null, so that no kernel can come to read it.
GemmArguments arguments_of(const GemmSpec& spec, const Operands& operands);

/// Multiprocessors that a plan's kernels may use, and the index of options.variant in `kernels`.
LaunchOptions launch_options(const PlanOptions& options, const DeviceFacts& device,
                             std::span<const std::string> kernels);

}  // namespace detgemm::cuda

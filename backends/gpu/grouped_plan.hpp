// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "backends/gpu/plan.hpp"

namespace detgemm::gpu {

/// A plan over groups by kernels that take them: GpuPlan for GroupedPlan.
template <Multiplies K>
class GroupedGpuPlan final : public GroupedPlanImpl {
 public:
  using R = typename K::Runtime;

  GroupedGpuPlan(const GroupedSpec& spec, int device, K kernels)
      : spec_(spec), device_(device), kernels_(std::move(kernels)) {}

  std::size_t workspace_bytes(std::int64_t max_m, std::int64_t max_k) const override {
    return kernels_.workspace_bytes(spec_, max_m, max_k);
  }

  Status run(Stream stream, const GroupedOperands& operands, Workspace workspace,
             RunInfo* info) const override {
    const Problem problem = problem_of(spec_, operands);
    GemmSpec one = spec_.gemm;
    one.k = problem.g().k;
    if (Status s = check_call<R>(one, stream, operands.arrays, workspace, device_); !s) return s;
    if (spec_.kind != GroupKind::batched) {
      if (Status s = check_array<R>("offsets", operands.offsets.data, device_); !s) return s;
    }
    return launch(kernels_, problem, workspace, stream, info);
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.gemm.n == 0) return "none (no outputs)";
    return usual_kernel(kernels_, usual_problem(spec_, m), workspace_bytes(m, 0));
  }

 private:
  GroupedSpec spec_;
  int device_;
  K kernels_;
};

}  // namespace detgemm::gpu

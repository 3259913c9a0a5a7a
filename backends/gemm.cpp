// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <new>
#include <string>

#include "core/api/plan_checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/workspace.hpp"

namespace detgemm {
namespace {

GemmSpec spec_of(const ConstMatrix& a, const Matrix& d, const Contract& contract,
                 const GemmOptions& options) {
  GemmSpec spec;
  spec.n = d.cols;
  spec.k = options.op_a == Op::transpose ? a.rows : a.cols;
  spec.contract = contract;
  spec.op_a = options.op_a;
  spec.op_b = options.op_b;
  spec.alpha = options.alpha;
  spec.beta = options.beta;
  if (options.bias.data != nullptr) spec.bias = options.bias.dtype;
  spec.activation = options.activation;
  spec.continue_from_c = options.continue_from_c;
  spec.a_snapped = options.a_snapped;
  spec.b_snapped = options.b_snapped;
  const auto given = [](const BlockScales& s) { return s.data != nullptr || s.blocks != 0; };
  spec.line_scales = contract.reduction.kind != ReductionKind::scaled &&
                     (given(options.scale_a) || given(options.scale_b));
  return spec;
}

}  // namespace

Status gemm(Stream stream, const ConstMatrix& a, const ConstMatrix& b, const Matrix& d,
            const Contract& contract, const GemmOptions& options) try {
  const arithmetic::FloatingPointMode ieee;
  const ConstVector& bias = options.bias;
  if (bias.data == nullptr && bias.size != 0) {
    return invalid("bias.data is null and bias.size is " + std::to_string(bias.size) +
                   ": a bias that is not used has size 0");
  }
  const GemmSpec spec = spec_of(a, d, contract, options);
  if (Status s = validate(spec); !s) return s;
  if (Status s = check_kind("stream.kind", stream.kind); !s) return s;
  auto backend =
      options.backend.empty() ? first_backend(spec, stream.kind) : find_backend(options.backend);
  if (!backend) return backend.status();
  auto plan = Plan::create(
      **backend, spec,
      PlanOptions{options.variant, options.max_workers, options.stable, options.serial_launch});
  if (!plan) return plan.status();
  const Operands operands{a, b, d, options.c, bias, options.scale_a, options.scale_b};
  const Workspace& given = options.workspace;
  if (given.data != nullptr || given.bytes != 0 || stream.kind != DeviceKind::host) {
    return plan->run(stream, operands, given);
  }
  auto bytes = plan->fast_workspace_bytes(operands);
  if (!bytes) return bytes.status();
  const auto scratch = HostWorkspace::allocate(*bytes);
  if (!scratch) return scratch.status();
  return plan->run(stream, operands, *scratch);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <new>
#include <string>

#include "core/arithmetic/floating_point_mode.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/plan.hpp"

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

/// The named backend, or the first one in the registry that works on the stream's kind of memory
/// and supports the problem. The sentence lists every refusal. Its code is `unavailable` where no
/// backend can run here or now, which starting a Runtime may change, and `unsupported` where one
/// can run and does not compute the problem.
Result<const Backend*> choose(Stream stream, const GemmSpec& spec, const std::string& name_asked) {
  if (!name_asked.empty()) return find_backend(name_asked);
  std::string refusals;
  bool any_available = false;
  for (const Backend* backend : backends()) {
    if (backend->device().kind() != stream.kind) continue;
    Status status = backend->available();
    if (status) {
      any_available = true;
      status = backend->supports(spec);
    }
    if (status) return backend;
    const std::string who = std::string(backend->name()) + ": ";
    refusals += "; " + (status.message().starts_with(who) ? "" : who) + status.message();
  }
  const std::string where = described(stream.kind);
  if (!any_available) {
    if (refusals.empty()) refusals = ": this build has none";
    return Status{Errc::unavailable, "no backend on " + where + " is available to compute " +
                                         spec.contract.text() + refusals};
  }
  return unsupported("no backend on " + where + " computes " + spec.contract.text() + refusals);
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
  auto backend = choose(stream, spec, options.backend);
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
  auto memory = host_device().allocate(*bytes);
  if (!memory) return memory.status();
  const auto release = [](void* scratch) { host_device().release(scratch); };
  const std::unique_ptr<void, decltype(release)> scratch(*memory, release);
  return plan->run(stream, operands, Workspace{scratch.get(), *bytes});
} catch (const std::bad_alloc&) {
  return {Errc::internal, "out of memory"};
}

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// detgemm through the public interface: what an application gets, host checks included.

#include <memory>

#include "bench/suite/device.hpp"
#include "detgemm/plan.hpp"

namespace detgemm::bench {
namespace {

template <class T>
T required(Result<T> result) {
  if (!result) throw std::runtime_error(result.status().message());
  return std::move(result).value();
}

}  // namespace

GemmSpec spec_of(const Problem& problem, const Contract& contract) {
  const Gemm g = gemm_of(problem);
  GemmSpec spec;
  spec.n = g.n;
  spec.k = g.k;
  spec.contract = contract;
  spec.continue_from_c = problem.accumulate;
  if (problem.extra == Extra::beta) spec.beta = 1.0F;
  if (has_bias(problem.extra)) spec.bias = output_of(problem);
  if (problem.extra == Extra::bias_relu) spec.activation = Activation::relu;
  if (problem.extra == Extra::bias_gelu_tanh) spec.activation = Activation::gelu_tanh;
  spec.op_a = g.a_transposed ? Op::transpose : Op::none;
  spec.op_b = g.b_transposed ? Op::transpose : Op::none;
  return spec;
}

Arm detgemm_arm(const BenchDevice& device, const ContractArm& what, const Problem& problem,
                int threads, const Buffers& buffers, std::size_t* workspace_bytes) {
  const Gemm g = gemm_of(problem);
  const PlanOptions options{what.variant, threads, what.stable};
  const Plan plan =
      required(Plan::create(device.backend(), spec_of(problem, what.contract), options));
  // In memory tf32 is fp32.
  const DType type = problem.type == DType::tf32 ? DType::fp32 : problem.type;
  const auto operands_of = [=, &buffers](int call) {
    const Buffers::Call at = buffers.at(problem, call);
    const ConstMatrix a =
        g.a_transposed ? row_major(at.a, g.k, g.m, type) : row_major(at.a, g.m, g.k, type);
    const ConstMatrix b =
        g.b_transposed ? row_major(at.b, g.n, g.k, type) : row_major(at.b, g.k, g.n, type);
    Operands operands{a, b, row_major(at.d, g.m, g.n, what.contract.output)};
    if (problem.accumulate) operands.c = row_major(at.d, g.m, g.n, DType::fp32);
    if (at.c != nullptr) operands.c = row_major(at.c, g.m, g.n, what.contract.output);
    if (at.bias != nullptr) operands.bias = {at.bias, g.n, output_of(problem)};
    return operands;
  };
  const std::size_t bytes = required(plan.fast_workspace_bytes(operands_of(0)));
  if (workspace_bytes != nullptr) *workspace_bytes = bytes;
  Device& memory = device.backend().device();
  std::shared_ptr<void> scratch;
  if (bytes != 0) {
    scratch.reset(required(memory.allocate(bytes)), [&memory](void* p) { memory.release(p); });
  }
  Arm arm;
  arm.name = what.name;
  arm.detail = plan.kernel(g.m);
  // The name is that of a run with the needed workspace.
  if (bytes > required(plan.workspace_bytes(g.m))) arm.detail += ", on copies of operands";
  arm.enqueue = [=, &buffers](Stream stream, int call) {
    return plan.run(stream, operands_of(call), {scratch.get(), bytes});
  };
  return arm;
}

}  // namespace detgemm::bench

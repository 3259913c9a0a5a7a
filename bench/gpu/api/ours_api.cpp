// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Ours through the public interface: what an application gets, host checks included.

#include <memory>

#include "bench/gpu/arm.hpp"
#include "bench/gpu/check.hpp"
#include "detgemm/plan.hpp"

namespace detgemm::bench {
namespace {

template <class T>
T required(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return std::move(*result);
}

GemmSpec spec_of(const Problem& problem) {
  const Gemm g = gemm_of(problem);
  GemmSpec spec;
  spec.n = g.n;
  spec.k = g.k;
  const DType output = problem.accumulate ? DType::fp32 : problem.type;
  spec.contract = required(
      Contract::make(problem.type == DType::fp32 ? Arithmetic::ieee_fma : Arithmetic::hopper,
                     problem.type, problem.reduction, output));
  spec.continue_from_c = problem.accumulate;
  spec.op_a = g.a_transposed ? Op::transpose : Op::none;
  spec.op_b = g.b_transposed ? Op::transpose : Op::none;
  return spec;
}

const Backend& backend() {
  static const Backend* const found = required(find_backend("cuda"));
  return *found;
}

}  // namespace

Arm ours(const std::string& name, const Problem& problem, const Buffers& buffers, Overlap overlap,
         const std::string& variant) {
  PlanOptions options;
  options.variant = variant;
  options.stable = overlap == Overlap::operand ? Stable::b : Stable::none;
  const Plan plan = required(Plan::create(backend(), spec_of(problem), options));
  const Gemm g = gemm_of(problem);
  std::shared_ptr<void> scratch;
  const std::size_t bytes = required(plan.workspace_bytes(g.m));
  if (bytes != 0) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "workspace");
    scratch.reset(memory, [](void* p) { cudaFree(p); });
  }
  Arm arm;
  arm.name = name;
  arm.detail = plan.kernel(g.m);
  arm.enqueue = [=, &buffers](Stream stream, int call) {
    const Buffers::Call at = buffers.at(problem, call);
    const DType type = problem.type;
    const ConstMatrix a =
        g.a_transposed ? row_major(at.a, g.k, g.m, type) : row_major(at.a, g.m, g.k, type);
    const ConstMatrix b =
        g.b_transposed ? row_major(at.b, g.n, g.k, type) : row_major(at.b, g.k, g.n, type);
    Operands operands{a, b, row_major(at.d, g.m, g.n, plan.contract().output)};
    if (problem.accumulate) operands.c = row_major(at.d, g.m, g.n, DType::fp32);
    return plan.run(stream, operands, {scratch.get(), bytes});
  };
  return arm;
}

bool launches_without_overlap() { return false; }  // not a choice of the public interface

std::vector<std::string> our_variants(const Problem& problem) {
  return backend().variants(spec_of(problem));
}

void prepare_ours() { static_cast<void>(backend()); }

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/gemm.hpp"

#include "python/torch_ops/platform.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

/// The arguments of `gemm` and `gemm.out`, in the order of their schema.
struct GemmCall {
  Tensor a, b, c, bias;
  Problem problem;

  explicit GemmCall(Arguments& from) {
    a = from.tensor();
    b = from.tensor();
    problem.contract = from.text();
    c = from.optional_tensor();
    bias = from.optional_tensor();
    problem.alpha = from.real();
    problem.beta = from.real();
    problem.activation = from.optional_text();
    problem.continue_from_c = from.boolean();
    problem.stable = from.integer();
    problem.backend = from.optional_text();
    problem.variant = from.optional_text();
    problem.a_snapped = from.boolean();
    problem.b_snapped = from.boolean();
  }
};

/// The arguments of `bmm` and `bmm.out`.
struct BmmCall {
  Tensor a, b, c;
  Problem problem;

  explicit BmmCall(Arguments& from) {
    a = from.tensor();
    b = from.tensor();
    problem.contract = from.text();
    c = from.optional_tensor();
    problem.alpha = from.real();
    problem.beta = from.real();
    problem.stable = from.integer();
    problem.a_snapped = from.boolean();
    problem.b_snapped = from.boolean();
  }
};

}  // namespace

void gemm(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const GemmCall call(from);
  give(stack, multiply(call.problem, call.a, call.b, call.c, call.bias, Tensor()));
}

void gemm_out(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const GemmCall call(from);
  Tensor out = from.tensor();
  refuse_forward_level("gemm.out");
  multiply(call.problem, call.a, call.b, call.c, call.bias, std::move(out));
}

void accumulate(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  Tensor sum = from.tensor();
  const Tensor a = from.tensor();
  const Tensor b = from.tensor();
  Problem problem;
  problem.contract = from.text();
  problem.stable = from.integer();
  problem.a_snapped = from.boolean();
  problem.b_snapped = from.boolean();
  problem.continue_from_c = true;
  refuse_forward_level("accumulate_");
  multiply(problem, a, b, Tensor(), Tensor(), std::move(sum), {.out_is_c = true});
}

void linear(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Tensor x = from.tensor();
  const Tensor weight = from.tensor();
  const Tensor bias = from.optional_tensor();
  const Tensor main_grad = from.optional_tensor();  // for the backward pass alone
  const Tensor bias_main_grad = from.optional_tensor();
  Problem problem;
  problem.contract = from.text();
  const std::string dgrad = from.text();
  const std::string wgrad = from.text();
  from.boolean();  // zero_gradient
  problem.stable = from.integer();
  problem.b_snapped = from.boolean();  // the weight; its gradients reduce over other dimensions
  give(stack, multiply(problem, x, weight, Tensor(), bias, Tensor(), {.rows_of_b = true}));
}

void bmm(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const BmmCall call(from);
  give(stack, multiply_batch(call.problem, call.a, call.b, call.c, Tensor()));
}

void bmm_out(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const BmmCall call(from);
  Tensor out = from.tensor();
  refuse_forward_level("bmm.out");
  multiply_batch(call.problem, call.a, call.b, call.c, std::move(out));
}

}  // namespace detgemm::torch_ops

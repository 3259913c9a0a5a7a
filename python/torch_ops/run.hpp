// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>

#include "python/torch_ops/plans.hpp"
#include "python/torch_ops/stream.hpp"
#include "python/torch_ops/views.hpp"

namespace detgemm::torch_ops {

/// What decides a result besides the operands' elements, as an operator's arguments say it.
struct Problem {
  std::string contract;
  double alpha = 1;
  double beta = 0;
  std::string activation;  ///< empty for none
  bool continue_from_c = false;
  std::int64_t stable = 0;
  std::string backend;
  std::string variant;
  bool a_snapped = false;
  bool b_snapped = false;
};

/// The key of a problem's plan. Refuses a number or a name that is none.
PlanKey key_of(const Problem& problem, std::int64_t n, std::int64_t k, const Place& place,
               detgemm_dtype_t bias);

/// What is left of the promise `stable` of a problem: a copy that the operator makes is written on
/// the stream just before it is read, whatever the caller says of the tensor that it is made from.
std::int64_t stable_of(std::int64_t promised, bool a_copied, bool b_copied);

/// Scratch memory of PyTorch's allocator for one run, in the order of the current stream.
class Workspace {
 public:
  Workspace(const detgemm_plan_t* plan, std::int64_t m, const Place& place);
  Workspace(std::size_t bytes, const Place& place);
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Tensor memory_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Products since the process started of which an operand's rows, or columns, begin at no multiple
/// of 16 bytes: with the workspace that is fastest for them, and without room for it.
struct OddCounts {
  std::int64_t fast = 0;
  std::int64_t slow = 0;
};
OddCounts odd_counts();

/// Makes every later run on the host a refusal.
void forbid_host();
/// Refuses where that was called and the place is the host.
void check_host(const Place& place);

/// Runs a plan; a refusal is in the C interface's words.
void run(const detgemm_plan_t* plan, const CurrentStream& stream,
         const detgemm_operands_t& operands, const Workspace& workspace);

/// How the operands of a multiplication are meant.
struct Meaning {
  bool rows_of_b = false;  ///< B is given as N x K, like the weight of a linear layer
  bool out_is_c = false;   ///< the sum starts from what `out` holds
};

/// The scales of both operands: of leaves under scaled, of whole lines under chain and fold.
struct ScaleTensors {
  Tensor a, b;
};

/// Leaves of K that have scales of their own: those of scaled. Under chain and fold a line has one;
/// a tree is refused.
std::int64_t leaves_of(const Problem& problem, std::int64_t k);

/// D = act(alpha * A.B + beta * C + bias). Where `out` is not given it is made, with the contract's
/// type and A's leading dimensions.
Tensor multiply(const Problem& problem, const Tensor& a, const Tensor& b, const Tensor& c,
                const Tensor& bias, Tensor out, Meaning meaning = {},
                const ScaleTensors* scales = nullptr);

/// The same for a list of matrices, one after the other on the current stream.
Tensor multiply_batch(const Problem& problem, const Tensor& a, const Tensor& b, const Tensor& c,
                      Tensor out);

}  // namespace detgemm::torch_ops

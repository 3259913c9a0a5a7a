// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/conformance/buffer.hpp"
#include "core/conformance/scale_data.hpp"
#include "detgemm/plan.hpp"

namespace detgemm::conformance {

/// One call, described on the host: logical operands, and how they are to lie in memory.
struct Request {
  GemmSpec spec;  ///< n and k are filled in from the operands
  PlanOptions options;
  Elements a;          ///< op(A), m x k
  Elements b;          ///< op(B), k x n
  Elements c;          ///< m x n if the spec reads it; otherwise passed all the same, if not empty
  Elements bias;       ///< 1 x n if the spec has one
  ScaleArray scale_a;  ///< under `scaled`; none: all are 1, and one number is all of them
  ScaleArray scale_b;
  /// Roots to `combine` in place of a product of A and B (which then only give the shapes).
  std::vector<Elements> roots;
  std::vector<LeafRange> nodes;  ///< whose roots these are; empty: equal shares in rank order
  Layout a_layout, b_layout, c_layout, d_layout, bias_layout;
  bool in_place = false;     ///< D is C
  bool b_is_a = false;       ///< B is passed as A's pointer: their stored elements must be the same
  std::uint8_t fill = 0xff;  ///< every byte that is no operand, D before the call, the workspace
};

/// The result of a call.
struct Output {
  Elements d;
  std::string kernel;
  std::string predicted_kernel;  ///< the name that the plan gave before the run
  /// Not empty if bytes changed that are no output, or if the kernel is not the forced one.
  std::string violation;
};

/// A request whose operands lie in device memory, ready to be enqueued any number of times.
class Prepared {
 public:
  static Result<Prepared> make(const Backend& backend, Request request);
  /// Shares a plan; `request.spec` must be the plan's.
  static Result<Prepared> make(const Plan& plan, Request request);

  /// Enqueues the call; does not wait.
  Status enqueue(Stream stream);
  /// Returns D, and whether all else is unchanged; call it when the stream has been synchronised.
  Result<Output> collect();
  /// Restores the first contents of D.
  Status reset() { return d_.restore(); }
  /// Writes other operands of the same shapes into the same memory, and restores D; the workspace
  /// keeps what the last call has left.
  Status replace(const Elements& a, const Elements& b);
  /// The call writes there from now on; its own D keeps its bytes.
  void write_to(const Matrix& d) { operands_.d = d; }
  /// The call works there from now on: memory that calls share one after the other, of the size
  /// that the plan asks for or more.
  void work_in(Workspace workspace) { scratch_ = workspace; }
  /// Whether threads can be held at a touch of A and of D: host memory that holds elements.
  bool has_gates() const;
  /// The next touch of A waits at `inputs`, and the next one of D at `outputs`.
  Status close(Gate& inputs, Gate& outputs);
  void open();
  const Plan& plan() const { return plan_; }
  const Operands& operands() const { return operands_; }
  const Workspace& workspace() const { return scratch_; }

 private:
  explicit Prepared(const Plan& plan) : plan_(plan) {}
  Status place(Request request);
  Status place_scales(const Request& request);
  Status freeze();
  Result<std::string> changed_surroundings() const;

  Plan plan_;
  Buffer a_, b_, c_, d_, bias_, workspace_, scale_a_, scale_b_;
  std::vector<Buffer> roots_;
  std::vector<LeafRange> nodes_;
  Operands operands_;
  Workspace scratch_;
  bool in_place_ = false;
  RunInfo info_;
};

/// The request's spec with n and k taken from the operands.
GemmSpec sized(const Request& request);

/// By rows or by columns, with gaps and at an address that no vector load takes.
Layout draw_layout(Random& random);
/// A layout of its own for A, B, C and D each.
void draw_layouts(Random& random, Request& request);
/// Adds C, with a beta, of the size of the product: its own result in reverse.
void add_c(Request& request, const Elements& product);
inline constexpr float kBetaOfC = -0.7F;

/// Prepares, runs on a stream of its own, waits and collects.
Result<Output> run_once(const Backend& backend, Request request);

}  // namespace detgemm::conformance

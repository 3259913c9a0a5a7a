// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>

#include "cluster/common/gather.hpp"
#include "cluster/common/workspace.hpp"

namespace detgemm::cluster {

/// What a join is made of.
struct JoinSpec {
  Communicator communicator;
  Plan plan;  ///< of the whole problem: it combines
  Shares shares;
  Placement output;
  Algorithm algorithm;
};

/// Puts products of rows into a root: of a node of this rank, for m x N packed at `to`, which may
/// be in another rank's window.
using Produce = std::function<Status(std::size_t node, Range rows, void* to)>;

/// One call of a join.
struct JoinCall {
  Stream stream;
  std::int64_t m;
  /// Of this rank, one per node of its cover, m x N fp32, row-major and packed. Later work on the
  /// stream may overwrite them only after the join has finished there. None where `produce` is set.
  std::span<const void* const> roots;
  const Operands& local;
  Workspace workspace;
  RunInfo* info;
  /// The row of the window from which on the roots are where `root_in_window` says, the same on all
  /// ranks; -1: they are elsewhere.
  std::int64_t window_row = -1;
  const Produce* produce = nullptr;  ///< makes roots that go to RootPlace::other_windows
};

/// Where products write the roots of a call.
enum class RootPlace {
  workspace,
  window,        ///< this rank's, where other ranks read them
  other_windows  ///< those of the ranks that join them
};

/// Exchanges the roots of all ranks and joins them with the epilogue: what RowParallelPlan and
/// TreeSum do once they have their roots. Four implementations, chosen while a plan is made:
///
///   local           one rank or no products: no exchange              (local.cpp)
///   messages        gather or scatter through the transport           (messages.cpp)
///   host windows    one_shot, two_shot, push in memory of the host    (host_windows.cpp)
///   device windows  one_shot, two_shot, push in memory of the devices (device_windows.cpp)
class Join {
 public:
  explicit Join(JoinSpec spec) : what_(std::move(spec)) {}
  virtual ~Join() = default;

  /// Local; what it returns is agreed on by the caller. `facts` gets what must be equal on all
  /// ranks.
  static Result<std::unique_ptr<Join>> create(const Communicator& communicator,
                                              const Backend& backend, const GemmSpec& whole,
                                              const Shares& shares, Placement output,
                                              Algorithm algorithm, Facts& facts);

  virtual std::size_t workspace_bytes(std::int64_t max_m) const = 0;
  Status run(const JoinCall& call) const;
  virtual RootPlace root_place(std::int64_t) const { return RootPlace::workspace; }
  /// Where the root of this rank's node i is, unless it is in the workspace.
  virtual std::byte* root_in_window(std::size_t) const { return nullptr; }
  /// Whether a call of m rows copies no root that is there already.
  virtual bool takes_roots_in_window(std::int64_t /*m*/) const { return false; }
  /// Where the roots of a call of m rows may be, in one piece and side by side, so that the
  /// join sends their elements while products write others; null: nowhere. To be followed by that
  /// call.
  virtual std::byte* take_blank_roots(std::int64_t /*m*/) const { return nullptr; }
  /// Rows of a call of at most max_m rows, at most, whose roots are in the workspace.
  virtual std::int64_t rows_in_workspace(std::int64_t max_m) const { return max_m; }
  /// The option `chunks` for a call of m rows. With output `rows` a rank's rows are no chunk of
  /// all.
  virtual std::int32_t chunks(std::int64_t /*m*/, std::int32_t asked) const {
    return output() == Placement::rows ? 1 : asked;
  }
  /// `status`, and where it reports a failure that peers had in the middle, D is canonical NaN.
  virtual Status or_nan(Status status, const Matrix& /*d*/) const { return status; }

  /// ok, or which argument of a call breaks a rule; nothing is written.
  Status check(Stream stream, std::int64_t m, const Operands& local) const;
  /// In a call of m rows, whether all ranks have the same m, where the communicator checks calls.
  Status agree_on_call(std::int64_t m, const Status& mine) const;
  /// Which of the communicator's plans this is, once all ranks have agreed on it.
  void be_plan(int number) { number_ = number; }
  /// Of D on this rank.
  Range rows(std::int64_t m) const;
  std::string describe(std::int64_t m) const;
  Placement output() const { return what_.output; }
  const Shares& shares() const { return what_.shares; }
  const GemmSpec& spec() const { return what_.plan.spec(); }
  Communicator::State& state() const { return what_.communicator.state(); }
  int rank() const { return what_.communicator.rank(); }
  int ranks() const { return what_.communicator.size(); }

 protected:
  const Plan& plan() const { return what_.plan; }
  Device& device() const { return plan().backend().device(); }
  Algorithm algorithm() const { return what_.algorithm; }
  int number() const { return number_; }
  /// A call that has outputs.
  virtual Status join(const JoinCall& call) const = 0;
  /// How m rows are joined, in the words of `describe`.
  virtual std::string way(std::int64_t m) const = 0;
  /// Whether each rank joins rows of its own, rather than all of them.
  virtual bool scatters(std::int64_t m) const = 0;

  std::size_t root_bytes(std::int64_t rows) const;  ///< packed
  std::size_t d_bytes(std::int64_t rows) const;     ///< packed
  std::size_t foreign_nodes() const;
  /// An operand of `extent` rows or columns and no products.
  ConstMatrix empty_input(bool by_columns, std::int64_t extent) const;
  /// The call's operands for these rows of all m, of which this rank has rows(m).
  Operands part_of(const JoinCall& call, Range rows) const;
  /// Joins rows of this rank's roots and of the others, which are packed at `received(rank, node)`.
  Status combine(const JoinCall& call, Range rows,
                 const std::function<const void*(int rank, std::size_t node)>& received) const;

 private:
  std::size_t received_bytes(std::int64_t m) const;

  JoinSpec what_;
  int number_ = 0;
};

std::unique_ptr<Join> join_locally(JoinSpec spec);
std::unique_ptr<Join> join_by_messages(JoinSpec spec);
/// `invalid` where the windows have no room for one row.
Result<std::unique_ptr<Join>> join_in_host_windows(JoinSpec spec);
/// The same, and `unsupported` where the kernels do not join such roots.
Result<std::unique_ptr<Join>> join_in_device_windows(JoinSpec spec);

/// Whether an algorithm works through windows.
constexpr bool uses_windows(Algorithm algorithm) {
  return algorithm == Algorithm::one_shot || algorithm == Algorithm::two_shot ||
         algorithm == Algorithm::push;
}

/// The facts of a problem that all ranks must have in common.
void add_facts(const GemmSpec& whole, Facts& facts);

}  // namespace detgemm::cluster

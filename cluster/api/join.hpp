// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cluster/common/workspace.hpp"
#include "cluster/peers/device_join.hpp"
#include "cluster/peers/peer_join.hpp"

namespace detgemm::cluster {

/// Exchanges the roots of all ranks and joins them with the epilogue: what RowParallelPlan and
/// TreeSum do after their roots are there.
///
///   gather    roots_r --all to all--> roots of all ranks --combine--> D
///   scatter   roots_r --slice q to rank q--> rows r of all roots --combine--> rows r of D
///             rows r of D --to all--> D                    (not with Placement::rows)
///
/// With one_shot, two_shot and push no messages are sent: peer_join.hpp, and device_join.hpp where
/// windows are in the memory of devices.
///
/// Messages between two ranks are listed node by node, in leaf order, on both sides.
class Join {
 public:
  /// Local; what it returns is agreed on by the caller. `facts` gets what must be equal on all
  /// ranks.
  static Result<Join> create(const Communicator& communicator, const Backend& backend,
                             const GemmSpec& whole, const Shares& shares, Placement output,
                             Algorithm algorithm, Facts& facts);

  std::size_t workspace_bytes(std::int64_t max_m) const;
  /// `roots` are this rank's, one per node of its cover, m x N fp32, row-major and packed. The
  /// roots may be overwritten by later work on the stream only after this has finished there.
  /// `window_row`: they lie in the places that root_in_window gives, from this row on; -1:
  /// elsewhere. In the window they are read by two_shot, as few rows as these may be. `produce`:
  /// they are not there yet, see pushes.
  Status run(Stream stream, std::int64_t m, std::span<const void* const> roots,
             const Operands& local, Workspace workspace, RunInfo* info,
             std::int64_t window_row = -1, const Produce* produce = nullptr) const;

  /// Whether roots are joined by kernels that read other devices' memory.
  bool joins_on_devices() const { return by_device(); }
  /// Whether products of m rows may write their roots into the window, where two_shot reads them.
  /// one_shot's are never there: nobody waits for its rank to have read its own roots, before a
  /// push of the next call writes into its window.
  bool roots_in_window(std::int64_t m) const {
    return by_device() && by_device(m) == Algorithm::two_shot &&
           m <= device_layout_->window_rows(spec().n);
  }
  /// Whether products of m rows go straight into the windows of the ranks that join them.
  bool pushes(std::int64_t m) const { return by_device() && by_device(m) == Algorithm::push; }
  /// Rows of a call of at most max_m rows, at most, whose roots lie in the workspace.
  std::int64_t rows_in_workspace(std::int64_t max_m) const;
  /// Where the root of this rank's node i then goes.
  std::byte* root_in_window(std::size_t i) const {
    return state().device_window->data() + device_layout_->roots_at +
           i * device_layout_->root_stride;
  }

  /// ok, or which argument of a call breaks a rule; nothing is written.
  Status check(Stream stream, std::int64_t m, const Operands& local) const;
  /// In a call of m rows, whether all ranks have the same m, where the communicator checks calls.
  Status agree_on_call(std::int64_t m, const Status& mine) const;

  /// `status`, and where it tells of a failure that peers had in the middle, D is canonical NaN.
  Status or_nan(Status status, const Matrix& d) const;

  /// Which of the communicator's plans this is, once all ranks have agreed on it.
  void be_plan(int number) { number_ = number; }
  Placement output() const { return output_; }
  bool scatters(std::int64_t m) const;
  Range rows(std::int64_t m) const;  ///< of D on this rank
  /// Bytes that this rank receives for m rows.
  std::size_t received(std::int64_t m) const;
  std::string describe(std::int64_t m) const;
  const Shares& shares() const { return shares_; }
  const GemmSpec& spec() const { return plan_.spec(); }
  Communicator::State& state() const { return communicator_.state(); }
  int rank() const { return communicator_.rank(); }
  int ranks() const { return communicator_.size(); }

 private:
  Join(Communicator communicator, Plan plan, Shares shares, Placement output, Algorithm algorithm)
      : communicator_(std::move(communicator)),
        plan_(std::move(plan)),
        shares_(std::move(shares)),
        output_(output),
        algorithm_(algorithm) {}

  /// Windows are used: not for one rank or for no products, whose join needs nobody.
  bool by_peers() const { return layout_.rows > 0; }
  /// Windows in memory of the backend's device are used, likewise.
  bool by_device() const { return device_layout_.has_value(); }
  /// How m rows are joined then.
  Algorithm by_device(std::int64_t m) const;
  Status plan_peers(const Backend& backend);
  std::size_t root_bytes(std::int64_t rows) const;
  std::size_t d_bytes(std::int64_t rows) const;  ///< packed
  std::size_t foreign_nodes() const;
  /// An operand of `extent` rows or columns and no products.
  ConstMatrix empty_input(bool by_columns, std::int64_t extent) const;
  Status join_rows(Stream stream, Range rows, std::span<const void* const> mine,
                   const std::byte* received, const Operands& of_rows, Workspace workspace,
                   RunInfo* info) const;
  Status share_rows(Stream stream, std::int64_t m, const Matrix& d, Workspace staging) const;

  Communicator communicator_;
  Plan plan_;  ///< of the whole problem: it combines
  Shares shares_;
  Placement output_;
  Algorithm algorithm_;
  int number_ = 0;
  PeerLayout layout_;  ///< without rows where windows of the host are not used
  std::optional<DeviceLayout> device_layout_;
};

/// The facts of a problem that all ranks must have in common.
void add_facts(const GemmSpec& whole, Facts& facts);

}  // namespace detgemm::cluster

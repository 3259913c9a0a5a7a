// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <functional>

#include "cluster/peers/device_window.hpp"

namespace detgemm::cluster {

/// Where the roots and results of a plan lie in windows of devices; the same on all ranks.
///
///     | mail, an eighth               | roots, five eighths              | results, a quarter |
///       [even calls: node 0, 1 ..][odd]  [own node 0][own node 1] ..       [rows of this rank]
///                               .. push  [its rows of node 0][of 1] ..
///
/// What is cut where depends on the window alone, so that calls of different plans keep out of each
/// other's way as those of one plan do.
struct DeviceLayout {
  std::vector<LeafRange> nodes;  ///< of all ranks, in the order of the tree
  std::vector<int> owners;
  std::int64_t one_shot_rows = 0;                 ///< that one call can join, at most
  std::int64_t two_shot_rows = 0, push_rows = 0;  ///< the same, of M
  std::size_t mail_stride = 0, odd_mail = 0;
  std::size_t roots_at = 0, root_stride = 0, push_stride = 0;
  std::size_t results_at = 0;

  static DeviceLayout of(const Shares& shares, Placement output, std::int64_t n, DType d,
                         std::size_t window_bytes);
  /// Rows of roots that products may write where two_shot reads them.
  std::int64_t window_rows(std::int64_t n) const {
    return static_cast<std::int64_t>(root_stride) / (std::max<std::int64_t>(n, 1) * 4);
  }
  /// Rows that a call joins by this algorithm, one of those of peers, at most.
  std::int64_t rows(Algorithm algorithm) const {
    return algorithm == Algorithm::one_shot ? one_shot_rows
           : algorithm == Algorithm::push   ? push_rows
                                            : two_shot_rows;
  }
};

/// What automatic takes for m rows where both are possible.
Algorithm choose_by_peers(std::int64_t m, std::int64_t n, int ranks, std::size_t nodes);

/// Puts products of rows into a root: of a node of this rank, for m x N packed at `to`, which may
/// be in another rank's window.
using Produce = std::function<Status(std::size_t node, Range rows, void* to)>;

/// One call of a plan through windows of devices, all of it put on the stream. Rows beyond what the
/// windows hold are done in pieces.
struct DeviceCall {
  Communicator::State& state;
  const GemmSpec& spec;  ///< of the whole problem
  const DeviceLayout& layout;
  Placement output;
  Algorithm algorithm;  ///< one_shot, two_shot or push
  int number;           ///< of the plan among the communicator's
  Device& device;
  Stream stream;
  std::int64_t m;
  /// Of this rank, m x N fp32, packed; none where push has `produce`.
  std::span<const void* const> roots;
  /// Of the window's room for roots, where these begin; -1: they are elsewhere, and two_shot copies
  /// them there. The same on all ranks.
  std::int64_t window_row;
  const Operands& local;
  RunInfo* info;
  /// push: makes the roots where they are joined, beginning with the next rank's rows, so that
  /// every window has one writer at a time. Without it they are copied there.
  const Produce* produce = nullptr;

  Status run() const;

 private:
  Range rows_in(Range piece, int rank) const;
  Status push(Range piece) const;
  Status join_piece(Range rows) const;
};

}  // namespace detgemm::cluster

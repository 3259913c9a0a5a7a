// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cluster/common/state.hpp"
#include "cluster/peers/window.hpp"

namespace detgemm::cluster {

/// Whether an algorithm works through windows.
constexpr bool uses_peers(Algorithm algorithm) {
  return algorithm == Algorithm::one_shot || algorithm == Algorithm::two_shot ||
         algorithm == Algorithm::push;
}

/// Where roots and results lie in a window. Calls whose roots need more than a window has are done
/// in pieces of rows, the same on all ranks, since all facts of the layout are.
///
///     roots, three quarters of the window                                | results, one quarter
///     one_shot   [node 0][node 1] ..      of this rank, all rows of a piece | none
///     two_shot   [slice 0: node 0, node 1 ..][slice 1: ..] ..  of this rank | [rows of rank 0][1]
///     .. push       [rank 0: node 0, node 1 ..][rank 1: ..] ..  this slice's   | [rows of rank
///     0][1] ..
///
/// Where results begin depends on the window alone, so that a rank that is still taking results out
/// is not in the way of roots of the next call, which may be another plan's.
struct PeerLayout {
  std::int64_t rows = 0;       ///< of a slot: of D in one piece (one_shot), or of one rank's slice
  std::size_t root_bytes = 0;  ///< of a slot of roots
  std::size_t results_at = 0;  ///< offset
  std::size_t result_bytes = 0;
  std::size_t most_nodes = 0;           ///< of a rank
  std::vector<std::size_t> first_node;  ///< of each rank, in the order of the tree

  /// Refused where not even one row has room, with the bytes that it takes.
  static Result<PeerLayout> of(Algorithm algorithm, Placement output, const Shares& shares,
                               std::int64_t n, DType d, std::size_t window_bytes);
};

/// One call of a plan through windows. Everything is added by `plan`, in the order of the tree; the
/// window moves bytes.
struct PeerCall {
  Communicator::State& state;
  const Plan& plan;  ///< of the whole problem: it combines
  const Shares& shares;
  const PeerLayout& layout;
  Placement output;
  Algorithm algorithm;
  int number;  ///< of the plan among the communicator's
  Stream stream;
  std::int64_t m;
  std::span<const void* const> roots;  ///< of this rank, m x N fp32 each, packed
  const Operands& local;
  Workspace workspace;
  RunInfo* info;

  Status run() const;

 private:
  int rank() const { return state.transport->rank(); }
  int ranks() const { return state.transport->size(); }
  std::int64_t pieces() const;
  Range slice(std::int64_t piece, int rank) const;
  std::byte* root_slot(int window, std::size_t slot) const;
  std::byte* result_slot(int window, int rank) const;
  Status put(std::int64_t piece) const;
  Status meet(std::int64_t piece, int phase) const;
  Operands of_slice(std::int64_t piece) const;
  Status join(std::int64_t piece, const Operands& of_rows) const;
  Status spread(const Matrix& mine) const;
  Status collect(std::int64_t piece) const;
};

/// Writes the canonical NaN into every element: what a peer's failure leaves of D. Host memory.
void fill_with_nan(const Matrix& d);

}  // namespace detgemm::cluster

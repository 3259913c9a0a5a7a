// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>

#include "cluster/join/join.hpp"
#include "cluster/peers/window.hpp"

namespace detgemm::cluster {
namespace {

/// Where roots and results are in a window. Calls whose roots need more than a window has are done
/// in pieces of rows, the same on all ranks, since all facts of the layout are.
///
///     roots, three quarters of the window                                  | results, one quarter
///     one_shot   [node 0][node 1] ..      of this rank, all rows of a piece | none
///     two_shot   [slice 0: node 0, node 1 ..][slice 1: ..] ..  of this rank | [rows of rank 0][1]
///     .. push    [rank 0: node 0, node 1 ..][rank 1: ..] ..    this slice's | [rows of rank 0][1]
///
/// Where results begin depends on the window alone, so that a rank that is still taking results out
/// is not in the way of roots of the next call, which may be another plan's.
struct HostLayout {
  std::int64_t rows = 0;       ///< of a slot: of D in one piece (one_shot), or of one rank's slice
  std::size_t root_bytes = 0;  ///< of a slot of roots
  std::size_t results_at = 0;  ///< offset
  std::size_t result_bytes = 0;
  std::size_t most_nodes = 0;           ///< of a rank
  std::vector<std::size_t> first_node;  ///< of each rank, in the order of the tree

  /// Refused where not even one row has room, with the bytes that it takes.
  static Result<HostLayout> of(const JoinSpec& spec, std::size_t window_bytes);
};

/// How many rows have room where `slots` share `bytes`; each slot may be padded.
std::size_t rows_in(std::size_t bytes, std::size_t slots, std::size_t row) {
  const std::size_t each = slots == 0 ? bytes : bytes / slots;
  if (row == 0) return std::size_t{1} << 40;
  return each < kWorkspaceAlignment ? 0 : (each - kWorkspaceAlignment + 1) / row;
}

Result<HostLayout> HostLayout::of(const JoinSpec& spec, std::size_t window_bytes) {
  const Algorithm algorithm = spec.algorithm;
  const std::int64_t n = spec.plan.spec().n;
  HostLayout layout;
  std::size_t nodes = 0;
  for (int r = 0; r < spec.shares.ranks(); ++r) {
    layout.first_node.push_back(nodes);
    nodes += spec.shares.cover(r).size();
    layout.most_nodes = std::max(layout.most_nodes, spec.shares.cover(r).size());
  }
  const auto ranks = static_cast<std::size_t>(spec.shares.ranks());
  const std::size_t root_slots = algorithm == Algorithm::one_shot   ? layout.most_nodes
                                 : algorithm == Algorithm::two_shot ? layout.most_nodes * ranks
                                                                    : nodes;
  const bool shares_rows = algorithm != Algorithm::one_shot && spec.output == Placement::replicated;
  const std::size_t result_slots = shares_rows ? ranks : 0;
  layout.results_at = window_bytes / 4 * 3 / kWorkspaceAlignment * kWorkspaceAlignment;
  const std::size_t root_row = gather_bytes(1, n, DType::fp32);
  const std::size_t result_row = gather_bytes(1, n, spec.plan.spec().contract.output);
  std::size_t rows = rows_in(layout.results_at, root_slots, root_row);
  if (result_slots > 0) {
    rows = std::min(rows, rows_in(window_bytes - layout.results_at, result_slots, result_row));
  }
  if (rows < 1) {
    const std::size_t roots = root_slots * (root_row + kWorkspaceAlignment) * 4 / 3;
    const std::size_t results = result_slots * (result_row + kWorkspaceAlignment) * 4;
    return invalid("window_bytes leaves " + std::to_string(window_bytes) +
                   " bytes: one row of n = " + std::to_string(n) + " takes " +
                   std::to_string(padded(std::max(roots, results) + 4 * kWorkspaceAlignment)) +
                   " with " + std::string(name(algorithm)));
  }
  layout.rows = static_cast<std::int64_t>(rows);
  layout.root_bytes = padded(gather_bytes(layout.rows, n, DType::fp32));
  layout.result_bytes = padded(rows * result_row);
  return layout;
}

Status copy(Device& device, Stream stream, void* to, const void* from, std::size_t bytes) {
  return bytes == 0 ? Status{} : device.copy(stream, to, from, bytes);
}

/// Everything is added by the plan, in the order of the tree; the window moves bytes.
class HostWindowJoin final : public Join {
 public:
  HostWindowJoin(JoinSpec spec, HostLayout layout)
      : Join(std::move(spec)), layout_(std::move(layout)) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    return padded(*plan().workspace_bytes(max_m));
  }
  Status or_nan(Status status, const Matrix& d) const override;

 private:
  Status join(const JoinCall& call) const override;
  std::string way(std::int64_t m) const override;
  bool scatters(std::int64_t) const override { return algorithm() != Algorithm::one_shot; }

  std::int64_t pieces(std::int64_t m) const;
  Range slice(const JoinCall& call, std::int64_t piece, int rank) const;
  std::byte* root_slot(int window, std::size_t slot) const;
  std::byte* result_slot(int window, int rank) const;
  Status put(const JoinCall& call, std::int64_t piece) const;
  Status meet(const JoinCall& call, std::int64_t piece, int phase) const;
  Status join_slice(const JoinCall& call, std::int64_t piece) const;
  Status spread(const JoinCall& call, const Matrix& mine) const;
  Status collect(const JoinCall& call, std::int64_t piece) const;

  HostLayout layout_;
};

std::int64_t HostWindowJoin::pieces(std::int64_t m) const {
  const std::int64_t rows = scatters(m) ? rows_of(m, 0, ranks()).size() : m;  // rank 0 has most
  return (rows + layout_.rows - 1) / layout_.rows;
}

/// The rows of D that a rank joins in a piece.
Range HostWindowJoin::slice(const JoinCall& call, std::int64_t piece, int rank) const {
  const Range all = scatters(call.m) ? rows_of(call.m, rank, ranks()) : Range{0, call.m};
  const auto at = [&](std::int64_t i) { return std::min(all.end, all.begin + i * layout_.rows); };
  return {at(piece), at(piece + 1)};
}

std::byte* HostWindowJoin::root_slot(int window, std::size_t slot) const {
  return state().window->data(window) + slot * layout_.root_bytes;
}
std::byte* HostWindowJoin::result_slot(int window, int rank) const {
  return state().window->data(window) + layout_.results_at +
         static_cast<std::size_t>(rank) * layout_.result_bytes;
}

/// This rank's roots go where others read them: into its own window, or (push) into that of the
/// rank which joins them.
Status HostWindowJoin::put(const JoinCall& call, std::int64_t piece) const {
  const auto me = static_cast<std::size_t>(rank());
  for (int q = 0; q < ranks(); ++q) {
    // One slice for all is put once.
    if (algorithm() == Algorithm::one_shot ? q != 0 : q == rank()) continue;
    const Range rows = slice(call, piece, q);
    for (std::size_t i = 0; i < call.roots.size(); ++i) {
      std::byte* const to =
          algorithm() == Algorithm::push ? root_slot(q, layout_.first_node[me] + i)
          : algorithm() == Algorithm::two_shot
              ? root_slot(rank(), static_cast<std::size_t>(q) * layout_.most_nodes + i)
              : root_slot(rank(), i);
      const auto* const from =
          static_cast<const std::byte*>(call.roots[i]) + root_bytes(rows.begin);
      if (Status s = copy(device(), call.stream, to, from, root_bytes(rows.size())); !s) return s;
    }
  }
  return {};
}

Status HostWindowJoin::meet(const JoinCall& call, std::int64_t piece, int phase) const {
  return state().after(state().window->meet({number(), call.m, piece, phase},
                                            state().options.patience,
                                            [this] { return state().health(); }));
}

/// The rows that this rank joins.
Status HostWindowJoin::join_slice(const JoinCall& call, std::int64_t piece) const {
  const Range rows = slice(call, piece, rank());
  if (rows.size() == 0) return {};
  const auto received = [&](int r, std::size_t i) -> const void* {
    if (algorithm() == Algorithm::push) {
      return root_slot(rank(), layout_.first_node[static_cast<std::size_t>(r)] + i);
    }
    if (algorithm() == Algorithm::one_shot) return root_slot(r, i);
    return root_slot(r, static_cast<std::size_t>(rank()) * layout_.most_nodes + i);
  };
  return combine(call, rows, received);
}

/// This rank's rows of D, packed, into every other window.
Status HostWindowJoin::spread(const JoinCall& call, const Matrix& mine) const {
  for (int q = 0; q < ranks(); ++q) {
    if (q == rank()) continue;
    const Matrix there =
        row_major(static_cast<void*>(result_slot(q, rank())), mine.rows, mine.cols, mine.dtype);
    if (Status s = copy_matrix(device(), call.stream, mine, there); !s) return s;
  }
  return {};
}

/// The other ranks' rows, out of this rank's window.
Status HostWindowJoin::collect(const JoinCall& call, std::int64_t piece) const {
  for (int r = 0; r < ranks(); ++r) {
    if (r == rank()) continue;
    const Matrix to = block_of(call.local.d, {slice(call, piece, r), {0, spec().n}});
    const ConstMatrix from =
        row_major(static_cast<const void*>(result_slot(rank(), r)), to.rows, to.cols, to.dtype);
    if (Status s = copy_matrix(device(), call.stream, from, to); !s) return s;
  }
  return {};
}

/// Per piece, with `|` where all ranks meet:
///
///     one_shot   put | read all windows, join               |
///     two_shot   put | read a slice of all windows, join, spread | collect
///     push       put | read own window, join, spread             | collect
///
/// A window is written again only after its readers have reached the second meeting; results are
/// the exception, which their own rank takes out before it reaches the next one.
Status HostWindowJoin::join(const JoinCall& call) const {
  const bool shares_rows = scatters(call.m) && output() == Placement::replicated;
  for (std::int64_t piece = 0; piece < pieces(call.m); ++piece) {
    if (Status s = put(call, piece); !s) return s;
    if (Status s = meet(call, piece, 0); !s) return s;
    if (Status s = join_slice(call, piece); !s) return s;
    if (shares_rows) {
      const Matrix mine = part_of(call, slice(call, piece, rank())).d;
      if (Status s = spread(call, mine); !s) return s;
    }
    if (Status s = meet(call, piece, 1); !s) return s;
    if (!shares_rows) continue;
    if (Status s = collect(call, piece); !s) return s;
  }
  return {};
}

/// A peer's failure leaves the canonical NaN in every element of D.
Status HostWindowJoin::or_nan(Status status, const Matrix& d) const {
  if (status.code() != Errc::peer) return status;
  const std::size_t size = size_of(d.dtype);
  const std::uint32_t wide = 0x7fffffffU;
  const std::uint16_t narrow = 0x7fffU;
  for (std::int64_t i = 0; i < d.rows; ++i) {
    for (std::int64_t j = 0; j < d.cols; ++j) {
      const auto at = static_cast<std::size_t>(i * d.row_stride + j * d.col_stride) * size;
      std::memcpy(static_cast<std::byte*>(d.data) + at,
                  size == sizeof wide ? static_cast<const void*>(&wide) : &narrow, size);
    }
  }
  return status;
}

std::string HostWindowJoin::way(std::int64_t m) const {
  return std::string(name(algorithm())) + " in pieces of " + std::to_string(layout_.rows) +
         " rows" + (scatters(m) ? " of each rank" : "") + ", windows of " +
         std::to_string(state().window->bytes()) + " bytes";
}

}  // namespace

Result<std::unique_ptr<Join>> join_in_host_windows(JoinSpec spec) {
  auto layout = HostLayout::of(spec, spec.communicator.state().window->bytes());
  if (!layout) return layout.status();
  return std::unique_ptr<Join>(
      std::make_unique<HostWindowJoin>(std::move(spec), *std::move(layout)));
}

}  // namespace detgemm::cluster

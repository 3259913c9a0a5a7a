// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/peers/peer_join.hpp"

#include <algorithm>
#include <cstring>

#include "cluster/common/gather.hpp"
#include "cluster/common/workspace.hpp"

namespace detgemm::cluster {
namespace {

std::size_t fp32_bytes(std::int64_t rows, std::int64_t n) {
  return static_cast<std::size_t>(rows * n) * sizeof(float);
}

Status copy(Device& device, Stream stream, void* to, const void* from, std::size_t bytes) {
  return bytes == 0 ? Status{} : device.copy(stream, to, from, bytes);
}

/// Rows of a matrix of which this rank has `first` and the following.
template <class View>
View rows_at(View view, Range rows, std::int64_t first) {
  return block_of(view, {{rows.begin - first, rows.end - first}, {0, view.cols}});
}

}  // namespace

Result<PeerLayout> PeerLayout::of(Algorithm algorithm, Placement output, const Shares& shares,
                                  std::int64_t n, DType d, std::size_t window_bytes) {
  PeerLayout layout;
  std::size_t nodes = 0;
  for (int r = 0; r < shares.ranks(); ++r) {
    layout.first_node.push_back(nodes);
    nodes += shares.cover(r).size();
    layout.most_nodes = std::max(layout.most_nodes, shares.cover(r).size());
  }
  const auto ranks = static_cast<std::size_t>(shares.ranks());
  const std::size_t root_slots = algorithm == Algorithm::one_shot   ? layout.most_nodes
                                 : algorithm == Algorithm::two_shot ? layout.most_nodes * ranks
                                                                    : nodes;
  const bool shares_rows = algorithm != Algorithm::one_shot && output == Placement::replicated;
  const std::size_t result_slots = shares_rows ? ranks : 0;
  layout.results_at = window_bytes / 4 * 3 / kWorkspaceAlignment * kWorkspaceAlignment;
  const std::size_t root_row = fp32_bytes(1, n);
  const std::size_t result_row = static_cast<std::size_t>(n) * size_of(d);
  /// How many rows have room where `slots` share `bytes`; each slot may be padded.
  const auto rows_in = [](std::size_t bytes, std::size_t slots, std::size_t row) {
    const std::size_t each = slots == 0 ? bytes : bytes / slots;
    return row == 0                     ? std::size_t{1} << 40
           : each < kWorkspaceAlignment ? 0
                                        : (each - kWorkspaceAlignment + 1) / row;
  };
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
  layout.root_bytes = padded(fp32_bytes(layout.rows, n));
  layout.result_bytes = padded(static_cast<std::size_t>(layout.rows) * result_row);
  return layout;
}

std::int64_t PeerCall::pieces() const {
  const std::int64_t rows =
      algorithm == Algorithm::one_shot ? m : rows_of(m, 0, ranks()).size();  // rank 0 has most
  return (rows + layout.rows - 1) / layout.rows;
}

/// The rows of D that a rank joins in a piece.
Range PeerCall::slice(std::int64_t piece, int rank) const {
  const Range all = algorithm == Algorithm::one_shot ? Range{0, m} : rows_of(m, rank, ranks());
  const auto at = [&](std::int64_t i) { return std::min(all.end, all.begin + i * layout.rows); };
  return {at(piece), at(piece + 1)};
}

std::byte* PeerCall::root_slot(int window, std::size_t slot) const {
  return state.window->data(window) + slot * layout.root_bytes;
}
std::byte* PeerCall::result_slot(int window, int rank) const {
  return state.window->data(window) + layout.results_at +
         static_cast<std::size_t>(rank) * layout.result_bytes;
}

/// This rank's roots go where others read them: into its own window, or (push) into that of the
/// rank which joins them.
Status PeerCall::put(std::int64_t piece) const {
  Device& device = plan.backend().device();
  const std::int64_t n = plan.spec().n;
  const auto me = static_cast<std::size_t>(rank());
  for (int q = 0; q < ranks(); ++q) {
    // One slice for all is put once.
    if (algorithm == Algorithm::one_shot ? q != 0 : q == rank()) continue;
    const Range rows = slice(piece, q);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      std::byte* const to =
          algorithm == Algorithm::push ? root_slot(q, layout.first_node[me] + i)
          : algorithm == Algorithm::two_shot
              ? root_slot(rank(), static_cast<std::size_t>(q) * layout.most_nodes + i)
              : root_slot(rank(), i);
      const auto* const from = static_cast<const std::byte*>(roots[i]) + fp32_bytes(rows.begin, n);
      if (Status s = copy(device, stream, to, from, fp32_bytes(rows.size(), n)); !s) return s;
    }
  }
  return {};
}

Status PeerCall::meet(std::int64_t piece, int phase) const {
  return state.after(state.window->meet({number, m, piece, phase}, state.options.patience,
                                        [this] { return state.health(); }));
}

/// D and C of the rows that this rank joins.
Operands PeerCall::of_slice(std::int64_t piece) const {
  const Range rows = slice(piece, rank());
  const std::int64_t first =
      output == Placement::rows ? rows_of(m, rank(), ranks()).begin : std::int64_t{0};
  Operands part = local;
  part.d = rows_at(local.d, rows, first);
  if (plan.spec().reads_c()) part.c = rows_at(local.c, rows, first);
  return part;
}

Status PeerCall::join(std::int64_t piece, const Operands& of_rows) const {
  const Range rows = slice(piece, rank());
  if (rows.size() == 0) return {};
  const std::int64_t n = plan.spec().n;
  std::vector<NodeRoot> all;
  for (int r = 0; r < ranks(); ++r) {
    const auto owner = static_cast<std::size_t>(r);
    for (std::size_t i = 0; i < shares.cover(r).size(); ++i) {
      const void* data = nullptr;
      if (r == rank()) {
        data = static_cast<const std::byte*>(roots[i]) + fp32_bytes(rows.begin, n);
      } else if (algorithm == Algorithm::push) {
        data = root_slot(rank(), layout.first_node[owner] + i);
      } else if (algorithm == Algorithm::two_shot) {
        data = root_slot(r, static_cast<std::size_t>(rank()) * layout.most_nodes + i);
      } else {
        data = root_slot(r, i);
      }
      all.push_back({row_major(data, rows.size(), n, DType::fp32), shares.cover(r)[i]});
    }
  }
  return plan.combine(stream, all, of_rows, workspace, info);
}

/// This rank's rows of D, packed, into every other window.
Status PeerCall::spread(const Matrix& mine) const {
  for (int q = 0; q < ranks(); ++q) {
    if (q == rank()) continue;
    const Matrix there =
        row_major(static_cast<void*>(result_slot(q, rank())), mine.rows, mine.cols, mine.dtype);
    if (Status s = copy_matrix(plan.backend().device(), stream, mine, there); !s) return s;
  }
  return {};
}

/// The other ranks' rows, out of this rank's window.
Status PeerCall::collect(std::int64_t piece) const {
  for (int r = 0; r < ranks(); ++r) {
    if (r == rank()) continue;
    const Matrix to = rows_at(local.d, slice(piece, r), 0);
    const ConstMatrix from =
        row_major(static_cast<const void*>(result_slot(rank(), r)), to.rows, to.cols, to.dtype);
    if (Status s = copy_matrix(plan.backend().device(), stream, from, to); !s) return s;
  }
  return {};
}

/// Per piece, with `|` where all ranks meet:
///
///     one_shot   put | read all windows, join               |
///     two_shot   put | read a slice of all windows, join, spread | collect
///     push       put | read own window, join, spread             | collect
///
/// A window is written again only after its readers have come to the second meeting; results are
/// the exception, which their own rank takes out before it comes to the next one.
Status PeerCall::run() const {
  for (std::int64_t piece = 0; piece < pieces(); ++piece) {
    if (Status s = put(piece); !s) return s;
    if (Status s = meet(piece, 0); !s) return s;
    const Operands part = of_slice(piece);
    if (Status s = join(piece, part); !s) return s;
    const bool shares_rows = algorithm != Algorithm::one_shot && output == Placement::replicated;
    if (shares_rows) {
      if (Status s = spread(part.d); !s) return s;
    }
    if (Status s = meet(piece, 1); !s) return s;
    if (!shares_rows) continue;
    if (Status s = collect(piece); !s) return s;
  }
  return {};
}

void fill_with_nan(const Matrix& d) {
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
}

}  // namespace detgemm::cluster

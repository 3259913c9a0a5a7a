// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/peers/device_join.hpp"

#include <algorithm>

#include "cluster/common/gather.hpp"
#include "detgemm/digest.hpp"

namespace detgemm::cluster {
namespace {

std::size_t aligned_down(std::size_t bytes) {
  return bytes / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace

DeviceLayout DeviceLayout::of(const Shares& shares, Placement output, std::int64_t n, DType d,
                              std::size_t window_bytes) {
  DeviceLayout layout;
  std::size_t most = 1;  // nodes of a rank
  for (int r = 0; r < shares.ranks(); ++r) {
    for (const LeafRange& node : shares.cover(r)) {
      layout.nodes.push_back(node);
      layout.owners.push_back(r);
    }
    most = std::max(most, shares.cover(r).size());
  }
  const std::size_t eighth = aligned_down(window_bytes / 8);
  layout.odd_mail = aligned_down(eighth / 2);
  layout.roots_at = eighth;
  layout.results_at = 6 * eighth;
  layout.mail_stride =
      aligned_down(layout.odd_mail / std::max<std::size_t>(1, layout.nodes.size()));
  layout.root_stride = aligned_down(5 * eighth / most);
  layout.push_stride = aligned_down(5 * eighth / std::max<std::size_t>(1, layout.nodes.size()));
  const std::size_t row = static_cast<std::size_t>(std::max<std::int64_t>(n, 1)) * sizeof(float);
  // Two elements are one word of 16 bytes.
  layout.one_shot_rows = static_cast<std::int64_t>(layout.mail_stride / (2 * row));
  layout.two_shot_rows = static_cast<std::int64_t>(layout.root_stride / row);
  // Where D is replicated a piece is shared out. Rank 0 has most rows of it: 8 more than others at
  // most, and all where they are no more than 8. Where D is in rows all of a piece may be one's.
  const auto shared_out = [&](std::int64_t each) {
    return each >= 8 ? each / 8 * 8 * shares.ranks() : each;
  };
  layout.push_rows = static_cast<std::int64_t>(layout.push_stride / row);
  if (output == Placement::replicated) {
    const std::size_t result = row / sizeof(float) * size_of(d);
    const std::int64_t results =
        shared_out(static_cast<std::int64_t>((window_bytes - layout.results_at) / result));
    layout.two_shot_rows = std::min(layout.two_shot_rows, results);
    layout.push_rows = std::min(shared_out(layout.push_rows), results);
  }
  return layout;
}

Algorithm choose_by_peers(std::int64_t m, std::int64_t n, int ranks, std::size_t nodes) {
  // one_shot moves the roots of all nodes to all ranks in one step, 8 bytes per element; two_shot
  // each root once and D once, in two. On two H200s they take the same time at 131072 elements, and
  // on four two_shot is ahead by a quarter at 196608 (docs/log/cluster.md).
  constexpr std::int64_t kElements = 100'000;
  // A rank sends half of all and more: so many elements are too many, and their number may be none.
  if (nodes > 0 && m > 0 && n > 2 * kElements / m) return Algorithm::two_shot;
  const auto sent = static_cast<std::int64_t>(nodes) * m * n * (ranks - 1) / ranks;
  return sent <= kElements ? Algorithm::one_shot : Algorithm::two_shot;
}

Status DeviceCall::run() const {
  const std::int64_t most = layout.rows(algorithm);
  for (std::int64_t begin = 0; begin < m; begin += most) {
    if (Status s = join_piece({begin, std::min(m, begin + most)}); !s) return s;
  }
  return {};
}

/// The rows of a piece that a rank joins in two_shot: its rows of D where it has no others.
Range DeviceCall::rows_in(Range piece, int rank) const {
  const int ranks = state.transport->size();
  if (output == Placement::rows) {
    const Range all = rows_of(m, rank, ranks);
    return {std::clamp(all.begin, piece.begin, piece.end),
            std::clamp(all.end, piece.begin, piece.end)};
  }
  const Range part = rows_of(piece.size(), rank, ranks);
  return {piece.begin + part.begin, piece.begin + part.end};
}

/// Every rank's rows of this rank's roots go into that rank's window.
Status DeviceCall::push(Range piece) const {
  const int rank = state.transport->rank();
  const int ranks = state.transport->size();
  const auto first = static_cast<std::size_t>(
      std::find(layout.owners.begin(), layout.owners.end(), rank) - layout.owners.begin());
  const auto own =
      static_cast<std::size_t>(std::count(layout.owners.begin(), layout.owners.end(), rank));
  for (int i = 1; i <= ranks; ++i) {
    const int to = (rank + i) % ranks;
    const Range rows = rows_in(piece, to);
    if (rows.size() == 0) continue;
    for (std::size_t node = 0; node < own; ++node) {
      std::byte* const slot =
          state.device_window->data_of(to) + layout.roots_at + (first + node) * layout.push_stride;
      if (produce != nullptr) {
        if (Status s = (*produce)(node, rows, slot); !s) return s;
        continue;
      }
      const auto row = static_cast<std::size_t>(spec.n) * sizeof(float);
      const std::size_t bytes = static_cast<std::size_t>(rows.size()) * row;
      const void* const from =
          static_cast<const std::byte*>(roots[node]) + static_cast<std::size_t>(rows.begin) * row;
      if (Status s = device.copy(stream, slot, from, bytes); !s) return s;
    }
  }
  return {};
}

Status DeviceCall::join_piece(Range rows) const {
  PeerWindow& window = *state.device_window;
  const int rank = state.transport->rank();
  const int ranks = state.transport->size();
  const auto bytes_of = [&](std::int64_t count) {
    return static_cast<std::size_t>(count * spec.n) * sizeof(float);
  };
  PeerJoin join;
  join.m = rows.size();
  join.way = algorithm == Algorithm::one_shot   ? PeerJoin::Way::one_shot
             : algorithm == Algorithm::two_shot ? PeerJoin::Way::two_shot
                                                : PeerJoin::Way::push;
  join.rows_out = output == Placement::rows;
  std::vector<std::int64_t> borders{0};
  for (int r = 0; r < ranks; ++r) borders.push_back(rows_in(rows, r).end - rows.begin);
  join.rows = borders;
  join.nodes = layout.nodes;
  join.owners = layout.owners;
  join.roots_at = layout.roots_at;
  join.root_stride = algorithm == Algorithm::push ? layout.push_stride : layout.root_stride;
  join.mail_stride = layout.mail_stride;
  join.odd_mail = layout.odd_mail;
  join.results_at = layout.results_at;
  const bool there = window_row >= 0;
  if (there) join.roots_at += bytes_of(window_row + rows.begin);
  std::vector<const void*> own;
  if (algorithm == Algorithm::push) {
    if (Status s = push(rows); !s) return s;
  }
  for (std::size_t i = 0; i < roots.size() && algorithm != Algorithm::push; ++i) {
    const void* from = static_cast<const std::byte*>(roots[i]) + bytes_of(rows.begin);
    if (algorithm == Algorithm::two_shot && !there) {
      const std::size_t bytes = bytes_of(rows.size());
      void* const to = window.data() + join.roots_at + i * join.root_stride;
      if (Status s = device.copy(stream, to, from, bytes); !s) return s;
      from = to;
    }
    own.push_back(from);
  }
  join.roots = own;
  const std::int64_t facts[] = {number,     m,        window_row,
                                rows.begin, rows.end, static_cast<std::int64_t>(algorithm)};
  join.step = digest_bytes(facts, sizeof facts);
  const Range mine = rows_in(rows, rank);
  const Range of_d = join.rows_out ? mine : rows;
  const std::int64_t first = join.rows_out ? rows_of(m, rank, ranks).begin : 0;
  const Block block{{of_d.begin - first, of_d.end - first}, {0, spec.n}};
  join.operands = local;
  join.operands.d = block_of(local.d, block);
  if (spec.reads_c()) join.operands.c = block_of(local.c, block);
  return window.join(stream, spec, join, info);
}

}  // namespace detgemm::cluster

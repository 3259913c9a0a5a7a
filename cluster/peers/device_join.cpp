// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/peers/device_join.hpp"

#include <algorithm>

#include "cluster/api/gather.hpp"
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
  const std::size_t row = static_cast<std::size_t>(std::max<std::int64_t>(n, 1)) * sizeof(float);
  layout.one_shot_rows = static_cast<std::int64_t>(layout.mail_stride / row);
  layout.two_shot_rows = static_cast<std::int64_t>(layout.root_stride / row);
  if (output == Placement::replicated) {
    const std::size_t result = row / sizeof(float) * size_of(d);
    // Rank 0 has most rows: 8 more than others at most.
    const auto each =
        static_cast<std::int64_t>((window_bytes - layout.results_at) / result) / 8 * 8;
    layout.two_shot_rows = std::min(layout.two_shot_rows, each * shares.ranks());
  }
  return layout;
}

Algorithm choose_by_peers(std::int64_t m, std::int64_t n, int ranks, std::size_t nodes) {
  // one_shot moves the roots of all nodes to all ranks in one step; two_shot each root once and D
  // once, in two. On two H200s they took the same time between 262144 elements, where one_shot won
  // by 0.8 us, and 524288, where two_shot won by 3.1 us (docs/log/cluster.md).
  constexpr std::int64_t kElements = 320'000;
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

Status DeviceCall::join_piece(Range rows) const {
  PeerWindow& window = *state.device_window;
  const int rank = state.transport->rank();
  const int ranks = state.transport->size();
  const auto bytes_of = [&](std::int64_t count) {
    return static_cast<std::size_t>(count * spec.n) * sizeof(float);
  };
  PeerJoin join;
  join.m = rows.size();
  join.two_shot = algorithm == Algorithm::two_shot;
  join.rows_out = output == Placement::rows;
  std::vector<std::int64_t> borders{0};
  for (int r = 0; r < ranks; ++r) borders.push_back(rows_in(rows, r).end - rows.begin);
  join.rows = borders;
  join.nodes = layout.nodes;
  join.owners = layout.owners;
  join.roots_at = layout.roots_at;
  join.root_stride = layout.root_stride;
  join.mail_stride = layout.mail_stride;
  join.odd_mail = layout.odd_mail;
  join.results_at = layout.results_at;
  const bool there = window_row >= 0;
  if (there) join.roots_at += bytes_of(window_row + rows.begin);
  std::vector<const void*> own;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const void* from = static_cast<const std::byte*>(roots[i]) + bytes_of(rows.begin);
    if (join.two_shot && !there) {
      const std::size_t bytes = bytes_of(rows.size());
      void* const to = window.data() + join.roots_at + i * join.root_stride;
      if (Status s = device.copy_2d(stream, to, bytes, from, bytes, bytes, 1); !s) return s;
      from = to;
    }
    own.push_back(from);
  }
  join.roots = own;
  const std::int64_t facts[] = {number, m, window_row, rows.begin, rows.end};
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

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "cluster/join/join.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/peers.hpp"

namespace detgemm::cluster {
namespace {

/// Where the roots and results of a plan are in windows of devices; the same on all ranks.
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
  std::int64_t window_rows = 0;  ///< of roots, that products may write where two_shot reads them
  std::size_t mail_stride = 0, odd_mail = 0;
  std::size_t roots_at = 0, root_stride = 0, push_stride = 0;
  std::size_t results_at = 0;

  static DeviceLayout of(const JoinSpec& spec, std::size_t window_bytes);
  /// Rows that a call joins by this algorithm, at most.
  std::int64_t rows(Algorithm algorithm) const {
    return algorithm == Algorithm::one_shot ? one_shot_rows
           : algorithm == Algorithm::push   ? push_rows
                                            : two_shot_rows;
  }
};

std::size_t aligned_down(std::size_t bytes) {
  return bytes / kWorkspaceAlignment * kWorkspaceAlignment;
}

DeviceLayout DeviceLayout::of(const JoinSpec& spec, std::size_t window_bytes) {
  DeviceLayout layout;
  std::size_t most = 1;  // nodes of a rank
  for (int r = 0; r < spec.shares.ranks(); ++r) {
    for (const LeafRange& node : spec.shares.cover(r)) {
      layout.nodes.push_back(node);
      layout.owners.push_back(r);
    }
    most = std::max(most, spec.shares.cover(r).size());
  }
  const std::size_t eighth = aligned_down(window_bytes / 8);
  layout.odd_mail = aligned_down(eighth / 2);
  layout.roots_at = eighth;
  layout.results_at = 6 * eighth;
  layout.mail_stride =
      aligned_down(layout.odd_mail / std::max<std::size_t>(1, layout.nodes.size()));
  layout.root_stride = aligned_down(5 * eighth / most);
  layout.push_stride = aligned_down(5 * eighth / std::max<std::size_t>(1, layout.nodes.size()));
  const std::int64_t n = std::max<std::int64_t>(spec.plan.spec().n, 1);
  const std::size_t row = gather_bytes(1, n, DType::fp32);
  // Two elements are one word of 16 bytes.
  layout.one_shot_rows = static_cast<std::int64_t>(layout.mail_stride / (2 * row));
  layout.two_shot_rows = static_cast<std::int64_t>(layout.root_stride / row);
  layout.window_rows = layout.two_shot_rows;
  // Where D is replicated a piece is shared out. Rank 0 has most rows of it: 8 more than others at
  // most, and all where they are no more than 8. Where D is in rows all of a piece may be one's.
  const auto shared_out = [&](std::int64_t each) {
    return each >= 8 ? each / 8 * 8 * spec.shares.ranks() : each;
  };
  layout.push_rows = static_cast<std::int64_t>(layout.push_stride / row);
  if (spec.output == Placement::replicated) {
    const std::size_t result = gather_bytes(1, n, spec.plan.spec().contract.output);
    const std::int64_t results =
        shared_out(static_cast<std::int64_t>((window_bytes - layout.results_at) / result));
    layout.two_shot_rows = std::min(layout.two_shot_rows, results);
    layout.push_rows = std::min(shared_out(layout.push_rows), results);
  }
  return layout;
}

/// What automatic takes for m rows where both are possible.
Algorithm choose(std::int64_t m, std::int64_t n, int ranks, std::size_t nodes) {
  // one_shot moves the roots of all nodes to all ranks in one step, 8 bytes per element; two_shot
  // each root once and D once, in two. On two H200s they took the same time at 131072 elements
  // before one_shot began early, and on four two_shot is ahead by a quarter at 196608
  // (docs/log/cluster.md).
  constexpr std::int64_t kElements = 140'000;
  // A rank sends half of all and more: so many elements are too many, and their number may be none.
  if (nodes > 0 && m > 0 && n > 2 * kElements / m) return Algorithm::two_shot;
  const auto sent = static_cast<std::int64_t>(nodes) * m * n * (ranks - 1) / ranks;
  return sent <= kElements ? Algorithm::one_shot : Algorithm::two_shot;
}

/// All of it is put on the stream: kernels wait for each other. Rows beyond what the windows hold
/// are done in pieces.
class DeviceWindowJoin final : public Join {
 public:
  DeviceWindowJoin(JoinSpec spec, DeviceLayout layout)
      : Join(std::move(spec)), layout_(std::move(layout)) {}

  std::size_t workspace_bytes(std::int64_t) const override { return 0; }

  /// one_shot's roots are never in the window: no rank waits until this one has read its own roots,
  /// before a push of the next call writes into its window.
  RootPlace root_place(std::int64_t m) const override {
    const Algorithm chosen = chosen_for(m);
    if (chosen == Algorithm::push) return RootPlace::other_windows;
    const bool fit = chosen == Algorithm::two_shot && m <= layout_.window_rows;
    return fit ? RootPlace::window : RootPlace::workspace;
  }
  std::byte* root_in_window(std::size_t i) const override {
    return state().device_window->data() + layout_.roots_at + i * layout_.root_stride;
  }
  /// In one piece, whose rows are in the window as they are in M.
  bool takes_roots_in_window(std::int64_t m) const override {
    return chosen_for(m) == Algorithm::two_shot &&
           m <= std::min(layout_.window_rows, layout_.two_shot_rows);
  }
  std::byte* take_blank_roots(std::int64_t m) const override {
    if (chosen_for(m) != Algorithm::one_shot || m > layout_.one_shot_rows) return nullptr;
    const std::size_t bytes = shares().cover(rank()).size() * root_bytes(m);
    const bool any = bytes > 0 && spec().n % 8 == 0;  // kernels that take vectors
    return any ? state().device_window->take_blank_roots(bytes) : nullptr;
  }
  std::int64_t rows_in_workspace(std::int64_t max_m) const override;

  /// Kernels that join take multiprocessors from the product beside them: on two H200s more chunks
  /// than one cost up to 57 % and won at most 2.4 % (docs/log/cluster.md), so they are opt-in. A
  /// push sends while it multiplies as it is.
  std::int32_t chunks(std::int64_t m, std::int32_t asked) const override {
    return asked == 0 || chosen_for(m) == Algorithm::push ? 1 : Join::chunks(m, asked);
  }

 private:
  Status join(const JoinCall& call) const override;
  std::string way(std::int64_t m) const override;
  bool scatters(std::int64_t m) const override { return chosen_for(m) != Algorithm::one_shot; }

  /// The rows of a piece that each rank joins in two_shot and push.
  using Piece = std::vector<Range>;

  Algorithm chosen_for(std::int64_t m) const;
  Piece rows_side_by_side(std::int64_t m, Range rows) const;
  Status copy_to_window(const JoinCall& call, const Piece& piece, std::size_t root,
                        std::byte* to) const;
  Status push(const JoinCall& call, const Piece& piece) const;
  Status join_piece(const JoinCall& call, Algorithm algorithm, const Piece& piece) const;

  DeviceLayout layout_;
};

Algorithm DeviceWindowJoin::chosen_for(std::int64_t m) const {
  if (algorithm() != Algorithm::automatic) return algorithm();
  if (output() == Placement::rows || !state().one_shot_by_default) return Algorithm::two_shot;
  const Algorithm chosen = choose(m, spec().n, ranks(), layout_.nodes.size());
  return m <= layout_.rows(chosen) ? chosen : Algorithm::two_shot;
}

std::int64_t DeviceWindowJoin::rows_in_workspace(std::int64_t max_m) const {
  const auto outside = [&](std::int64_t m) { return root_place(m) == RootPlace::workspace; };
  if (outside(max_m)) return max_m;
  if (algorithm() != Algorithm::automatic || output() == Placement::rows) return 0;
  std::int64_t below = 0;  // few rows are outside, many are not
  std::int64_t above = std::min(max_m, layout_.one_shot_rows) + 1;
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (outside(middle) ? below : above) = middle;
  }
  return below;
}

/// Where D is in rows and a call has several pieces, each has rows of every rank, so that all ranks
/// join at the same time and links carry roots both ways:
///
///     rows of     rank 0      rank 1            pieces: 0 2 | 1 3, and not 0 1 | 2 3
///                 [0][1]      [2][3]
Status DeviceWindowJoin::join(const JoinCall& call) const {
  // Roots in the window are read by two_shot, as few rows as these may be.
  const Algorithm algorithm = call.window_row >= 0 ? Algorithm::two_shot : chosen_for(call.m);
  const std::int64_t most = layout_.rows(algorithm);
  // A window has rows of all ranks in two_shot, and those of its own rank in push.
  const std::int64_t each = algorithm == Algorithm::push ? most : most / ranks();
  if (output() == Placement::rows && call.m > most && each > 0) {
    const std::int64_t longest = rows_of(call.m, 0, ranks()).size();
    for (std::int64_t begin = 0; begin < longest; begin += each) {
      Piece piece;
      for (int r = 0; r < ranks(); ++r) {
        const Range all = rows_of(call.m, r, ranks());
        const std::int64_t from = std::min(all.begin + begin, all.end);
        piece.push_back({from, std::min(from + each, all.end)});
      }
      if (Status s = join_piece(call, algorithm, piece); !s) return s;
    }
    return {};
  }
  for (std::int64_t begin = 0; begin < call.m; begin += most) {
    const Range rows{begin, std::min(call.m, begin + most)};
    if (Status s = join_piece(call, algorithm, rows_side_by_side(call.m, rows)); !s) return s;
  }
  return {};
}

/// `rows` of M, cut for the ranks: those that are theirs where each has rows of D, else equal
/// parts.
DeviceWindowJoin::Piece DeviceWindowJoin::rows_side_by_side(std::int64_t m, Range rows) const {
  Piece piece;
  for (int r = 0; r < ranks(); ++r) {
    if (output() == Placement::rows) {
      const Range all = rows_of(m, r, ranks());
      piece.push_back(
          {std::clamp(all.begin, rows.begin, rows.end), std::clamp(all.end, rows.begin, rows.end)});
    } else {
      const Range part = rows_of(rows.size(), r, ranks());
      piece.push_back({rows.begin + part.begin, rows.begin + part.end});
    }
  }
  return piece;
}

/// The rows of a root that other ranks join, to where they read them; this rank reads its own rows
/// where they are.
Status DeviceWindowJoin::copy_to_window(const JoinCall& call, const Piece& piece, std::size_t root,
                                        std::byte* to) const {
  const auto* const from = static_cast<const std::byte*>(call.roots[root]);
  std::int64_t at = 0;  // in the window, whose rows are packed
  Range run{0, 0};      // rows that follow each other are one copy
  const auto copy_run = [&](Range next) -> Status {
    if (next.begin == run.end && next.size() > 0 && run.size() > 0) {
      run.end = next.end;
      return {};
    }
    const Range ready = std::exchange(run, next);
    if (ready.size() == 0) return {};
    return device().copy(call.stream, to + root_bytes(at - ready.size()),
                         from + root_bytes(ready.begin), root_bytes(ready.size()));
  };
  for (int r = 0; r < ranks(); ++r) {
    const Range rows = piece[static_cast<std::size_t>(r)];
    if (Status s = copy_run(r == rank() ? Range{0, 0} : rows); !s) return s;
    at += rows.size();
  }
  return copy_run({0, 0});
}

/// Every rank's rows of this rank's roots go into that rank's window, beginning with the next
/// rank's, so that every window has one writer at a time.
Status DeviceWindowJoin::push(const JoinCall& call, const Piece& piece) const {
  const auto first = static_cast<std::size_t>(
      std::find(layout_.owners.begin(), layout_.owners.end(), rank()) - layout_.owners.begin());
  for (int i = 1; i <= ranks(); ++i) {
    const int to = (rank() + i) % ranks();
    const Range rows = piece[static_cast<std::size_t>(to)];
    if (rows.size() == 0) continue;
    for (std::size_t node = 0; node < shares().cover(rank()).size(); ++node) {
      std::byte* const slot = state().device_window->data_of(to) + layout_.roots_at +
                              (first + node) * layout_.push_stride;
      if (call.produce != nullptr) {
        if (Status s = (*call.produce)(node, rows, slot); !s) return s;
        continue;
      }
      const void* const from =
          static_cast<const std::byte*>(call.roots[node]) + root_bytes(rows.begin);
      if (Status s = device().copy(call.stream, slot, from, root_bytes(rows.size())); !s) return s;
    }
  }
  return {};
}

Status DeviceWindowJoin::join_piece(const JoinCall& call, Algorithm algorithm,
                                    const Piece& piece) const {
  PeerWindow& window = *state().device_window;
  const Range mine = piece[static_cast<std::size_t>(rank())];
  const Range all{piece.front().begin, piece.back().end};
  PeerJoin join;
  join.way = algorithm == Algorithm::one_shot   ? PeerJoin::Way::one_shot
             : algorithm == Algorithm::two_shot ? PeerJoin::Way::two_shot
                                                : PeerJoin::Way::push;
  join.rows_out = output() == Placement::rows;
  std::vector<std::int64_t> borders{0};
  for (const Range& rows : piece) borders.push_back(borders.back() + rows.size());
  join.m = borders.back();
  join.rows = borders;
  join.nodes = layout_.nodes;
  join.owners = layout_.owners;
  join.roots_at = layout_.roots_at;
  join.root_stride = algorithm == Algorithm::push ? layout_.push_stride : layout_.root_stride;
  join.mail_stride = layout_.mail_stride;
  join.odd_mail = layout_.odd_mail;
  join.results_at = layout_.results_at;
  const bool there = call.window_row >= 0;
  if (there) join.roots_at += root_bytes(call.window_row + all.begin);
  if (algorithm == Algorithm::push) {
    if (Status s = push(call, piece); !s) return s;
  }
  // Row r of the piece is row r + shift of M, as far as this rank's rows are concerned.
  const std::int64_t shift = mine.begin - borders[static_cast<std::size_t>(rank())];
  std::vector<const void*> own;
  for (std::size_t i = 0; i < call.roots.size() && algorithm != Algorithm::push; ++i) {
    if (algorithm == Algorithm::two_shot && !there) {
      std::byte* const to = window.data() + join.roots_at + i * join.root_stride;
      const bool is_there = call.roots[i] == to;
      if (Status s = is_there ? Status{} : copy_to_window(call, piece, i, to); !s) return s;
    }
    own.push_back(static_cast<const std::byte*>(call.roots[i]) + root_bytes(shift));
  }
  join.roots = own;
  const std::int64_t facts[] = {number(),  call.m,  call.window_row,
                                all.begin, all.end, static_cast<std::int64_t>(algorithm)};
  join.step = digest_bytes(facts, sizeof facts);
  join.operands = part_of(call, join.rows_out ? mine : all);
  return window.join(call.stream, spec(), join, call.info);
}

std::string DeviceWindowJoin::way(std::int64_t m) const {
  const Algorithm chosen = chosen_for(m);
  return std::string(name(chosen)) + " in pieces of " + std::to_string(layout_.rows(chosen)) +
         " rows, windows of " + std::to_string(state().device_window->bytes()) +
         " bytes on each device";
}

}  // namespace

Result<std::unique_ptr<Join>> join_in_device_windows(JoinSpec spec) {
  const PeerWindow& window = *spec.communicator.state().device_window;
  DeviceLayout layout = DeviceLayout::of(spec, window.bytes());
  const GemmSpec& whole = spec.plan.spec();
  if (Status s = window.supports(whole, layout.nodes); !s) return s;
  const Algorithm way =
      uses_windows(spec.algorithm) ? spec.algorithm : Algorithm::two_shot;  // automatic
  if (layout.rows(way) < 1) {
    return invalid("window_bytes leaves " + std::to_string(window.bytes()) +
                   " bytes: not one row of n = " + std::to_string(whole.n) + " and " +
                   std::to_string(layout.nodes.size()) + " nodes has room with " +
                   std::string(name(way)));
  }
  return std::unique_ptr<Join>(
      std::make_unique<DeviceWindowJoin>(std::move(spec), std::move(layout)));
}

}  // namespace detgemm::cluster

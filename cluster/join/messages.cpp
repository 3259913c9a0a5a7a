// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cluster/join/join.hpp"

namespace detgemm::cluster {
namespace {

/// From so many rows per rank on, automatic scatters.
constexpr std::int64_t kRowsToScatter = 8;

/// Roots travel as messages of the transport:
///
///   gather    roots_r --all to all--> roots of all ranks --combine--> D
///   scatter   roots_r --slice q to rank q--> rows r of all roots --combine--> rows r of D
///             rows r of D --to all--> D                    (not with Placement::rows)
///
/// Messages between two ranks are listed node by node, in leaf order, on both sides.
class MessageJoin final : public Join {
 public:
  using Join::Join;

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    // The algorithm may be another one for fewer rows.
    const std::int64_t most_gathered = output() == Placement::rows        ? 0
                                       : algorithm() == Algorithm::gather ? max_m
                                       : algorithm() == Algorithm::scatter
                                           ? kRowsToScatter * (ranks() - 1)
                                           : kRowsToScatter * ranks() - 1;
    const std::int64_t rows =
        std::max(rows_of(max_m, 0, ranks()).size(), std::min(max_m, most_gathered));
    std::size_t bytes = foreign_nodes() * padded(root_bytes(rows));
    // Rows of a D with gaps travel packed, in the memory of the roots.
    if (output() == Placement::replicated && algorithm() != Algorithm::gather) {
      bytes = std::max(bytes, padded(d_bytes(max_m)));
    }
    return bytes + padded(*plan().workspace_bytes(max_m));
  }

 private:
  Status join(const JoinCall& call) const override {
    const std::int64_t m = call.m;
    const bool scatter = scatters(m);
    const auto slice_of = [&](int r) { return scatter ? rows_of(m, r, ranks()) : Range{0, m}; };
    const Range slice = slice_of(rank());
    const std::size_t root = padded(root_bytes(slice.size()));
    JoinCall rest = call;
    const Workspace for_roots = take(rest.workspace, foreign_nodes() * root);
    auto* const memory = static_cast<std::byte*>(for_roots.data);
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (int r = 0; r < ranks(); ++r) {
      if (r == rank()) continue;
      const Range theirs = slice_of(r);
      for (const void* of_node : call.roots) {
        if (theirs.size() == 0) continue;
        sends.push_back({r, static_cast<const std::byte*>(of_node) + root_bytes(theirs.begin),
                         root_bytes(theirs.size())});
      }
      for (std::size_t i = 0; i < shares().cover(r).size() && slice.size() > 0; ++i) {
        receives.push_back({r, memory + receives.size() * root, root_bytes(slice.size())});
      }
    }
    const auto patience = state().options.patience;
    if (Status s =
            state().after(state().transport->exchange(call.stream, sends, receives, patience));
        !s) {
      return s;
    }
    std::size_t next = 0;
    const auto received = [&](int, std::size_t) { return memory + next++ * root; };
    if (Status s = combine(rest, slice, received); !s) return s;
    if (!scatter || output() == Placement::rows) return {};
    // Every rank has its rows of D and sends them to all others, once the roots are joined.
    const auto block = [&](int r) { return Block{rows_of(m, r, ranks()), {0, spec().n}}; };
    const Matrix& d = call.local.d;
    return Gather{state(), device(), call.stream, block, call.workspace}.run(
        block_of(d, block(rank())), d);
  }

  std::string way(std::int64_t m) const override { return scatters(m) ? "scatter" : "gather"; }

  bool scatters(std::int64_t m) const override {
    if (output() == Placement::rows) return true;
    // Where a rank has no rows, it would wait for two steps in place of one.
    if (rows_of(m, ranks() - 1, ranks()).size() == 0) return false;
    if (algorithm() != Algorithm::automatic) return algorithm() == Algorithm::scatter;
    return m >= kRowsToScatter * ranks();
  }
};

}  // namespace

std::unique_ptr<Join> join_by_messages(JoinSpec spec) {
  return std::make_unique<MessageJoin>(std::move(spec));
}

}  // namespace detgemm::cluster

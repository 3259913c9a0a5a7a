// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>

#include "detgemm/cluster.hpp"

namespace detgemm::cluster {
namespace {

constexpr std::int64_t kSliceRows = 8;  // a slice begins at a whole line of any 16-bit row

Status check_sharing(const Contract& contract, std::int64_t k) {
  const auto none = cover(contract, k, {});
  if (none) return {};
  if (contract.reduction.kind == ReductionKind::tree) return none.status();
  return unsupported("contract is " + contract.text() +
                     ": its sum runs through all of K in order, so give K to one rank or choose "
                     "tree:LEAF");
}

std::string text(KRange range) {
  return "[" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}

}  // namespace

std::string_view name(Placement placement) noexcept {
  switch (placement) {
    case Placement::replicated:
      return "replicated";
    case Placement::rows:
      return "rows";
    case Placement::columns:
      return "columns";
  }
  return "unknown";
}

std::string_view name(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::automatic:
      return "automatic";
    case Algorithm::gather:
      return "gather";
    case Algorithm::scatter:
      return "scatter";
    case Algorithm::one_shot:
      return "one_shot";
    case Algorithm::two_shot:
      return "two_shot";
    case Algorithm::push:
      return "push";
  }
  return "unknown";
}

Range rows_of(std::int64_t m, int rank, int ranks) noexcept {
  if (m <= 0 || ranks < 1 || rank < 0 || rank >= ranks) return {};
  const std::int64_t slices = (m - 1) / kSliceRows + 1;
  const std::int64_t each = slices / ranks;
  const std::int64_t extra = slices % ranks;  // the first ranks have one more
  // Slices are compared before they become rows: those of an m near 2^63 end beyond it.
  const auto begin = [&](std::int64_t r) {
    const std::int64_t slice = r * each + std::min(r, extra);
    return slice < slices ? slice * kSliceRows : m;
  };
  return {begin(rank), begin(rank + 1)};
}

Result<Shares> Shares::make(const Contract& contract, std::int64_t k,
                            std::vector<LeafRange> leaves) {
  Shares shares;
  shares.k_ = k;
  shares.leaves_ = std::move(leaves);
  for (const LeafRange& range : shares.leaves_) {
    auto nodes = detgemm::cover(contract, k, range);
    if (!nodes) return nodes.status();
    auto products = k_of(contract, k, range);
    if (!products) return products.status();
    shares.covers_.push_back(*std::move(nodes));
    shares.ranges_.push_back(*products);
  }
  std::size_t nodes = 0;
  for (const auto& cover_of_rank : shares.covers_) nodes += cover_of_rank.size();
  if (nodes <= kMaxNodeRoots) return shares;
  return invalid("shares have " + std::to_string(nodes) + " nodes of the tree: at most " +
                 std::to_string(kMaxNodeRoots) + " are joined");
}

Result<Shares> Shares::even(const Contract& contract, std::int64_t k, int ranks) {
  if (Status s = check_sharing(contract, k); !s) return s;
  if (ranks < 1) return invalid("ranks is " + std::to_string(ranks) + ": it must be at least 1");
  const std::int64_t count = contract.leaves(k);
  std::vector<LeafRange> leaves;
  for (std::int64_t r = 0; r < ranks; ++r) {
    // floor(r * count / ranks): cuts of powers of two are cuts of the tree's own splits.
    const auto cut = [&](std::int64_t i) { return count / ranks * i + count % ranks * i / ranks; };
    leaves.push_back({cut(r), cut(r + 1)});
  }
  return make(contract, k, std::move(leaves));
}

Result<Shares> Shares::of(const Contract& contract, std::int64_t k,
                          std::span<const KRange> ranges) {
  if (Status s = check_sharing(contract, k); !s) return s;
  if (ranges.empty()) return invalid("ranges has no elements: there is one per rank");
  const std::int64_t leaf = contract.reduction.leaf_k;
  std::vector<LeafRange> leaves;
  std::int64_t at = 0;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    const KRange& range = ranges[r];
    const std::string what = "ranges[" + std::to_string(r) + "] is " + text(range);
    if (range.begin != at) {
      return invalid(what + ": it must begin at " + std::to_string(at) +
                     ", where the share before it ends");
    }
    if (range.end < range.begin || range.end > k) {
      return invalid(what + ": it must end between " + std::to_string(at) +
                     " and k = " + std::to_string(k));
    }
    if (range.end != k && range.end % leaf != 0) {
      const std::int64_t before = range.end / leaf * leaf;
      return invalid(what + ": leaves are " + std::to_string(leaf) +
                     " products, so the nearest cuts are " + std::to_string(before) + " and " +
                     std::to_string(before > k - leaf ? k : before + leaf));
    }
    const auto leaf_at = [&](std::int64_t i) { return i == k ? contract.leaves(k) : i / leaf; };
    leaves.push_back({leaf_at(range.begin), leaf_at(range.end)});
    at = range.end;
  }
  if (at != k) {
    return invalid("ranges end at " + std::to_string(at) +
                   ": they must hold all of k = " + std::to_string(k));
  }
  return make(contract, k, std::move(leaves));
}

}  // namespace detgemm::cluster

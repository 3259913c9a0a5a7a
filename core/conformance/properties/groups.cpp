// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Forward passes of a mixture of experts: what must not enter a row of D.

#include <algorithm>
#include <array>

#include "core/conformance/properties/experts.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::size_t kExperts = 8;

OffsetType any_type(Case& c) { return c.random().one_in(2) ? OffsetType::i32 : OffsetType::i64; }

template <class T>
void shuffle(Case& c, std::vector<T>& list) {
  for (std::size_t i = list.size(); i > 1; --i) {
    std::swap(list[i - 1],
              list[static_cast<std::size_t>(c.random().below(static_cast<std::int64_t>(i)))]);
  }
}

/// Batched groups that all have one A, or one B: the distance to the next group's is then 0.
void shared_operands(Case& c) {
  if (c.contract().reduction.kind == ReductionKind::scaled) return;  // its scales are not shared
  if (!computes_groups(c, GroupKind::batched)) return;
  constexpr std::int64_t kGroups = 3;
  const Shape shape{c.random().between(2, 9), c.random().between(2, 9), 2 * c.stretch() + 3};
  for (const bool shares_a : {true, false}) {
    const Request all =
        c.draw({shape.m * (shares_a ? 1 : kGroups), shape.n * (shares_a ? kGroups : 1), shape.k});
    const auto product = c.run(all);
    if (!product) return;
    GroupedRequest request;
    request.spec.gemm.contract = c.contract();
    request.options = all.options;
    request.offsets.assign(kGroups, 0);
    request.a = all.a;
    request.shares_a = shares_a;
    request.shares_b = !shares_a;
    request.b = Elements(all.b.dtype, shares_a ? kGroups * shape.k : shape.k, shape.n);
    Elements expected(product->d.dtype, kGroups * shape.m, shape.n);
    for (std::int64_t g = 0; g < (shares_a ? kGroups : 1); ++g) {
      paste_rows(request.b, g * shape.k, col_slice(all.b, g * shape.n, (g + 1) * shape.n));
      paste_rows(expected, g * shape.m, col_slice(product->d, g * shape.n, (g + 1) * shape.n));
    }
    draw_layouts(c.random(), request);
    const auto got = c.run(request);
    if (!got) return;
    if (!c.same(expected, got->d, shares_a ? "groups that share A" : "groups that share B")) return;
  }
}

}  // namespace

/// Rows of a group in another order, and some of them alone.
void group_neighbours(Case& c) {
  if (!computes_groups(c, GroupKind::m_grouped)) return;
  const auto experts = draw_experts(c, 4);
  if (!experts) return;
  for (const std::int64_t keep : {1, 2, 3, 1000}) {
    Arrangement x{whole_groups(*experts)};
    for (Group& group : x.groups) {
      shuffle(c, group.rows);
      if (static_cast<std::int64_t>(group.rows.size()) > keep) {
        group.rows.resize(static_cast<std::size_t>(keep));
      }
    }
    x.type = any_type(c);
    if (!same_rows(c, *experts, x, "at most " + std::to_string(keep) + " rows per group")) return;
  }
  check_order_matters(c, *experts);
}

/// Groups in other places, of all kinds that have rows.
void group_order(Case& c) {
  if (!computes_groups(c, GroupKind::m_grouped)) return;
  const auto experts = draw_experts(c, kExperts);
  if (!experts) return;
  // A batch takes as much work for each group as for the largest, which has whole tiles in some
  // cases.
  const GroupKind stacked = c.index() % 3 == 2 ? GroupKind::m_masked : GroupKind::batched;
  const std::array kinds{GroupKind::m_grouped, GroupKind::m_masked, GroupKind::m_grouped, stacked};
  Arrangement x{whole_groups(*experts)};
  for (int turn = 0; turn < 4; ++turn) {
    x.type = any_type(c);
    x.kind = kinds[static_cast<std::size_t>(turn + c.index()) % kinds.size()];
    if (!computes_groups(c, x.kind)) x.kind = GroupKind::m_grouped;
    if (!same_rows(c, *experts, x, turn == 0 ? "in order" : "in another order")) return;
    shuffle(c, x.groups);
    // The group with most rows once at each end, too.
    const auto first = std::find_if(x.groups.begin(), x.groups.end(),
                                    [](const Group& group) { return group.expert == 0; });
    if (turn > 0) std::swap(*first, turn == 1 ? x.groups.front() : x.groups.back());
  }
  check_order_matters(c, *experts);
}

namespace {

/// A group alone, as a batch of one and with a count of its rows.
bool one_stacked_group(Case& c, const std::vector<Expert>& experts, Arrangement x) {
  for (const GroupKind kind : {GroupKind::batched, GroupKind::m_masked}) {
    x.kind = kind;
    if (computes_groups(c, kind) && !same_rows(c, experts, x, "a group alone")) return false;
  }
  return true;
}

}  // namespace

/// One expert among 1 to 1000 groups, of which the others are empty.
void group_count(Case& c) {
  if (!computes_groups(c, GroupKind::m_grouped)) return;
  const auto experts = draw_experts(c, 2);
  if (!experts) return;
  for (const std::size_t count : {1, 2, 3, 8, 64, 130, 1000}) {
    if (count == 1000 && !c.full()) break;
    Arrangement x;
    x.groups.assign(count, Group{1, {}});
    const std::int64_t place = c.random().below(static_cast<std::int64_t>(count));
    x.groups[static_cast<std::size_t>(place)] = whole_group(*experts, 0);
    x.type = any_type(c);
    if (!same_rows(c, *experts, x, std::to_string(count) + " groups")) return;
    if (count == 1 && !one_stacked_group(c, *experts, x)) return;
    if (count < 130 || c.index() % 3 == 2) continue;  // whole tiles would take seconds
    // The last group of many, and the kinds whose groups all have an array of their own.
    x.groups.back() = whole_group(*experts, 0);
    for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked, GroupKind::batched}) {
      x.kind = kind;
      if (count > 130 && kind != GroupKind::m_grouped) break;
      if (!c.full() && kind != (c.index() == 0 ? GroupKind::m_masked : GroupKind::batched))
        continue;
      if (computes_groups(c, kind) &&
          !same_rows(c, *experts, x, std::to_string(count) + " groups, the last one too")) {
        return;
      }
    }
  }
  check_order_matters(c, *experts);
}

/// Rows of noise within segments, behind the last one, beyond the count of a masked group, and in
/// products of equal size.
void group_padding(Case& c) {
  if (!computes_groups(c, GroupKind::m_grouped)) return;
  const auto experts = draw_experts(c, 4);
  if (!experts) return;
  for (const std::int64_t rows : {0, 1, 3, 64, 100, 300}) {
    if (rows == 300 && !c.full()) break;
    Arrangement x{whole_groups(*experts), rows, rows / 2};
    x.type = any_type(c);
    if (!same_rows(c, *experts, x, std::to_string(rows) + " rows of padding")) return;
    x.kind = GroupKind::m_masked;
    if (computes_groups(c, x.kind) &&
        !same_rows(c, *experts, x, "masked, " + std::to_string(rows) + " rows of room")) {
      return;
    }
    x.kind = GroupKind::batched;
    if (computes_groups(c, x.kind) &&
        !same_rows(c, *experts, x, "batched, " + std::to_string(rows) + " rows of noise")) {
      return;
    }
  }
  check_order_matters(c, *experts);
  shared_operands(c);
}

/// Eight experts on 1, 2, 4 and 8 ranks, each with the rows that were sent to it, in another order.
void group_ranks(Case& c) {
  if (!computes_groups(c, GroupKind::m_grouped)) return;
  const auto experts = draw_experts(c, kExperts);
  if (!experts) return;
  for (const std::size_t ranks : {1, 2, 4, 8}) {
    const std::size_t share = kExperts / ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Arrangement x;
      for (std::size_t i = 0; i < share; ++i) {
        x.groups.push_back(whole_group(*experts, rank * share + i));
        shuffle(c, x.groups.back().rows);
      }
      x.type = any_type(c);
      if (!same_rows(c, *experts, x,
                     "rank " + std::to_string(rank) + " of " + std::to_string(ranks))) {
        return;
      }
    }
  }
  check_order_matters(c, *experts);
}

}  // namespace detgemm::conformance

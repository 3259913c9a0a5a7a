// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines whose single products are right, and whose problems of many groups are not.

namespace detgemm::controls {
namespace {

constexpr std::string_view kGroupFold = "hopper/bf16/fold:32->fp32";
constexpr std::string_view kWideChainOut = "hopper/bf16/chain->fp32";
constexpr std::string_view kGroupTree = "ieee_fma/fp32/tree:16->fp32";

bool by_rows(const GroupedArguments& p) { return p.kind == GroupKind::m_grouped; }

/// A chain in place of the contract's reduction, or leaves in place of its chain.
void other_reduction(GemmArguments& g) {
  g.reduction =
      g.reduction.kind == ReductionKind::chain ? Reduction{ReductionKind::fold, 32} : Reduction{};
}

// What must not enter.
void by_size(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && g.m > 2) other_reduction(g);
}
void by_index(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (by_rows(p) && group == p.groups / 2) other_reduction(g);
}
void by_count(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && p.groups >= 128) other_reduction(g);
}
void by_all_rows(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && p.all.m > 200) other_reduction(g);
}
void ignores_count(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::m_masked) g.m = p.all.m;
}
void by_share(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && p.groups == 4) other_reduction(g);
}

// How D and C lie.
bool at_16_bytes(std::int64_t elements, std::int64_t bytes) { return elements * bytes % 16 == 0; }
/// Where D's columns run along memory, a segment is taken to begin at a multiple of 16 bytes.
void segment_of_columns(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (!by_rows(p) || g.ds.row != 1 || g.m <= 1) return;
  const Segment s = segment_of(p.offsets, p.offset_type, group, p.all.m);
  if (!at_16_bytes(s.begin, p.d_bytes)) other_reduction(g);
}
/// The same of whole groups of columns that stand side by side in memory.
void stack_of_columns(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  const bool interleaved = g.ds.row == 1 && p.distance.d < g.ds.col && g.n > 1;
  if (!by_rows(p) && interleaved && !at_16_bytes(p.distance.d, p.d_bytes)) other_reduction(g);
}
/// Groups whose rows alternate in memory.
void alternating_rows(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (!by_rows(p) && g.ds.col == 1 && g.m > 1 && p.distance.d < g.ds.row) other_reduction(g);
}
/// C by columns and D by rows, or the other way round.
void c_across_d(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && g.c != nullptr && g.m > 1 && g.n > 1 && (g.cs.row == 1) != (g.ds.row == 1)) {
    other_reduction(g);
  }
}

// Segments of products.
void adds_to_c(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind != GroupKind::k_grouped || !g.continue_from_c) return;
  g.continue_from_c = false;  // D = C + (the finished sum), as a reducing store does it
  g.epilogue.beta = 1.0F;
}
void blocks_from_start(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (p.kind != GroupKind::k_grouped || group == 0 || g.k == 0) return;
  const Segment s = segment_of(p.offsets, p.offset_type, group, p.all.k);
  const std::int64_t into = s.begin % 16;
  if (into == 0 || into >= g.k) return;
  // The products before the group come first, so its own blocks begin `into` products late.
  g.a = moved(g.a, -into * g.as.col, p.a_bytes);
  g.b = moved(g.b, -into * g.bs.row, p.a_bytes);
  g.k += into;
}
void skips_empty(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::k_grouped && g.k == 0) g.m = 0;
}
void writes_nobodys(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (!by_rows(p) || group != p.groups - 1) return;
  const Segment s = segment_of(p.offsets, p.offset_type, group, p.all.m);
  g.a = moved(p.all.a, s.begin * g.as.row, p.a_bytes);
  g.d = moved(p.all.d, s.begin * g.ds.row, p.d_bytes);
  g.m = p.all.m - s.begin;
}

// What follows the accumulator, and how operands are stored.
void forgets_alpha(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p)) g.epilogue.alpha = 1.0F;
}
void first_bias(const GroupedArguments& p, std::int64_t, GemmArguments& g) { g.bias = p.all.bias; }
void empty_without_bias(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::k_grouped && g.k == 0) g.epilogue.has_bias = false;
}
/// A distance of 0 is taken for that of packed arrays. All groups but the first would read what
/// follows, which is not theirs: their order stands for it.
void shared_b(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (p.kind == GroupKind::batched && p.distance.b == 0 && group > 0) other_reduction(g);
}
void in_place(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && g.c != nullptr && g.c == g.d) other_reduction(g);
}
void last_of_many(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (p.kind == GroupKind::batched && p.groups > 64 && group == p.groups - 1) other_reduction(g);
}
void alone_in_a_batch(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::batched && p.groups == 1) other_reduction(g);
}
void eighth_of_batch(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (p.kind == GroupKind::batched && group % 8 == 7) other_reduction(g);
}
void with_relu(const GroupedArguments&, std::int64_t, GemmArguments& g) {
  if (g.epilogue.activation == Activation::relu) other_reduction(g);
}
void long_segment(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::k_grouped && g.k > 512) other_reduction(g);
}
void whole_segment(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::k_grouped && g.k % 16 == 0) other_reduction(g);
}
void by_bias(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::k_grouped && g.epilogue.has_bias) other_reduction(g);
}

constexpr std::array kGroupFaults{
    PlantedInGroups{"group_size_switch", "groups of more than 2 rows are added in another order",
                    "group_neighbours", kNarrowChain, by_size},
    PlantedInGroups{"group_index_switch", "the group in the middle is added in another order",
                    "group_order", kGroupTree, by_index},
    PlantedInGroups{"group_count_switch", "128 groups and more are added in another order",
                    "group_count", kGroupFold, by_count},
    PlantedInGroups{"all_rows_switch", "more than 200 rows of all groups mean another order",
                    "group_padding", kNarrowChain, by_all_rows},
    PlantedInGroups{"ignores_count", "rows beyond a group's count are written", "group_padding",
                    kWideChain, ignores_count},
    PlantedInGroups{"share_switch", "four groups are added in another order", "group_ranks",
                    kGroupFold, by_share},
    PlantedInGroups{"segment_of_columns",
                    "a segment of D's columns that begins off 16 bytes is added in another order",
                    "group_padding", kGroupFold, segment_of_columns},
    PlantedInGroups{"stack_of_columns",
                    "columns of groups side by side, off 16 bytes, are added in another order",
                    "group_padding", kNarrowChain, stack_of_columns},
    PlantedInGroups{"stack_of_columns",
                    "columns of groups side by side, off 16 bytes, are added in another order",
                    "group_cuts", kWideChainOut, stack_of_columns},
    PlantedInGroups{"alternating_rows", "groups whose rows alternate are added in another order",
                    "group_padding", kNarrowChain, alternating_rows},
    PlantedInGroups{"group_c_across_d", "a group's C across D means another order", "group_order",
                    kGroupFold, c_across_d},
    PlantedInGroups{"adds_to_c", "a group's C is added to its finished sum", "group_cuts",
                    kWideChainOut, adds_to_c},
    PlantedInGroups{"blocks_from_start", "steps are counted from the arrays' start", "group_cuts",
                    kWideChainOut, blocks_from_start},
    PlantedInGroups{"skips_empty", "a group without products is not written", "group_empty",
                    kGroupFold, skips_empty},
    PlantedInGroups{"group_alpha", "alpha is forgotten in groups", "group_neighbours", kWideChain,
                    forgets_alpha},
    PlantedInGroups{"group_bias", "all groups have the first one's bias", "group_order",
                    kNarrowChain, first_bias},
    PlantedInGroups{"empty_group_bias", "a group without products forgets its bias", "group_empty",
                    kWideChain, empty_without_bias},
    PlantedInGroups{"shared_b", "a B that all groups share means another order", "group_padding",
                    kNarrowChain, shared_b},
    PlantedInGroups{"group_in_place", "groups whose D is C are added in another order",
                    "group_ranks", kNarrowChain, in_place},
    PlantedInGroups{"last_of_many",
                    "the last of more than 64 batched groups is added in another "
                    "order",
                    "group_count", kNarrowChain, last_of_many},
    PlantedInGroups{"batch_of_one", "a batch of one group is added in another order", "group_count",
                    kNarrowChain, alone_in_a_batch},
    PlantedInGroups{"eighth_of_batch", "every eighth batched group is added in another order",
                    "group_order", kNarrowChain, eighth_of_batch},
    PlantedInGroups{"group_relu", "groups with relu are added in another order", "group_ranks",
                    kNarrowChain, with_relu},
    PlantedInGroups{"long_segment", "segments of more than 512 products mean another order",
                    "group_cuts", kWideChainOut, long_segment},
    PlantedInGroups{"whole_segment", "segments of whole 16 products mean another order",
                    "group_cuts", kWideChain, whole_segment},
    PlantedInGroups{"segment_bias", "segments of products with a bias are added in another order",
                    "group_cuts", kWideChainOut, by_bias},
    PlantedInGroups{"writes_nobodys_rows", "rows after the last group are computed", "group_empty",
                    kNarrowChain, writes_nobodys},
};

}  // namespace

std::span<const PlantedInGroups> group_faults() { return kGroupFaults; }

Fault groups_share_scales() {
  Fault fault{"groups_share_scales", compute_honestly};
  fault.groups_share_scales = true;
  return fault;
}

}  // namespace detgemm::controls

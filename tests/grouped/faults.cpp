// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Backends that compute groups with one mistake each. A property that does not notice its mistake
// proves nothing about the backends that pass it. The mistakes that the conformance harness finds
// are in core/conformance/controls/groups.cpp.

#include <algorithm>
#include <cstring>
#include <string>

#include "core/conformance/controls/faulty_backend.hpp"
#include "tests/grouped/properties.hpp"

namespace detgemm::grouped_tests {
namespace {

bool by_rows(const GroupedArguments& p) { return p.kind == GroupKind::m_grouped; }

// Slices.
void offset_off_by_one(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && g.m > 1) g.a = moved(g.a, g.as.row, p.a_bytes);
}
void matrix_of_neighbour(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (group == 0 && p.groups > 1) g.b = moved(g.b, p.distance.b, p.a_bytes);
}
void bias_of_first(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  g.bias = p.all.bias;
}
void no_continue(const GroupedArguments&, std::int64_t, GemmArguments& g) {
  g.continue_from_c = false;
}
void narrow_offsets(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (p.offset_type != OffsetType::i64) return;
  GroupedArguments narrow = p;
  narrow.offset_type = OffsetType::i32;
  g = arguments_of_group(narrow, group);
}
void rows_of_nobody(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (!by_rows(p) || group != p.groups - 1 || g.m == 0) return;
  const auto at = (static_cast<const char*>(g.d) - static_cast<const char*>(p.all.d)) / p.d_bytes;
  if (g.ds.row > 0) g.m = p.all.m - at / g.ds.row;
}
void next_segments_row(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  // The earlier group is computed last, as it may be on a GPU: what it spills stays.
  if (!by_rows(p) || group != p.groups - 1 || p.groups < 2) return;
  GemmArguments before = arguments_of_group(p, group - 1);
  if (before.m == 0 || g.m == 0 || before.n == 0) return;
  std::memset(moved(g.d, 0, p.d_bytes), 0x11, static_cast<std::size_t>(p.d_bytes));
  g.m = 0;
}
/// k-blocks counted from the start of the arrays: the first one of a group is short.
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

// Empty groups.
void skips_empty(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::k_grouped && g.k == 0) g.m = 0;
}

// Offsets as they are: one byte before D is written where one of them is negative.
void trusts_offsets(const GroupedArguments& p, std::int64_t group, GemmArguments&) {
  if (p.offsets == nullptr || load_offset(p.offsets, group, p.offset_type) >= 0) return;
  static_cast<char*>(p.all.d)[-1] = 0;
}

/// Single products are right; groups are changed on their way to the scalar code.
const Backend* backend_of(controls::GroupChange change) {
  controls::Fault fault{"groups", controls::compute_honestly};
  fault.groups = change;
  return controls::make_backend(fault);
}

}  // namespace

std::span<const Fault> faults() {
  static const Fault list[] = {
      {"none", "", backend_of(nullptr)},
      {"offset_off_by_one", "slices", backend_of(offset_off_by_one)},
      {"matrix_of_neighbour", "slices", backend_of(matrix_of_neighbour)},
      {"bias_of_first", "slices", backend_of(bias_of_first)},
      {"no_continue", "slices", backend_of(no_continue)},
      {"narrow_offsets", "slices", backend_of(narrow_offsets)},
      {"rows_of_nobody", "slices", backend_of(rows_of_nobody)},
      {"next_segments_row", "slices", backend_of(next_segments_row)},
      {"blocks_from_start", "slices", backend_of(blocks_from_start)},
      {"skips_empty", "empty_groups", backend_of(skips_empty)},
      {"trusts_offsets", "outside", backend_of(trusts_offsets)},
  };
  return list;
}

}  // namespace detgemm::grouped_tests

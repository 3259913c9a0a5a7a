// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "core/conformance/case.hpp"

namespace detgemm::conformance {

/// A matrix, the rows that were sent to it, and what the engine makes of them by a plan of their
/// own.
struct Expert {
  Request request;
  Elements expected;
};

/// Whether the engine computes such groups under the case's contract; otherwise the case is skipped
/// with the engine's sentence.
bool computes_groups(Case& c, GroupKind kind, bool continues = false);

/// `count` experts with a few rows each, of which the last has none; nothing if the engine refused
/// or failed.
std::optional<std::vector<Expert>> draw_experts(Case& c, std::size_t count);

/// A group of one call: an expert, and which of its rows in which order.
struct Group {
  std::size_t expert = 0;
  std::vector<std::int64_t> rows;
};
/// A group of all of an expert's rows.
Group whole_group(const std::vector<Expert>& experts, std::size_t expert);
/// One for each expert, in their order.
std::vector<Group> whole_groups(const std::vector<Expert>& experts);

/// How groups lie in the arrays of one call.
struct Arrangement {
  std::vector<Group> groups;
  std::int64_t padding =
      0;  ///< rows of noise behind each group's, part of it; masked: beyond its count
  std::int64_t spare = 0;                 ///< rows of noise behind the last group, part of none
  GroupKind kind = GroupKind::m_grouped;  ///< or m_masked or batched
  OffsetType type = OffsetType::i32;
};

/// Another operation on A, on B or on both, of those that the engine computes for such groups.
void draw_operations(Case& c, GroupedSpec& spec);

/// Computes all groups in one call and compares every row with what it was by itself. Rows of no
/// group must be untouched. False after a difference, a refusal or a failure, which are recorded.
bool same_rows(Case& c, const std::vector<Expert>& experts, const Arrangement& arrangement,
               const std::string& what);

/// Counts the case if the products of the expert with most rows, in another order, have other bits.
void check_order_matters(Case& c, const std::vector<Expert>& experts);

}  // namespace detgemm::conformance

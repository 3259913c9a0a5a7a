// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "core/conformance/request.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::conformance {

/// How the matrices of all groups lie in one array: one below the other or side by side, each way
/// by rows or by columns. So groups of D are packed, or they interleave in the gaps between the
/// lines of the first one:
///
///                  by rows                     by columns
///   below          D[0] rows, D[1] rows ...    memory N x groups x M
///   side by side   memory M x groups x N       D[0] columns, D[1] columns ...
struct StackLayout {
  Layout layout;
  bool side_by_side = false;  ///< ignored for an array that all groups share
};

/// One call for many groups, described on the host, with the arrays of all groups in one matrix:
///
///   kind        a                 b             c, d
///   m_grouped   R x k             (G k) x n     R x n            rows of all groups
///   batched     (G rows) x k      (G k) x n     (G rows) x n
///   m_masked    (G capacity) x k  (G k) x n     (G capacity) x n
///   k_grouped   m x R             R x n         (G m) x n        products of all groups
struct GroupedRequest {
  GroupedSpec spec;  ///< n, k and the number of groups are filled in
  PlanOptions options;
  Elements a, b, c;             ///< c if the spec reads it
  Elements bias;                ///< G x n if the spec has one
  ScaleArray scale_a, scale_b;  ///< under `scaled`, those of all groups below each other: so many
                                ///< lines of blocks for each group as its operand has
  StackLayout a_layout, b_layout, c_layout, d_layout;  ///< in place, C's is D's
  std::vector<std::int64_t> offsets;  ///< where groups end, or how many of their rows count;
                                      ///< batched: one per group, not passed
  OffsetType type = OffsetType::i32;
  bool in_place = false;     ///< D is C
  bool shares_a = false;     ///< batched: `a` is the one that all groups have
  bool shares_b = false;     ///< batched: `b` is
  std::uint8_t fill = 0xff;  ///< every byte that is no operand, D before the call, the workspace
};

/// Any layout for every array of the request, whose other members are set.
void draw_layouts(Random& random, GroupedRequest& request);

/// Prepares, runs on a stream of its own, waits and collects.
Result<Output> run_once(const Backend& backend, GroupedRequest request);

}  // namespace detgemm::conformance

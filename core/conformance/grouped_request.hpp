// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "core/conformance/request.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::conformance {

/// One call for many groups, described on the host, with the arrays of all groups in one matrix:
///
///   kind        a                 b             c, d
///   m_grouped   R x k             (G k) x n     R x n            rows of all groups
///   m_masked    (G capacity) x k  (G k) x n     (G capacity) x n
///   k_grouped   m x R             R x n         (G m) x n        products of all groups
struct GroupedRequest {
  GroupedSpec spec;  ///< n, k and the number of groups are filled in
  PlanOptions options;
  Elements a, b, c;                   ///< c if the spec reads it
  std::vector<std::int64_t> offsets;  ///< where groups end, or how many of their rows count
  OffsetType type = OffsetType::i32;
  bool in_place = false;     ///< D is C
  std::uint8_t fill = 0xff;  ///< every byte that is no operand, D before the call, the workspace
};

/// Prepares, runs on a stream of its own, waits and collects.
Result<Output> run_once(const Backend& backend, GroupedRequest request);

}  // namespace detgemm::conformance

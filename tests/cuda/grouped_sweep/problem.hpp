// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "detgemm/grouped.hpp"
#include "tests/cuda/problem.hpp"

namespace detgemm::test {

/// Where the matrices of all groups of one array lie.
struct GroupLayout {
  bool col_major = false;
  std::int64_t ld = 1;        ///< elements between lines
  std::int64_t distance = 0;  ///< elements between groups; 0: there is one matrix
  std::int64_t offset = 0;    ///< elements after an address aligned to 256 bytes
  const char* how = "one";    ///< one, stack, gaps or side by side
};

/// One problem over groups: everything about it is a function of (seed, index).
struct GroupProblem {
  GroupedSpec spec;
  std::int64_t m = 0;               ///< rows of D: of all segments, or of each group
  std::int64_t k = 0;               ///< products: of all segments, or of each group
  std::vector<std::int64_t> sizes;  ///< rows or products of each group
  GroupLayout a, b, c, d;
  ScaleLayout scale_a, scale_b;
  std::int64_t scale_a_distance = 0, scale_b_distance = 0;
  std::int64_t bias_distance = 0;
  bool in_place = false;  ///< D is C
  OffsetType offset_type = OffsetType::i32;
  Data data = Data::normal;
  std::int32_t shift = 0;
  std::uint64_t key = 0;
  std::uint8_t poison = 0xff;

  /// How D lies, in a few words.
  std::string d_layout() const;
  /// One line that says it all.
  std::string text() const;
  /// Outputs of all groups.
  std::int64_t outputs() const;
};

/// bf16 and fp16 under chain, fold and tree in all four kinds, or e4m3 under scaled, fold and
/// chain. C and D have rows or columns along memory, packed, padded or at odd distances, one group
/// behind the other, with gaps, or side by side within each other's lines.
GroupProblem draw_group_problem(std::uint64_t seed, std::uint64_t index, bool e4m3);

/// Views of arrays that begin at these addresses.
GroupedOperands operands_of(const GroupProblem& problem, const Addresses& at, const void* offsets);

/// The problem of one group, cut from the sizes: no offset is read. `begin`: rows or products of
/// the groups before it.
std::pair<GemmSpec, Operands> slice_of(const GroupProblem& problem, const GroupedOperands& all,
                                       std::size_t group, std::int64_t begin);

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "detgemm/grouped.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::grouped_tests {

/// One problem of many groups, from which its arrays are drawn.
struct Setup {
  std::string contract;
  GroupKind kind = GroupKind::batched;
  std::vector<std::int64_t> sizes;  ///< rows or products of each group; the number of groups
  std::int64_t spare = 0;           ///< rows or products that belong to no group
  std::int64_t m = 0;               ///< rows of D's groups: k_grouped and batched alone
  std::int64_t n = 0;
  std::int64_t k = 0;  ///< not for k_grouped
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t pad = 0;    ///< elements between rows (or columns) of every array
  std::int64_t shift = 0;  ///< elements by which A, B and C are displaced
  OffsetType type = OffsetType::i32;
  bool shared_b = false;                              ///< one B for all groups
  bool interleaved = false;                           ///< groups of D lie within each other's rows
  bool interleaved_a = false, interleaved_b = false;  ///< and those of A and B
  std::optional<DType> bias;                          ///< every group has its own
  float beta = 0.0F;
  bool continues = false;
  bool in_place = false;  ///< C is D
  Activation activation = Activation::none;
  test::Data data = test::Data::near_one;
  std::uint64_t seed = 1;
};

/// Runs the problem in one call by every variant, and each group by Plan::run on its slice of the
/// same arrays. Throws Failure unless all of D's memory, margins and rows of no group included, is
/// the same. The slices are cut here, from the sizes; no offset is read. Returns how many outputs,
/// of all variants together, were compared. `compared` is called when the slices have run, with 0,
/// and after each variant with its number of outputs.
std::int64_t compare_with_slices(const Backend& backend, const Setup& setup,
                                 const std::function<void(std::int64_t)>& compared = {});

/// One line for a failure.
std::string text_of(const Setup& setup);

}  // namespace detgemm::grouped_tests

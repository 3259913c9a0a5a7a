// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "detgemm/plan.hpp"

namespace detgemm {

/// A problem that every backend accepts, laid out in one block of memory with gaps between the
/// arrays. A test spoils one thing, makes the call, and asks whether any byte changed.
///
///   4 x 6 fp32 D = 4 x 32 A . 32 x 6 B + 0.5 C + bias under ieee_fma/bf16/tree:16->fp32,
///   that is two leaves, and two 4 x 6 roots for combine
class Problem {
 public:
  static constexpr std::int64_t m = 4, n = 6, k = 32;

  Problem();
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  GemmSpec spec;
  PlanOptions options;
  Operands operands;
  Workspace workspace;
  Stream stream;
  std::vector<ConstMatrix> roots;
  std::string backend;  ///< for the one-call form

  /// No byte of the block differs from when it was made, D and the gaps included.
  bool untouched() const;
  /// No byte of D differs, wherever in the block D is.
  bool untouched_d() const;
  /// No byte outside D and the workspace differs.
  bool untouched_outside_d() const;

 private:
  static constexpr std::size_t kBlock = 16384;
  static constexpr std::size_t kGap = 256;

  void* place(std::size_t bytes);

  alignas(256) std::array<std::byte, kBlock> block_{};
  std::array<std::byte, kBlock> before_{};
  std::size_t used_ = kGap;
};

}  // namespace detgemm

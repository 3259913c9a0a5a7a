// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "detgemm/backend.hpp"
#include "detgemm/gemm_spec.hpp"
#include "tests/cuda/element.hpp"

namespace detgemm::test {

/// Where a stored matrix lies; none of it may change a bit.
struct Layout {
  bool col_major = false;
  std::int64_t ld = 0;      ///< elements between lines
  std::int64_t offset = 0;  ///< elements after an address aligned to 256 bytes
};

/// Where the scales of an operand lie, under scaled.
struct ScaleLayout {
  ScaleType type = ScaleType::fp32;
  std::int64_t per = 1;
  std::int64_t stride = 0, leaf_stride = 1;
};

/// One problem of the sweep: everything about it is a function of (seed, index).
struct Problem {
  GemmSpec spec;
  std::int64_t m = 0;
  Layout a, b, c, d;
  ScaleLayout scale_a, scale_b;
  bool in_place = false;  ///< D is C
  Data data = Data::normal;
  std::int32_t shift = 0;
  std::uint64_t key = 0;
  std::uint8_t poison = 0xff;  ///< every byte that is no operand, and D before a run
  std::int32_t max_workers = 0;
  Stable stable = Stable::none;
  const char* shape = "";  ///< which kind of shape was drawn

  /// Whether op(A)'s, op(B)'s elements lie next to each other along k.
  bool a_along_k() const { return (spec.op_a == Op::transpose) == a.col_major; }
  bool b_along_k() const { return (spec.op_b == Op::transpose) != b.col_major; }
  std::string layout() const;
  /// One line that says it all.
  std::string text() const;
};

std::string_view name(Data data);

/// Nothing drawn is larger, so that memory can be set aside once.
inline constexpr std::int64_t kMaxElements = std::int64_t{1}
                                             << 25;  ///< of one array, gaps included
inline constexpr double kMaxProducts = 4e9;

/// Which reductions are drawn.
enum class Reductions { chain, leaves, all };
/// Chains are the same whatever else may be drawn.
Problem draw_problem(std::uint64_t seed, std::uint64_t index,
                     Reductions reductions = Reductions::chain);

/// The same problem with A and B at any address and any distance of lines, and under fold and tree
/// often with a LEAF that is no multiple of 64. D stays where it is, so that kernels which want it
/// aligned run too.
void misalign_operands(Problem& problem);

/// Whether a sweep forces kernel `index` of the `count` that take the problem: of chains each one.
/// Fold and tree have hundreds, of which a problem gets a dozen and another problem others.
bool gets_kernel(const Problem& problem, std::size_t index, std::size_t count);

/// Another type of inputs, and the length of its steps. Arrays lie as before, in its elements.
void set_input(Contract& contract, DType input);

/// Views of stored arrays whose first elements lie at these addresses.
struct Addresses {
  void* a = nullptr;
  void* b = nullptr;
  void* c = nullptr;
  void* d = nullptr;
  void* bias = nullptr;
  void* scale_a = nullptr;
  void* scale_b = nullptr;
};
Operands operands_of(const Problem& problem, const Addresses& at);

}  // namespace detgemm::test

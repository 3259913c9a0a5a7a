// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "detgemm/gemm_spec.hpp"

namespace detgemm {

/// The bytes a view spans, as addresses.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

/// ok, or the rule the view breaks by itself: sizes, strides, type, pointer, alignment, overflow.
Status check_view(std::string_view what, const ConstMatrix& view);

/// Where a view that passed `check_view` lies; empty where it has no elements.
Extent extent_of(const ConstMatrix& view);

/// The part of `validate(spec, operands)` that does not look at A and B.
Status check_output_side(const GemmSpec& spec, const Operands& operands);

/// ok where `out` lies apart from `in` or is the same view of the same elements.
Status check_in_place(std::string_view what, const ConstMatrix& out, std::string_view other,
                      const ConstMatrix& in);

/// ok, or why these roots cannot be combined into D: count, shapes, types, overlap.
Status check_roots(const GemmSpec& spec, std::span<const ConstMatrix> roots, const Matrix& d);
/// The number of roots of equal ranges, and their order where they are nodes.
Status check_root_count(const GemmSpec& spec, std::size_t count);
Status check_nodes(const GemmSpec& spec, std::span<const LeafRange> nodes);

/// An input that a run reads, by the name that a sentence gives it.
struct NamedView {
  std::string what;
  ConstMatrix view;
};

/// ok, or why the workspace cannot serve: too small, misaligned, null, overlapping the inputs or
/// what the operands hold besides A and B.
Status check_workspace(const Workspace& workspace, std::size_t needed, const GemmSpec& spec,
                       const Operands& operands, std::span<const NamedView> inputs);

}  // namespace detgemm

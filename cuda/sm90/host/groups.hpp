// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"
#include "cuda/families.hpp"
#include "cuda/sm90/grouped/tile.hpp"
#include "cuda/sm90/tile/sides.hpp"

/// The host half of the tiled kernels over groups.
namespace detgemm::cuda::sm90 {

/// The arrays of all groups as the kernel sees them: those of A, C and D stacked into one array
/// each, and B as a matrix per group. Arrays of a batch that do not stack are spread
/// (GroupedShape).
struct StackedGroups {
  GemmArguments g;  ///< m: rows of D, stacked; row strides also where groups have one row
  Operand a, b;     ///< a.rows: rows of A, stacked, or of one group where A is spread; b.rows: N
  std::int64_t a_distance = 0;  ///< elements from a group's A to the next, where it is spread
  std::int64_t b_distance = 0;  ///< elements from a group's B to the next; 0: there is one B
  std::int64_t b_count = 1;
  GroupedShape shape;
  std::int64_t average = 0;   ///< rows per group that are expected
  std::int64_t expected = 0;  ///< rows of all groups, with one more for each that may be cut
  std::int64_t groups = 0;
  bool spread = false;            ///< offsets say how rows are spread over groups
  bool d_spread = false;          ///< C and D are reached group by group, not as one array
  bool d_by_map = false;          ///< of these, D through a map with a matrix per group
  bool by_k = false;              ///< groups are segments of products
  std::int64_t k = 0;             ///< products per group that are expected
  const char* why_not = nullptr;  ///< the rule by which the kernels do not take the arrays, or null
};
StackedGroups stack_groups(const GroupedArguments& p);

/// Whether a geometry takes a problem whose operands are laid out as the spec says.
bool takes_groups(const Geometry& t, GroupKind kind, bool a_mn, bool b_mn);
/// The same of an index of kGroupedGeometries.
bool takes_groups(int geometry, const GroupedSpec& spec);

/// Columns of FamilyRow. The cheapest geometry, or the forced one, is a pure function of extents,
/// strides and alignment: no offset is read. Its Decision is for a group of average size, with a
/// grid for all groups.
std::span<const KernelInfo> group_kernels();
Choice choose_groups(const Question& q);
Kernel group_kernel_of(const Decision& d);
std::vector<Decision> compiled_groups(Family family);
cudaError_t launch_groups(const Kernel& kernel, const Decision& d, const Call& call);

}  // namespace detgemm::cuda::sm90

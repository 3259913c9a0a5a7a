// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/grouped_checks.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "core/api/scale_checks.hpp"
#include "core/contract/wording.hpp"

namespace detgemm {
namespace {

constexpr std::array<std::string_view, 4> kKinds{"batched", "m_grouped", "m_masked", "k_grouped"};

bool has_offsets(GroupKind kind) { return kind != GroupKind::batched; }

Status check_distance(std::string_view what, std::int64_t distance, bool used, GroupKind kind) {
  if (distance < 0) {
    return invalid("group." + std::string(what) + " is " + std::to_string(distance) +
                   ": the distance between groups must not be negative");
  }
  if (used || distance == 0) return {};
  return invalid("group." + std::string(what) + " is " + std::to_string(distance) +
                 ": it must be 0, since all groups of " + std::string(name(kind)) +
                 " share one array");
}

/// Which distances a kind uses.
struct Uses {
  bool a, b, out;  // `out`: C, D; the bias always has one
};

Uses uses_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::m_grouped:
      return {false, true, false};
    case GroupKind::k_grouped:
      return {false, false, true};
    default:
      return {true, true, true};
  }
}

/// The bytes of all groups together, in `extent`; or the rule that they break.
Status span_groups(std::string_view what, const Extent& one, std::int64_t distance,
                   std::int64_t groups, std::size_t element, Extent& extent) {
  extent = one;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(groups - 1, distance, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<std::int64_t>(element), &bytes) ||
      static_cast<std::uintptr_t>(bytes) > std::numeric_limits<std::uintptr_t>::max() - one.end) {
    return invalid("group." + std::string(what) + " is " + std::to_string(distance) + ": " +
                   std::to_string(groups) + " groups that far apart must end within the address " +
                   "space");
  }
  if (one.begin != one.end) extent.end = one.end + static_cast<std::uintptr_t>(bytes);
  return {};
}

/// Groups of D may follow each other, or interleave as the rows (or columns) of one array do:
///
///   one after the other   00000000 11111111        distance >= the span of one group
///   interleaved           0000 1111 | 0000 1111    all groups fit between two rows of one
Status check_groups_of_d(const Matrix& d, std::int64_t distance, std::int64_t groups) {
  if (groups == 1 || d.rows == 0 || d.cols == 0) return {};
  // The extent along the unit stride, and the lines that lie `stride` apart.
  const bool by_rows = d.cols == 1 ? d.rows == 1 || d.row_stride != 1 : d.col_stride == 1;
  const std::int64_t line = by_rows ? d.cols : d.rows;
  const std::int64_t lines = by_rows ? d.rows : d.cols;
  const std::int64_t stride = lines > 1 ? (by_rows ? d.row_stride : d.col_stride) : 0;
  const std::int64_t span = (lines - 1) * stride + line;
  if (distance >= span) return {};
  std::int64_t all = 0;
  if (distance >= line && !__builtin_mul_overflow(groups - 1, distance, &all) &&
      all <= std::numeric_limits<std::int64_t>::max() - line && all + line <= stride) {
    return {};
  }
  return invalid("group.d is " + std::to_string(distance) + ": groups of d must not overlap, so " +
                 "it must be at least " + std::to_string(span) +
                 ", or all groups must fit between two lines of one");
}

Status check_offsets_form(const GroupedSpec& spec, const Offsets& offsets, Extent& extent) {
  const std::string kind(name(spec.kind));
  if (!has_offsets(spec.kind)) {
    if (offsets.data == nullptr && offsets.size == 0) return {};
    return invalid("offsets.size is " + std::to_string(offsets.size) +
                   (offsets.data != nullptr ? " and offsets.data is not null" : "") + ": " + kind +
                   " has no offsets");
  }
  if (offsets.size != spec.groups) {
    return invalid("offsets.size is " + std::to_string(offsets.size) +
                   ": it must be the number of groups, " + std::to_string(spec.groups));
  }
  const std::size_t size = size_of(offsets.type);
  if (size == 0) {
    return invalid("offsets.type is " + described(offsets.type) +
                   ": it must be i32 (0) or i64 (1)");
  }
  if (offsets.data == nullptr) {
    return invalid("offsets.data is null: " + kind + " has an offset for each of " +
                   std::to_string(spec.groups) + " groups");
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(offsets.data);
  if (begin % size != 0) {
    return invalid("offsets.data is 0x" + hex(begin) + ": it must be a multiple of " +
                   std::to_string(size));
  }
  const auto bytes = static_cast<std::uintptr_t>(offsets.size) * size;
  if (bytes > std::numeric_limits<std::uintptr_t>::max() - begin) {
    return invalid("offsets.data is 0x" + hex(begin) + ": " + std::to_string(bytes) +
                   " bytes from there must end within the address space");
  }
  extent = {begin, begin + bytes};
  return {};
}

/// The scales of all groups, each operand's beside it. A segment of m_grouped begins at any row, so
/// no block of 128 rows of A belongs to one group.
Status check_group_scales(const GroupedSpec& spec, const GroupedOperands& operands, bool a_moves,
                          bool b_moves, GroupExtents& at) {
  const Operands& x = operands.arrays;
  const bool used = spec.gemm.reads_scales();
  if (used && spec.kind == GroupKind::m_grouped && x.scale_a.per != 1) {
    return invalid("scale_a.per is " + std::to_string(x.scale_a.per) +
                   ": it must be 1 for m_grouped, whose segments begin at any row");
  }
  const auto one = [&](std::string_view what, const BlockScales& scales, std::int64_t distance,
                       bool moves, Extent& extent) -> Status {
    if (!used && distance != 0) {
      return invalid("group." + std::string(what) + " is " + std::to_string(distance) +
                     ": it must be 0, since this problem takes no scales");
    }
    if (Status s = check_distance(what, distance, moves, spec.kind); !s) return s;
    return span_groups(what, extent_of(scales), distance, spec.groups, size_of(scales.type),
                       extent);
  };
  if (Status s = one("scale_a", x.scale_a, operands.group.scale_a, a_moves, at.scale_a); !s) {
    return s;
  }
  return one("scale_b", x.scale_b, operands.group.scale_b, b_moves, at.scale_b);
}

Status overlap(std::string_view what, std::string_view other) {
  return invalid(std::string(what) + " with all of its groups overlaps " + std::string(other) +
                 ": they must not share memory");
}

}  // namespace

std::string_view name(GroupKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < kKinds.size() ? kKinds[index] : std::string_view("unknown");
}

Result<GroupKind> parse_group_kind(std::string_view text) {
  const auto* found = std::find(kKinds.begin(), kKinds.end(), text);
  if (found != kKinds.end()) return static_cast<GroupKind>(found - kKinds.begin());
  return Status{Errc::not_found, "kind is " + quoted(text) +
                                     ": it must be one of batched, m_grouped, m_masked, k_grouped"};
}

std::string_view name(OffsetType type) noexcept {
  if (type == OffsetType::i32) return "i32";
  return type == OffsetType::i64 ? "i64" : "unknown";
}

std::size_t size_of(OffsetType type) noexcept {
  if (type == OffsetType::i32) return sizeof(std::int32_t);
  return type == OffsetType::i64 ? sizeof(std::int64_t) : 0;
}

Status validate(const GroupedSpec& spec) {
  if (Status s = validate(spec.gemm); !s) return s;
  if (name(spec.kind) == "unknown") {
    return invalid("kind is " + described(spec.kind) +
                   ": it must be batched (0), m_grouped (1), m_masked (2) or k_grouped (3)");
  }
  if (spec.groups < 1 || spec.groups > kMaxGroups) {
    return invalid("groups is " + std::to_string(spec.groups) + ": it must be from 1 to " +
                   std::to_string(kMaxGroups));
  }
  if (spec.kind == GroupKind::k_grouped && spec.gemm.k != 0) {
    return invalid("k is " + std::to_string(spec.gemm.k) +
                   ": it must be 0 for k_grouped, where the offsets say how many products a group "
                   "has");
  }
  if (spec.kind == GroupKind::k_grouped && spec.gemm.line_scales) {
    return unsupported("kind is k_grouped and line_scales is set: run a Plan for each group");
  }
  if (spec.kind == GroupKind::k_grouped && spec.gemm.reads_scales()) {
    return unsupported("kind is k_grouped and the contract is " + spec.gemm.contract.text() +
                       ": where a group's leaves begin, and so their scales, is not defined yet; "
                       "run a Plan for each group");
  }
  return {};
}

Status check_groups(const GroupedSpec& spec, const GroupedOperands& operands, GroupExtents& at) {
  const Operands& x = operands.arrays;
  const GroupDistances& far = operands.group;
  GemmSpec one = spec.gemm;
  if (spec.kind == GroupKind::k_grouped) {
    const std::int64_t k = one.op_a == Op::transpose ? x.a.rows : x.a.cols;
    if (k < 0) {
      return invalid("a has " + std::to_string(k) + " products: it must not be negative");
    }
    one.k = k;
  }
  // One group of the largest size there can be is a problem of its own.
  if (Status s = validate(one, x); !s) return s;
  const Uses uses = uses_of(spec.kind);
  const bool reads_c = one.reads_c();
  const bool has_bias = one.bias.has_value();
  if (Status s = check_distance("a", far.a, uses.a, spec.kind); !s) return s;
  if (Status s = check_distance("b", far.b, uses.b, spec.kind); !s) return s;
  if (Status s = check_distance("d", far.d, uses.out, spec.kind); !s) return s;
  if (Status s = check_distance("c", far.c, uses.out, spec.kind); !s) return s;
  if (Status s = check_distance("bias", far.bias, true, spec.kind); !s) return s;
  const auto spans = [&](std::string_view what, const ConstMatrix& view, std::int64_t distance,
                         Extent& extent) {
    return span_groups(what, extent_of(view), distance, spec.groups, size_of(view.dtype), extent);
  };
  if (Status s = spans("a", x.a, far.a, at.a); !s) return s;
  if (Status s = spans("b", x.b, far.b, at.b); !s) return s;
  if (Status s = spans("d", x.d, far.d, at.d); !s) return s;
  if (reads_c) {
    if (Status s = spans("c", x.c, far.c, at.c); !s) return s;
  }
  if (has_bias) {
    const auto begin = reinterpret_cast<std::uintptr_t>(x.bias.data);
    const std::size_t size = size_of(x.bias.dtype);
    const Extent bias{begin, begin + static_cast<std::uintptr_t>(x.bias.size) * size};
    if (Status s = span_groups("bias", bias, far.bias, spec.groups, size, at.bias); !s) return s;
  }
  if (uses.out) {
    if (Status s = check_groups_of_d(x.d, far.d, spec.groups); !s) return s;
  }
  if (Status s = check_group_scales(spec, operands, uses.a, uses.b, at); !s) return s;
  if (Status s = check_offsets_form(spec, operands.offsets, at.offsets); !s) return s;
  if (at.d.overlaps(at.a)) return overlap("d", "a");
  if (at.d.overlaps(at.b)) return overlap("d", "b");
  if (at.d.overlaps(at.bias)) return overlap("d", "bias");
  if (at.d.overlaps(at.offsets)) return overlap("d", "offsets");
  if (at.d.overlaps(at.scale_a)) return overlap("d", "scale_a");
  if (at.d.overlaps(at.scale_b)) return overlap("d", "scale_b");
  // A group's own C passed the check of one group: it is D or lies apart. If it is D, so are all.
  const bool same = x.c.data == x.d.data && (far.c == far.d || spec.groups == 1);
  if (reads_c && at.d.overlaps(at.c) && !same) {
    return invalid(
        "d with all of its groups overlaps c: it must be c itself (same pointer, strides, "
        "dtype and distance of groups) or share no memory with it");
  }
  return {};
}

Status validate(const GroupedSpec& spec, const GroupedOperands& operands) {
  GroupExtents unused;
  return check_groups(spec, operands, unused);
}

Status check_grouped_workspace(const Workspace& workspace, std::size_t needed,
                               const GroupExtents& at) {
  if (workspace.bytes < needed) {
    return invalid("workspace.bytes is " + std::to_string(workspace.bytes) +
                   ": these arrays need at least " + std::to_string(needed));
  }
  if (needed == 0) return {};
  if (workspace.data == nullptr) {
    return invalid("workspace.data is null: these arrays need " + std::to_string(needed) +
                   " bytes");
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(workspace.data);
  if (begin % kWorkspaceAlignment != 0) {
    return invalid("workspace.data is 0x" + hex(begin) + ": it must be a multiple of " +
                   std::to_string(kWorkspaceAlignment));
  }
  if (workspace.bytes > std::numeric_limits<std::uintptr_t>::max() - begin) {
    return invalid("workspace.data is 0x" + hex(begin) + ": " + std::to_string(workspace.bytes) +
                   " bytes from there must end within the address space");
  }
  const Extent scratch{begin, begin + needed};
  if (scratch.overlaps(at.d)) return overlap("workspace", "d");
  if (scratch.overlaps(at.a)) return overlap("workspace", "a");
  if (scratch.overlaps(at.b)) return overlap("workspace", "b");
  if (scratch.overlaps(at.c)) return overlap("workspace", "c");
  if (scratch.overlaps(at.bias)) return overlap("workspace", "bias");
  if (scratch.overlaps(at.offsets)) return overlap("workspace", "offsets");
  if (scratch.overlaps(at.scale_a)) return overlap("workspace", "scale_a");
  if (scratch.overlaps(at.scale_b)) return overlap("workspace", "scale_b");
  return {};
}

Status check_offset_values(const GroupedSpec& spec, const GroupedOperands& operands,
                           std::span<const std::int64_t> values) {
  const ConstMatrix& a = operands.arrays.a;
  const bool masked = spec.kind == GroupKind::m_masked;
  const bool by_k = spec.kind == GroupKind::k_grouped;
  const std::int64_t limit =
      by_k ? (spec.gemm.op_a == Op::transpose ? a.rows : a.cols) : operands.arrays.d.rows;
  std::int64_t least = 0;
  for (std::size_t g = 0; g < values.size(); ++g) {
    const std::string what = "offsets[" + std::to_string(g) + "] is " + std::to_string(values[g]);
    if (values[g] < 0) return invalid(what + ": it must not be negative");
    if (values[g] > limit) {
      const std::string_view of =
          masked ? "the capacity" : (by_k ? "the products" : "the rows of a");
      return invalid(what + ": it must not exceed " + std::string(of) + ", " +
                     std::to_string(limit));
    }
    if (!masked && values[g] < least) {
      return invalid(what + ": it must not be less than the one before it, " +
                     std::to_string(least));
    }
    least = values[g];
  }
  return {};
}

}  // namespace detgemm

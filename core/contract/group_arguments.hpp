// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"
#include "core/contract/leaf_scales.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm {

/// A segment: the indices [begin, begin + count).
struct Segment {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// Element `index` of an array of offsets; read once, since other work may be writing it.
DETGEMM_HD std::int64_t load_offset(const void* data, std::int64_t index, OffsetType type) {
  if (type == OffsetType::i32) {
    return *(static_cast<const volatile std::int32_t*>(data) + index);
  }
  return *(static_cast<const volatile std::int64_t*>(data) + index);
}

/// `value` moved into 0 .. limit.
DETGEMM_HD std::int64_t moved_into(std::int64_t value, std::int64_t limit) {
  return value < 0 ? 0 : (value > limit ? limit : value);
}

/// Segment `group` of `limit` indices. Whatever the offsets are, it lies inside of them: each is
/// moved into 0 .. limit, and a segment that ends before it begins is empty.
///
///   offsets   3    3    7          limit 8
///   indices   0 1 2 | | 3 4 5 6 | 7         group 0 has 3, group 1 none, group 2 has 4; 7 is left
DETGEMM_HD Segment segment_of(const void* offsets, OffsetType type, std::int64_t group,
                              std::int64_t limit) {
  const std::int64_t begin =
      group == 0 ? 0 : moved_into(load_offset(offsets, group - 1, type), limit);
  const std::int64_t end = moved_into(load_offset(offsets, group, type), limit);
  return {begin, end > begin ? end - begin : 0};
}

/// The arguments of many GEMMs flattened for a kernel: plain data, copyable to a device.
struct GroupedArguments {
  GemmArguments all;  ///< m and k as the arrays have them, of which a group takes a part
  GroupDistances distance;
  const void* offsets = nullptr;
  OffsetType offset_type = OffsetType::i32;
  GroupKind kind = GroupKind::batched;
  std::int64_t groups = 0;
  std::int64_t a_bytes = 0;  ///< per element
  std::int64_t c_bytes = 0;
  std::int64_t d_bytes = 0;
  std::int64_t bias_bytes = 0;
};

/// `data` moved by so many elements; null stays null, since it may be so where nothing is read.
DETGEMM_HD const void* moved(const void* data, std::int64_t elements, std::int64_t bytes) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + elements * bytes;
}
DETGEMM_HD void* moved(void* data, std::int64_t elements, std::int64_t bytes) {
  return data == nullptr ? nullptr : static_cast<char*>(data) + elements * bytes;
}

/// The part of the shared extent that a group has. The offsets are read here and once, since other
/// work may be writing them.
DETGEMM_HD Segment part_of_group(const GroupedArguments& p, std::int64_t group) {
  switch (p.kind) {
    case GroupKind::m_masked:
      return {0, moved_into(load_offset(p.offsets, group, p.offset_type), p.all.m)};
    case GroupKind::m_grouped:
      return segment_of(p.offsets, p.offset_type, group, p.all.m);
    case GroupKind::k_grouped:
      return segment_of(p.offsets, p.offset_type, group, p.all.k);
    default:
      return {0, p.all.m};
  }
}

/// One group, of which this is the part, as a GEMM of its own. Its m is 0 where it has no rows to
/// compute.
DETGEMM_HD GemmArguments arguments_of_group(const GroupedArguments& p, std::int64_t group,
                                            const Segment& part) {
  GemmArguments g = p.all;
  g.a = moved(g.a, group * p.distance.a, p.a_bytes);
  g.b = moved(g.b, group * p.distance.b, p.a_bytes);
  g.c = moved(g.c, group * p.distance.c, p.c_bytes);
  g.d = moved(g.d, group * p.distance.d, p.d_bytes);
  g.bias = moved(g.bias, group * p.distance.bias, p.bias_bytes);
  if (p.kind == GroupKind::k_grouped) {
    g.k = part.count;
    if (part.count == 0) return g;
    g.a = moved(g.a, part.begin * g.as.col, p.a_bytes);
    g.b = moved(g.b, part.begin * g.bs.row, p.a_bytes);
    return g;
  }
  g.m = part.count;
  if (part.begin == 0 || part.count == 0) return g;
  g.a = moved(g.a, part.begin * g.as.row, p.a_bytes);
  g.c = moved(g.c, part.begin * g.cs.row, p.c_bytes);
  g.d = moved(g.d, part.begin * g.ds.row, p.d_bytes);
  return g;
}
DETGEMM_HD GemmArguments arguments_of_group(const GroupedArguments& p, std::int64_t group) {
  return arguments_of_group(p, group, part_of_group(p, group));
}

/// The scales of that group, from those of group 0: its row 0 is row `part.begin` of A.
DETGEMM_HD ScalePair scales_of_group(const ScalePair& all, const GroupDistances& distance,
                                     std::int64_t group, const Segment& part) {
  const auto bytes = [](const LeafScales& s) {
    return s.type == ScaleType::fp32 ? std::int64_t{4} : std::int64_t{1};
  };
  ScalePair s = all;
  s.a.data = moved(s.a.data, group * distance.scale_a + part.begin * s.a.stride, bytes(s.a));
  s.b.data = moved(s.b.data, group * distance.scale_b, bytes(s.b));
  return s;
}

inline GroupedArguments flatten(const GroupedSpec& spec, const GroupedOperands& operands) {
  GroupedArguments p;
  GemmSpec one = spec.gemm;
  const ConstMatrix& a = operands.arrays.a;
  if (spec.kind == GroupKind::k_grouped) one.k = one.op_a == Op::transpose ? a.rows : a.cols;
  p.all = flatten(one, operands.arrays);
  p.distance = operands.group;
  p.offsets = operands.offsets.data;
  p.offset_type = operands.offsets.type;
  p.kind = spec.kind;
  p.groups = spec.groups;
  p.a_bytes = static_cast<std::int64_t>(size_of(a.dtype));
  p.c_bytes = static_cast<std::int64_t>(size_of(operands.arrays.c.dtype));
  p.d_bytes = static_cast<std::int64_t>(size_of(spec.gemm.contract.output));
  p.bias_bytes = static_cast<std::int64_t>(size_of(p.all.bias_type));
  return p;
}

}  // namespace detgemm

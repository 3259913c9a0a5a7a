// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"
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

/// One group as a GEMM of its own. Its m is 0 where it has no rows to compute.
DETGEMM_HD GemmArguments arguments_of_group(const GroupedArguments& p, std::int64_t group) {
  GemmArguments g = p.all;
  g.a = moved(g.a, group * p.distance.a, p.a_bytes);
  g.b = moved(g.b, group * p.distance.b, p.a_bytes);
  g.c = moved(g.c, group * p.distance.c, p.c_bytes);
  g.d = moved(g.d, group * p.distance.d, p.d_bytes);
  g.bias = moved(g.bias, group * p.distance.bias, p.bias_bytes);
  if (p.kind == GroupKind::m_masked) {
    g.m = moved_into(load_offset(p.offsets, group, p.offset_type), g.m);
  } else if (p.kind == GroupKind::m_grouped) {
    const Segment rows = segment_of(p.offsets, p.offset_type, group, g.m);
    g.m = rows.count;
    if (rows.count == 0) return g;
    g.a = moved(g.a, rows.begin * g.as.row, p.a_bytes);
    g.c = moved(g.c, rows.begin * g.cs.row, p.c_bytes);
    g.d = moved(g.d, rows.begin * g.ds.row, p.d_bytes);
  } else if (p.kind == GroupKind::k_grouped) {
    const Segment products = segment_of(p.offsets, p.offset_type, group, g.k);
    g.k = products.count;
    if (products.count == 0) return g;
    g.a = moved(g.a, products.begin * g.as.col, p.a_bytes);
    g.b = moved(g.b, products.begin * g.bs.row, p.a_bytes);
  }
  return g;
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

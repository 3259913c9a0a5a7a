// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/host/copies.hpp"

#include <algorithm>

#include "cuda/sm90/host/packing.hpp"
#include "cuda/sm90/tile/sides.hpp"

namespace detgemm::cuda {
namespace {

using sm90::kMaxPackedExtent;
using sm90::packed_pitch;

bool suits_tma(const void* data, std::int64_t elements) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && elements % 8 == 0;
}

/// `lines` of each group, `ld` apart, of `length` elements, from groups `distance` apart.
GroupLines lines_of(const void* data, std::int64_t groups, std::int64_t lines, std::int64_t ld,
                    std::int64_t length, std::int64_t distance, bool along_k) {
  GroupLines l;
  if (groups == 1) distance = 0;
  if (suits_tma(data, lines > 1 ? ld : 0) && suits_tma(data, distance)) return l;
  if (distance < 0 || (lines > 1 && ld <= 0)) return l;
  const bool by_group = distance == 0 || lines == 1 || distance == lines * ld;
  const bool by_line = distance > 0 && ld == groups * distance;
  if (!by_group && !by_line) return l;
  const std::int64_t times = distance == 0 ? 1 : groups;
  if (lines >= kMaxPackedExtent / times || length >= kMaxPackedExtent) return l;
  l.count = lines * times;
  l.ld = by_group && (lines > 1 || distance == 0) ? ld : distance;
  l.length = length;
  l.pitch = packed_pitch(length);
  l.line_step = by_group ? 1 : groups;
  l.group_step = distance == 0 ? 0 : by_group ? lines : 1;
  l.along_k = along_k;
  return l;
}

sm90::PackOperand operand_of(const GroupLines& l, const void* from, void* to) {
  sm90::PackOperand o;
  if (l.count == 0) return o;
  o.from = from;
  o.to = to;
  o.ld = l.ld;
  o.pitch = l.pitch;
  o.lines = o.copies = l.count;
  o.length = static_cast<int>(l.length);
  o.chunks = static_cast<int>(l.pitch / 8);
  o.leaf = o.room = static_cast<int>(kMaxPackedExtent);  // all of k is one leaf
  o.along_k = l.along_k;
  return o;
}

}  // namespace

std::size_t GroupLines::bytes() const {
  return aligned_workspace(static_cast<std::size_t>(count * pitch) * 2);
}

double GroupCopies::predicted_time() const {
  double read = 0;
  for (const GroupLines& l : {a, b}) {
    read += 2.0 * static_cast<double>(l.count) * static_cast<double>(l.length);
  }
  return sm90::predicted_pack_time(read + static_cast<double>(bytes()));
}

GroupCopies copies_for_tiles(const GroupedArguments& p) {
  GroupCopies copies;
  const GemmArguments& g = p.all;
  if (p.kind != GroupKind::batched || g.k <= 0 || g.m <= 0 || g.n <= 0) return copies;
  const sm90::Operand a = sm90::make_operand(g.a, g.m, g.k, g.as.row, g.as.col);
  const sm90::Operand b = sm90::make_operand(g.b, g.n, g.k, g.bs.col, g.bs.row);
  if (a.mn_major) return copies;
  copies.a = lines_of(g.a, p.groups, g.m, a.ld, g.k, p.distance.a, true);
  copies.b = b.mn_major ? lines_of(g.b, p.groups, g.k, b.ld, g.n, p.distance.b, false)
                        : lines_of(g.b, p.groups, g.n, b.ld, g.k, p.distance.b, true);
  return copies;
}

GroupedArguments on_copies(const GroupedArguments& p, const GroupCopies& copies, void* to) {
  GroupedArguments q = p;
  if (copies.a.count > 0) {
    q.all.a = to;
    q.all.as = {copies.a.line_step * copies.a.pitch, 1};
    q.distance.a = copies.a.group_step * copies.a.pitch;
  }
  if (copies.b.count > 0) {
    q.all.b =
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(to) + copies.a.bytes());
    const std::int64_t ld = copies.b.line_step * copies.b.pitch;
    q.all.bs = copies.b.along_k ? Strides{1, ld} : Strides{ld, 1};
    q.distance.b = copies.b.group_step * copies.b.pitch;
  }
  return q;
}

cudaError_t copy_groups(Call& call) {
  GroupedArguments& p = call.problem.gemms;
  const GroupCopies copies = copies_for_tiles(p);
  const GroupedArguments on = on_copies(p, copies, call.workspace);
  sm90::PackJob job;
  job.operand[0] = operand_of(copies.a, p.all.a, const_cast<void*>(on.all.a));
  job.operand[1] = operand_of(copies.b, p.all.b, const_cast<void*>(on.all.b));
  p = on;
  return sm90::launch_pack(job, call.options.sms, call.queue());
}

std::size_t copies_bound(const GroupedSpec& spec, std::int64_t max_m) {
  const GemmSpec& g = spec.gemm;
  if (spec.kind != GroupKind::batched || g.k <= 0 || g.n <= 0 || max_m <= 0) return 0;
  if (g.op_a == Op::transpose && g.k > 1) return 0;  // M runs along memory
  const auto bytes = [&](std::int64_t lines, std::int64_t length) -> std::size_t {
    if (length % 8 == 0 || length >= kMaxPackedExtent) return 0;
    const std::int64_t all = std::min(lines, kMaxPackedExtent / spec.groups) * spec.groups;
    return aligned_workspace(static_cast<std::size_t>(all * packed_pitch(length)) * 2);
  };
  const std::size_t b = std::max(g.op_b == Op::none ? bytes(g.k, g.n) : 0,
                                 g.op_b == Op::none && g.k > 1 ? 0 : bytes(g.n, g.k));
  return bytes(max_m, g.k) + b;
}

}  // namespace detgemm::cuda

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/packing.hpp"

#include <algorithm>

#include "cuda/device_model.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr const DeviceModel::Pack& model = device_model().pack;

std::size_t bytes_of(std::int64_t copies, std::int64_t pitch) {
  return aligned_workspace(static_cast<std::size_t>(copies * pitch) * 2);
}

/// How one operand is copied. `rows` is M or N.
PackOperand operand_of(const PackedShape& s, const void* from, std::int64_t rows, std::int64_t k,
                       std::int64_t ld, bool mn, std::int64_t copies, std::int64_t pitch,
                       void* to) {
  PackOperand o;
  o.from = from;
  o.to = to;
  o.ld = ld;
  o.pitch = pitch;
  o.lines = mn ? k : rows;
  o.copies = copies;
  o.length = static_cast<int>(mn ? rows : k);
  o.chunks = static_cast<int>(pitch / 8);
  o.leaf = s.leaf;
  o.room = s.room;
  o.along_k = !mn;
  return o;
}

std::int64_t leaf_of(const Reduction& r, bool leaves) { return leaves ? r.leaf_k : 0; }

}  // namespace

PackedShape packed_shape(bool packs_a, bool packs_b, bool a_mn, bool b_mn, std::int64_t m,
                         std::int64_t n, std::int64_t k, std::int64_t leaf_k) {
  PackedShape s;
  s.leaf = s.room = static_cast<int>(kMaxPackedExtent);  // all of k is one leaf
  s.leaf_k = leaf_k;
  s.k = packs_a && packs_b ? packed_pitch(k) : k;
  if (leaf_k % kBlockK != 0) {
    if (leaf_k < k) {
      const std::int64_t before = ceil_div(k, leaf_k) - 1;  // leaves before the last one
      s.leaf = static_cast<int>(leaf_k);
      s.room = static_cast<int>(packed_pitch(leaf_k));
      s.leaf_k = s.room;
      s.k = before * s.room + packed_pitch(k - before * leaf_k);
    } else {
      s.leaf_k = packed_pitch(k);
    }
  }
  if (packs_a) {
    s.a_copies = a_mn ? s.k : m;
    s.a_pitch = packed_pitch(a_mn ? m : s.k);
    s.a_bytes = bytes_of(s.a_copies, s.a_pitch);
  }
  if (packs_b) {
    s.b_copies = b_mn ? s.k : n;
    s.b_pitch = packed_pitch(b_mn ? n : s.k);
    s.b_bytes = bytes_of(s.b_copies, s.b_pitch);
  }
  return s;
}

PackedShape packed_shape(const Question& q) {
  return packed_shape(q.packing.a, q.packing.b, q.a_mn, q.b_mn, q.m, q.n, q.k,
                      leaf_of(q.reduction, q.leaves()));
}

Question packed(const Question& q) {
  const PackedShape s = packed_shape(q);
  Question on_copies = q;
  on_copies.family = q.leaves() ? Family::leaves : Family::chain;
  on_copies.form = q.packing.form;
  on_copies.roles = q.packing.roles;
  on_copies.packing = {};
  on_copies.k = s.k;
  if (q.leaves()) on_copies.reduction.leaf_k = s.leaf_k;
  return on_copies;
}

std::size_t packed_bytes(const Question& q) {
  const PackedShape s = packed_shape(q);
  return s.a_bytes + s.b_bytes;
}

std::size_t packed_bound(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                         std::int64_t k) {
  if (max_m == 0 || n == 0 || k == 0 || n >= kMaxPackedExtent || k >= kMaxPackedExtent) return 0;
  const std::int64_t m = std::min(max_m, kMaxPackedExtent);
  const std::int64_t padded_k =
      packed_shape(true, true, false, false, 1, 1, k,
                   leaf_of(reduction, reduction.kind != ReductionKind::chain))
          .k;
  if (padded_k >= kMaxPackedExtent) return 0;
  return bytes_of(packed_pitch(m), padded_k) + bytes_of(packed_pitch(n), padded_k);
}

double predicted_pack_time(const Question& q) {
  const PackedShape s = packed_shape(q);
  double bytes = static_cast<double>(s.a_bytes + s.b_bytes);
  if (q.packing.a) bytes += 2.0 * static_cast<double>(q.m) * static_cast<double>(q.k);
  if (q.packing.b) bytes += 2.0 * static_cast<double>(q.n) * static_cast<double>(q.k);
  return predicted_pack_time(bytes);
}

double predicted_pack_time(double bytes) { return model.start + bytes / model.rate; }

cudaError_t pack_operands(const Step& step, const Decision& d, Call& call) {
  GemmArguments& g = call.problem.gemms.all;
  PackJob job;
  const bool a_mn = d.swapped ? d.y_mn : d.x_mn;
  const bool b_mn = d.swapped ? d.x_mn : d.y_mn;
  const PackedShape s =
      packed_shape(step.a, step.b, a_mn, b_mn, g.m, g.n, g.k, leaf_of(g.reduction, d.leaves));
  const std::size_t needed =
      needed_workspace(KernelSet::hopper, g.reduction, g.m, g.n, g.k, call.options.sms);
  char* to = static_cast<char*>(call.workspace) + aligned_workspace(needed);
  if (step.a) {
    const std::int64_t ld = a_mn ? g.as.col : g.as.row;
    job.operand[0] = operand_of(s, g.a, g.m, g.k, ld, a_mn, s.a_copies, s.a_pitch, to);
    g.a = to;
    g.as = a_mn ? Strides{1, s.a_pitch} : Strides{s.a_pitch, 1};
    call.options.a_is_stable = false;  // the copy has just been written
    to += s.a_bytes;
  }
  if (step.b) {
    const std::int64_t ld = b_mn ? g.bs.row : g.bs.col;
    job.operand[1] = operand_of(s, g.b, g.n, g.k, ld, b_mn, s.b_copies, s.b_pitch, to);
    g.b = to;
    g.bs = b_mn ? Strides{s.b_pitch, 1} : Strides{1, s.b_pitch};
    call.options.b_is_stable = false;
  }
  g.k = s.k;
  if (d.leaves) g.reduction.leaf_k = s.leaf_k;
  return launch_pack(job, call.options.sms, call.queue());
}

cudaError_t launch_pack(const PackJob& job, int sms, const Queue& queue) {
  const Kernel kernel = pack_kernel();
  std::int64_t warps = 0;  // that have something to do
  for (const PackOperand& o : job.operand) {
    warps += o.copies * ceil_div(std::int64_t{o.chunks}, std::int64_t{kPackSegment});
  }
  const std::int64_t ctas = ceil_div(warps, std::int64_t{kernel.threads} / 32);
  const int grid =
      static_cast<int>(std::min<std::int64_t>(ctas, std::int64_t{kPackCtasPerSm} * sms));
  PackJob copy = job;
  void* arguments[] = {&copy};
  return launch(kernel, grid, queue, arguments);
}

}  // namespace detgemm::cuda::sm90

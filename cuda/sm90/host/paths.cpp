// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/operand_maps.hpp"
#include "cuda/sm90/host/packing.hpp"
#include "cuda/sm90/host/realign.hpp"
#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/tile/sides.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;  // TMA coordinates are 32-bit, signed

bool aligned16(const void* pointer, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0 && bytes % 16 == 0;
}

/// TMA takes the operand's rows without a copy.
bool suits_tma(const Operand& o) { return aligned16(o.data, o.ld * 2); }

bool small_enough(const Operand& o, std::int64_t k) {
  return o.rows < kMaxRows && k < kMaxRows && o.ld < kMaxStride;
}

/// Tiles of 64 x 8 either way round are counted in 32 bits.
bool few_tiles(std::int64_t m, std::int64_t n) {
  return ceil_div(m, std::int64_t{64}) * ceil_div(n, std::int64_t{8}) < kMaxRows &&
         ceil_div(n, std::int64_t{64}) * ceil_div(m, std::int64_t{8}) < kMaxRows;
}

bool fits_tma(const GemmArguments& g, const Sides& p) {
  return small_enough(p.x, g.k) && small_enough(p.y, g.k) && few_tiles(g.m, g.n);
}

bool whole_blocks(const Question& q) { return !q.leaves() || q.reduction.leaf_k % kBlockK == 0; }

/// `plain`: TMA stores D, after an epilogue that registers do.
Form form_of(bool plain, Family family, const Question& q) {
  if (plain) return Form::plain;
  return family == Family::realign && q.from_c ? Form::from_c : Form::general;
}

/// Sets the kernel family for these arrays. `tma`: extents that TMA counts, and for fold and tree
/// leaves of whole blocks of 64 k; `aligned`: operands with rows at multiples of 16 bytes; `plain`
/// as above.
void set_family(bool tma, bool aligned, bool realigns, bool plain, Question& q) {
  q.family = Family::gather;
  if (tma && aligned) q.family = q.leaves() ? Family::leaves : Family::chain;
  if (tma && !aligned && realigns && !q.leaves()) q.family = Family::realign;
  q.form = form_of(plain && aligned && tma, q.family, q);
}

/// Ordinary stores need the lines of D along y, and the ring needs an fp32 C along y.
Roles roles_for(const GemmArguments& g, const Question& q) {
  if (q.family != Family::chain && q.family != Family::leaves) return Roles::any;
  const bool reads_fp32 = g.c_type == DType::fp32 && g.epilogue.beta != 0.0F;
  const bool gradients = q.reduction.kind == ReductionKind::fold && q.a_mn && q.b_mn;
  const bool ring_32 = reads_fp32 || (g.continue_from_c && (!q.leaves() || gradients));
  if (q.form == Form::plain && !ring_32) return Roles::any;
  const Strides& lines = q.form == Form::plain ? g.cs : g.ds;
  if (g.m == 1 || g.n == 1) return Roles::any;
  return lines.col == 1 ? Roles::straight : lines.row == 1 ? Roles::swapped : Roles::any;
}

/// What copies of operands would be good for: those that TMA does not take unchanged, and both
/// where leaves have to be padded.
Packing packing_of(const GemmArguments& g, const Sides& p, bool plain, const Question& q) {
  if (q.family != Family::realign && q.family != Family::gather) return {};
  if (g.m >= kMaxRows || g.n >= kMaxRows || g.k == 0 || g.k >= kMaxRows || !few_tiles(g.m, g.n)) {
    return {};
  }
  Packing packing;
  const bool pads = !whole_blocks(q);
  packing.a = pads || !suits_tma(p.x) || !small_enough(p.x, g.k);
  packing.b = pads || !suits_tma(p.y) || !small_enough(p.y, g.k);
  Question with = q;
  with.family = q.leaves() ? Family::leaves : Family::chain;
  with.form = packing.form = form_of(plain, with.family, q);
  with.packing = packing;
  if (packed_shape(with).k >= kMaxRows) return {};
  packing.roles = roles_for(g, with);
  return packing;
}

}  // namespace

void ask(const GemmArguments& g, Question& q) {
  const bool single = g.k == 0 || (q.leaves() && leaves_of(g.reduction, g.k) == 1);
  if (single && q.forced < 0 && (g.k == 0 || !g.continue_from_c)) q.reduction = {};
  const Sides p = make_sides(g, false, false, false);
  const bool registers_finish =
      suits_chunks(g.epilogue.activation, g.output) &&
      (g.epilogue.beta == 0.0F || lines_suit_tma(g.c, g.cs, g.m, g.n, g.c_type));
  q.a_mn = p.x.mn_major;
  q.b_mn = p.y.mn_major;
  const bool plain = lines_suit_tma(g.d, g.ds, g.m, g.n, g.output) && registers_finish;
  set_family(fits_tma(g, p) && whole_blocks(q), suits_tma(p.x) && suits_tma(p.y),
             suits_realign(p.x, g.k) && suits_realign(p.y, g.k), plain, q);
  q.roles = roles_for(g, q);
  q.packing = packing_of(g, p, plain, q);
}

Question usual_question(const GemmSpec& spec, std::int64_t m) {
  // No device has more multiprocessors. A kernel whose CTAs share leaves is listed if the tiles of
  // a few rows could run at once on some device.
  constexpr int kMaxMultiprocessors = 1024;
  Question q;
  q.m = m;
  q.n = spec.n;
  q.k = spec.k;
  q.reduction = spec.contract.reduction;
  q.input = spec.contract.input;
  q.from_c = spec.continue_from_c;
  q.reads_c = spec.reads_c();
  q.sms = kMaxMultiprocessors;
  q.a_mn = spec.k > 1 && spec.op_a == Op::transpose;
  q.b_mn = spec.k > 1 && spec.op_b == Op::none;
  // With a single k, the rows of an operand whose M or N runs along memory have one element.
  const bool odd_rows =
      spec.k <= 1 && (spec.op_a == Op::transpose || (spec.op_b == Op::none && spec.n > 1));
  const std::int64_t row_bytes = spec.n * (spec.contract.output == DType::fp32 ? 4 : 2);
  set_family(spec.n < kMaxRows && spec.k < kMaxRows && whole_blocks(q), !odd_rows, true,
             row_bytes % 16 == 0 && suits_chunks(spec.activation, spec.contract.output), q);
  return q;
}

}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/realign/realign.hpp"
#include "cuda/sm90/tile/problem.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;  // TMA coordinates are 32-bit, signed

bool aligned16(const void* pointer, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0 && bytes % 16 == 0;
}

/// TMA takes the operand's rows as they are.
bool suits_tma(const Operand& o) { return aligned16(o.data, o.ld * 2); }

bool small_enough(const Operand& o, std::int64_t k) {
  return o.rows < kMaxRows && k < kMaxRows && o.ld < kMaxStride;
}

/// D as TMA would store it: rows along its contiguous direction, of whole 16-byte chunks. (At a
/// ragged end TMA also writes the rest of the last chunk, as seen on an H200.)
bool d_suits_tma(const GemmArguments& g) {
  const std::int64_t size = g.output == DType::fp32 ? 4 : 2;
  const bool along_n = g.n == 1 || g.ds.col == 1;
  const std::int64_t pitch = along_n ? (g.m > 1 ? g.ds.row : 8) : (g.n > 1 ? g.ds.col : 8);
  const std::int64_t length = along_n ? g.n : g.m;
  return aligned16(g.d, pitch * size) && length * size % 16 == 0 && pitch < kMaxStride &&
         (along_n || g.m == 1 || g.ds.row == 1);
}

bool fits_tma(const GemmArguments& g, const Problem& p) {
  return small_enough(p.x, g.k) && small_enough(p.y, g.k) &&
         ((g.m + 63) / 64) * ((g.n + 7) / 8) < kMaxRows;
}

/// What takes arrays of some kind. `tma`: extents that TMA counts, and for fold and tree leaves of
/// whole blocks of 64 k; `aligned`: operands with rows at multiples of 16 bytes; `plain`: an output
/// that TMA stores. A fold starts from fp32 C in the plain form too.
void set_family(bool tma, bool aligned, bool realigns, bool plain, Question& q) {
  q.family = Family::gather;
  if (tma && aligned) q.family = q.leaves() ? Family::leaves : Family::chain;
  if (tma && !aligned && realigns && !q.leaves()) q.family = Family::realign;
  if (plain && aligned && tma && (q.leaves() || !q.from_c)) return;
  q.form = q.from_c && !q.leaves() ? Form::from_c : Form::general;
}

bool whole_blocks(const Question& q) { return !q.leaves() || q.reduction.leaf_k % kBlockK == 0; }

}  // namespace

void ask(const GemmArguments& g, Question& q) {
  const bool single = g.k == 0 || (q.leaves() && leaves_of(g.reduction, g.k) == 1);
  if (single && q.forced < 0 && (g.k == 0 || !g.continue_from_c)) q.reduction = {};
  const Problem p = make_problem(g, false, false, false);
  q.a_mn = p.x.mn_major;
  q.b_mn = p.y.mn_major;
  set_family(fits_tma(g, p) && whole_blocks(q), suits_tma(p.x) && suits_tma(p.y),
             suits_realign(p.x, g.k) && suits_realign(p.y, g.k),
             d_suits_tma(g) && only_rounds(g.epilogue), q);
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
  q.sms = kMaxMultiprocessors;
  q.clusters = q.leaves();
  q.a_mn = spec.k > 1 && spec.op_a == Op::transpose;
  q.b_mn = spec.k > 1 && spec.op_b == Op::none;
  // With a single k, the rows of an operand whose M or N runs along memory have one element.
  const bool odd_rows =
      spec.k <= 1 && (spec.op_a == Op::transpose || (spec.op_b == Op::none && spec.n > 1));
  const std::int64_t row_bytes = spec.n * (spec.contract.output == DType::fp32 ? 4 : 2);
  const Epilogue epilogue{spec.alpha, spec.beta, spec.bias.has_value(), spec.activation};
  set_family(spec.n < kMaxRows && spec.k < kMaxRows && whole_blocks(q), !odd_rows, true,
             row_bytes % 16 == 0 && only_rounds(epilogue), q);
  return q;
}

}  // namespace detgemm::cuda::sm90

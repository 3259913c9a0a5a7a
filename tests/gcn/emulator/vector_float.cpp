// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include "tests/gcn/emulator/division.hpp"
#include "tests/gcn/emulator/vector_alu.hpp"

// The mode is the one compilers set for HIP: nearest even, subnormals kept.
namespace detgemm::gcn {

namespace {

/// IEEE mode: a NaN gives way to a number.
float least(float a, float b) {
  if (a != a || b != b) return a != a ? b + 0.0F : a;
  if (a == b) return std::signbit(a) ? a : b;
  return b < a ? b : a;
}
float greatest(float a, float b) { return -least(-a, -b); }
float middle(float a, float b, float c) {
  if (a != a || b != b || c != c) return least(least(a, b), c);
  return greatest(least(a, b), least(greatest(a, b), c));
}

/// Toward zero, to the nearest end of T's range; NaN gives 0.
template <class T>
T to_integer(float x) {
  using Limits = std::numeric_limits<T>;
  if (x != x) return 0;
  const double d = x;
  if (d <= static_cast<double>(Limits::min())) return Limits::min();
  return d >= static_cast<double>(Limits::max()) ? Limits::max() : static_cast<T>(d);
}

float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }
/// v_mac_f32: two roundings, subnormals flushed in the product's operands and every result.
float mac(float a, float b, float c) {
  return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}

/// Operand i of an instruction on pairs of fp32, for half `part`: flags say by op_sel and op_sel_hi
/// which word each half takes, and by neg_lo and neg_hi with which sign.
Source packed_source(Wave& w, const Instruction& in, int i, int part, Temp& temp, u64& valid) {
  Operand word = in[1 + i];
  const u32 pick = in.flags >> (2 * i + part) & 1;
  if (word.kind == Operand::constant && pick != 0) {
    throw Fault("the high word of a constant in a packed operation");
  }
  word.reg = static_cast<u16>(word.reg + pick);
  const Source s = fetch(w, word, 1, temp, valid);
  if ((in.flags >> (8 + 2 * i + part) & 1) == 0) return s;
  for (int l = 0; l < kLanes; ++l) temp.row[1][l] = s.low[l] ^ 0x80000000U;
  return {temp.row[1], temp.row[1]};
}

/// dst = F(operands) for both halves of v_pk_OP_f32.
template <class F>
void run_packed(Wave& w, const Instruction& in) {
  constexpr int count = SignatureOf<F>::count;
  Temp result[2];
  u64 valid[2] = {~u64{0}, ~u64{0}};
  for (int part = 0; part < 2; ++part) {
    Temp temp[count];
    Source s[count];
    for (int i = 0; i < count; ++i) s[i] = packed_source(w, in, i, part, temp[i], valid[part]);
    u32* out = result[part].row[0];
    each_lane<F>(out, out, s, std::make_integer_sequence<int, count>{});
  }
  Operand out = in[0];
  write_lanes(w, out, 1, result[0], valid[0]);
  ++out.reg;
  write_lanes(w, out, 1, result[1], valid[1]);
}
template <class F>
Operation packed(F) {
  return run_packed<F>;
}

float as_float(Half a) { return static_cast<float>(a); }

#define F1(NAME, A, EXPRESSION) op(NAME, alu([](A a) { return EXPRESSION; }))
#define F2(NAME, EXPRESSION) op(NAME, alu([](float a, float b) { return EXPRESSION; }))
#define F3(NAME, EXPRESSION) op(NAME, alu([](float a, float b, float c) { return EXPRESSION; }))

}  // namespace

std::vector<Opcode> vector_float_opcodes() {
  return {
      F2("v_add_f32", a + b),
      F2("v_sub_f32", a - b),
      F2("v_subrev_f32", b - a),
      F2("v_mul_f32", a * b),
      F2("v_min_f32", least(a, b)),
      F2("v_max_f32", greatest(a, b)),
      F3("v_min3_f32", least(least(a, b), c)),
      F3("v_max3_f32", greatest(greatest(a, b), c)),
      F3("v_med3_f32", middle(a, b, c)),
      {"v_fma_f32", alu(Fma{})},
      {"v_fmaak_f32", alu(Fma{})},
      {"v_fmamk_f32", alu(Fma{})},
      {"v_fmac_f32", alu(Fma{}), Opcode::accumulates},
      {"v_mac_f32", alu([](float a, float b, float c) { return mac(a, b, c); }),
       Opcode::accumulates},
      {"v_pk_fma_f32", packed(Fma{})},
      {"v_pk_mul_f32", packed([](float a, float b) { return a * b; })},
      {"v_pk_add_f32", packed([](float a, float b) { return a + b; })},
      F1("v_rcp_f32", float, 1.0F / a),  // hardware: within 1 ulp
      F1("v_rcp_iflag_f32", float, 1.0F / a),
      {"v_div_scale_f32", alu([](bool& undo, float a, float b, float c) {
         return scaled_for_division(a, b, c, undo);
       })},
      {"v_div_fmas_f32", alu([](float a, float b, float c, Bit undo) {
         return fma_undoing_scale(a, b, c, undo.set);
       }),
       Opcode::reads_vcc},
      F3("v_div_fixup_f32", fixed_quotient(a, b, c)),
      {"v_ldexp_f32", alu([](float a, i32 b) { return std::ldexp(a, b); })},
      F1("v_floor_f32", float, std::floor(a)),
      F1("v_ceil_f32", float, std::ceil(a)),
      F1("v_rndne_f32", float, std::nearbyint(a)),
      F1("v_trunc_f32", float, std::trunc(a)),
      F1("v_cvt_f32_u32", u32, static_cast<float>(a)),
      F1("v_cvt_f32_i32", i32, static_cast<float>(a)),
      F1("v_cvt_u32_f32", float, to_integer<u32>(a)),
      F1("v_cvt_i32_f32", float, to_integer<i32>(a)),
      F1("v_cvt_f32_f16", Half, as_float(a)),
      F1("v_cvt_f16_f32", float, Half(a)),
      {"v_pack_b32_f16", alu([](u32 a, u32 b) { return (a & 0xffff) | b << 16; })},
  };
}

}  // namespace detgemm::gcn

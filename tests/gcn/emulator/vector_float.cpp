// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "tests/gcn/emulator/division.hpp"
#include "tests/gcn/emulator/vector_alu.hpp"
#include "tests/gcn/emulator/wide.hpp"

// The mode is the one compilers set for HIP: nearest even, subnormals kept.
namespace detgemm::gcn {

namespace {

float quiet(float x) { return arithmetic::float_of(arithmetic::bits_of(x) | 0x400000); }
/// IEEE mode: a NaN gives way to a number.
float least(float a, float b) {
  if (a != a) return b != b ? quiet(a) : b;
  if (a == b) return std::signbit(a) ? a : b;
  return b < a ? b : a;
}
float greatest(float a, float b) { return -least(-a, -b); }
float middle(float a, float b, float c) {
  if (a != a || b != b || c != c) return least(least(a, b), c);
  return greatest(least(a, b), least(greatest(a, b), c));
}

template <class T>
T to_integer(float x, double least_value, double greatest_value) {
  if (x != x) return 0;
  const double d = x;
  return static_cast<T>(d < least_value ? least_value : d > greatest_value ? greatest_value : d);
}
u32 to_u32(float x) { return to_integer<u32>(std::trunc(x), 0, 4294967295.0); }
i32 to_i32(float x) { return to_integer<i32>(std::trunc(x), -2147483648.0, 2147483647.0); }

float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }
/// v_mac_f32: two roundings, subnormals flushed in the product's operands and every result.
float mac(float a, float b, float c) {
  return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}

/// Operand FIRST + i of an instruction on 64 fp32 lanes, for half `part` of a packed one.
Source packed_source(Wave& w, const Instruction& in, int i, int part, Temp& temp, u64& valid) {
  const Operand& o = in[1 + i];
  const u32 pick =
      in.flags >> (2 * i + part) & 1;  // op_sel for the low half, op_sel_hi for the high
  if (o.kind == Operand::constant) {
    if (pick != 0) throw Fault("the high word of a constant in a packed operation");
  }
  Operand word = o;
  word.reg = static_cast<u16>(o.reg + pick);
  Source s = fetch(w, word, 1, temp, valid);
  if ((in.flags >> (8 + 2 * i + part) & 1) != 0) {
    for (int l = 0; l < kLanes; ++l) temp.row[1][l] = s.low[l] ^ 0x80000000U;
    s = {temp.row[1], temp.row[1]};
  }
  return s;
}

/// Both halves of v_pk_OP_f32; flags hold the word each half takes and its
/// sign, see decode.cpp.
template <class F>
void run_packed(Wave& w, const Instruction& in) {
  constexpr int count = SignatureOf<F>::count;
  Temp result;
  u64 valid[2] = {~u64{0}, ~u64{0}};
  for (int part = 0; part < 2; ++part) {
    Temp temp[3];
    Source s[3] = {};
    for (int i = 0; i < count; ++i) s[i] = packed_source(w, in, i, part, temp[i], valid[part]);
    u32* out = result.row[part];
    if constexpr (count == 3) {
      wide().fma(out, s[0].low, s[1].low, s[2].low);
    } else {
      for (int l = 0; l < kLanes; ++l) {
        set_lane<float>(out, out, l, F{}(lane_value<float>(s[0], l), lane_value<float>(s[1], l)));
      }
    }
  }
  const int reg = vector_destination(in[0]).reg;
  w.define(reg, 1, valid[0]);
  w.define(reg + 1, 1, valid[1]);
  blend(w, reg, 2, result);
}

template <class F>
Operation packed(F) {
  return run_packed<F>;
}

/// v_pk_mov_b32: low word from operand 1, high word from operand 2, each by op_sel.
void packed_move(Wave& w, const Instruction& in) {
  Temp temp[2];
  Temp result;
  u64 valid[2] = {~u64{0}, ~u64{0}};
  for (int part = 0; part < 2; ++part) {
    Operand word = in[1 + part];
    if (word.kind != Operand::constant) word.reg += in.flags >> (2 * part) & 1;
    const Source s = fetch(w, word, 1, temp[part], valid[part]);
    for (int l = 0; l < kLanes; ++l) result.row[part][l] = s.low[l];
  }
  w.define(vector_destination(in[0]).reg, 1, valid[0]);
  w.define(in[0].reg + 1, 1, valid[1]);
  blend(w, in[0].reg, 2, result);
}

/// One rounding, by the processor's own instruction where it has one.
void fma(Wave& w, const Instruction& in) {
  u64 valid = ~u64{0};
  Temp temp[3];
  const Source a = fetch(w, in[1], 1, temp[0], valid);
  const Source b = fetch(w, in[2], 1, temp[1], valid);
  const Source c = fetch(w, in[3], 1, temp[2], valid);
  const int reg = vector_destination(in[0]).reg;
  w.define(reg, 1, valid);
  Temp result;
  const bool all = w.exec() == ~u64{0};
  wide().fma(all ? w.v[reg] : result.row[0], a.low, b.low, c.low);
  if (!all) blend(w, reg, 1, result);
}

/// v_div_scale_f32: dst, vcc, operands. Writes the scaled operand and whether v_div_fmas must undo.
void div_scale(Wave& w, const Instruction& in) {
  u64 valid = ~u64{0};
  Temp temp[3];
  const Source s[3] = {fetch(w, in[2], 1, temp[0], valid), fetch(w, in[3], 1, temp[1], valid),
                       fetch(w, in[4], 1, temp[2], valid)};
  Temp result;
  u64 mask = 0;
  for (int l = 0; l < kLanes; ++l) {
    bool undo = false;
    set_lane<float>(result.row[0], nullptr, l,
                    scaled_for_division(lane_value<float>(s[0], l), lane_value<float>(s[1], l),
                                        lane_value<float>(s[2], l), undo));
    mask |= static_cast<u64>(undo) << l;
  }
  w.define(vector_destination(in[0]).reg, 1, valid);
  blend(w, in[0].reg, 1, result);
  write_scalar64(w, in[1], mask & w.exec());
}

void div_fmas(Wave& w, const Instruction& in) {
  u64 valid = ~u64{0};
  Temp temp[3];
  const Source s[3] = {fetch(w, in[1], 1, temp[0], valid), fetch(w, in[2], 1, temp[1], valid),
                       fetch(w, in[3], 1, temp[2], valid)};
  w.need_scalar(kVcc, 2);
  const u64 vcc = w.scalar64(kVcc);
  Temp result;
  for (int l = 0; l < kLanes; ++l) {
    set_lane<float>(result.row[0], nullptr, l,
                    fma_undoing_scale(lane_value<float>(s[0], l), lane_value<float>(s[1], l),
                                      lane_value<float>(s[2], l), (vcc >> l & 1) != 0));
  }
  w.define(vector_destination(in[0]).reg, 1, valid);
  blend(w, in[0].reg, 1, result);
}

u32 pack_round_to_zero(float a, float b) {
  // Nearest, then one step back toward zero where that went too far.
  const auto toward_zero = [](float x) {
    Half h(x);
    const float back = static_cast<float>(h);
    if (x == x && std::fabs(back) > std::fabs(x)) --h.bits;
    return h.bits;
  };
  return toward_zero(a) | static_cast<u32>(toward_zero(b)) << 16;
}

#define GCN_HALF(EXPRESSION)                                          \
  [](Half x, Half y) {                                                \
    const float a = static_cast<float>(x), b = static_cast<float>(y); \
    return Half(EXPRESSION);                                          \
  }

}  // namespace

std::vector<Opcode> vector_float_opcodes() {
  return {
      {"v_add_f32", alu([](float a, float b) { return a + b; })},
      {"v_sub_f32", alu([](float a, float b) { return a - b; })},
      {"v_subrev_f32", alu([](float a, float b) { return b - a; })},
      {"v_mul_f32", alu([](float a, float b) { return a * b; })},
      {"v_mul_legacy_f32", alu([](float a, float b) { return a == 0 || b == 0 ? 0.0F : a * b; })},
      {"v_min_f32", alu([](float a, float b) { return least(a, b); })},
      {"v_max_f32", alu([](float a, float b) { return greatest(a, b); })},
      {"v_min3_f32", alu([](float a, float b, float c) { return least(least(a, b), c); })},
      {"v_max3_f32", alu([](float a, float b, float c) { return greatest(greatest(a, b), c); })},
      {"v_med3_f32", alu([](float a, float b, float c) { return middle(a, b, c); })},
      {"v_fma_f32", fma},
      {"v_fmaak_f32", fma},
      {"v_fmamk_f32", fma},
      {"v_fmac_f32", fma, true},
      {"v_mac_f32", alu([](float a, float b, float c) { return mac(a, b, c); }), true},
      {"v_madmk_f32", alu([](float a, float b, float c) { return mac(a, b, c); })},
      {"v_madak_f32", alu([](float a, float b, float c) { return mac(a, b, c); })},
      {"v_mad_f32", alu([](float a, float b, float c) { return mac(a, b, c); })},
      {"v_pk_fma_f32", packed([](float, float, float) { return 0.0F; })},  // by wide().fma
      {"v_pk_mul_f32", packed([](float a, float b) { return a * b; })},
      {"v_pk_add_f32", packed([](float a, float b) { return a + b; })},
      {"v_pk_mov_b32", packed_move},
      {"v_rcp_f32", alu([](float a) { return 1.0F / a; })},  // hardware: within 1 ulp
      {"v_rcp_iflag_f32", alu([](float a) { return 1.0F / a; })},
      {"v_div_scale_f32", div_scale},
      {"v_div_fmas_f32", div_fmas},
      {"v_div_fixup_f32", alu([](float a, float b, float c) { return fixed_quotient(a, b, c); })},
      {"v_ldexp_f32", alu([](float a, i32 b) { return std::ldexp(a, b); })},
      {"v_frexp_exp_i32_f32", alu([](float a) {
         int e = 0;
         if (std::isfinite(a)) std::frexp(a, &e);
         return static_cast<i32>(e);
       })},
      {"v_frexp_mant_f32", alu([](float a) {
         int e = 0;
         return std::isfinite(a) ? std::frexp(a, &e) : a;
       })},
      {"v_trunc_f32", alu([](float a) { return std::trunc(a); })},
      {"v_floor_f32", alu([](float a) { return std::floor(a); })},
      {"v_ceil_f32", alu([](float a) { return std::ceil(a); })},
      {"v_rndne_f32", alu([](float a) { return std::nearbyint(a); })},
      {"v_cvt_f32_u32", alu([](u32 a) { return static_cast<float>(a); })},
      {"v_cvt_f32_i32", alu([](i32 a) { return static_cast<float>(a); })},
      {"v_cvt_u32_f32", alu([](float a) { return to_u32(a); })},
      {"v_cvt_i32_f32", alu([](float a) { return to_i32(a); })},
      {"v_cvt_f32_ubyte0", alu([](u32 a) { return static_cast<float>(a & 255); })},
      {"v_cvt_f32_f16", alu([](Half a) { return static_cast<float>(a); })},
      {"v_cvt_f16_f32", alu([](float a) { return Half(a); })},
      {"v_cvt_pkrtz_f16_f32", alu([](float a, float b) { return pack_round_to_zero(a, b); })},
      {"v_pack_b32_f16",
       alu([](Half a, Half b) { return a.bits | static_cast<u32>(b.bits) << 16; })},
      {"v_add_f16", alu(GCN_HALF(a + b))},
      {"v_sub_f16", alu(GCN_HALF(a - b))},
      {"v_mul_f16", alu(GCN_HALF(a * b))},
      {"v_max_f16", alu(GCN_HALF(greatest(a, b)))},
      {"v_min_f16", alu(GCN_HALF(least(a, b)))},
  };
}

}  // namespace detgemm::gcn

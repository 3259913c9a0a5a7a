// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The vector instructions: an opcode is a line of the table at the end. The mode is the one that
// compilers set for HIP: nearest even, subnormals kept.

#include <algorithm>
#include <cmath>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

/// v_cndmask_b32: lanes of the mask (operand 3) get operand 2, others operand 1.
void cndmask(Wave& w, const Instruction& in) {
  u64 valid[2] = {~u64{0}, ~u64{0}};
  Temp temp[2];
  const Source a = fetch(w, in[1], 1, temp[0], valid[0]);
  const Source b = fetch(w, in[2], 1, temp[1], valid[1]);
  const u64 mask = fetch_mask(w, in[3]).mask;
  Temp result;
  for (int l = 0; l < kLanes; ++l) result.row[0][l] = (mask >> l & 1) != 0 ? b.low[l] : a.low[l];
  write_lanes(w, in[0], 1, result, (valid[0] & ~mask) | (valid[1] & mask));
}

/// How many of the first bits are equal; -1 where all are.
u32 equal_signs(u32 a) {
  const u32 turned = a >> 31 != 0 ? ~a : a;
  return turned == 0 ? ~0U : static_cast<u32>(__builtin_clz(turned));
}

/// v_mad_u64_u32, v_mad_i64_i32: dst64, overflow, a, b, c64. The compiler leaves the high word of c
/// undefined where only the low word of the result counts, so each word has its own validity.
template <class T, class Wide>
void mad64(Wave& w, const Instruction& in) {
  u64 low_valid = ~u64{0};
  Temp temp[3];
  const Source a = fetch(w, in[2], 1, temp[0], low_valid);
  const Source b = fetch(w, in[3], 1, temp[1], low_valid);
  u64 high_valid = low_valid;
  const Source c = fetch(w, in[4], 2, temp[2], high_valid);
  if (in[4].kind == Operand::vector) low_valid &= w.use(in[4].reg, 1);
  Temp result;
  for (int l = 0; l < kLanes; ++l) {
    const Wide product = static_cast<Wide>(lane_value<T>(a, l)) * lane_value<T>(b, l);
    set_lane<u64>(result.row[0], result.row[1], l,
                  static_cast<u64>(product) + lane_value<u64>(c, l));
  }
  write_lanes(w, in[0], 2, result, high_valid);
  w.define(in[0].reg, 1, low_valid);
  // Compilers do not read the carry: it counts as unwritten.
  write_scalar(w, in[1], 2, 0, 0);
}

/// v_readlane_b32 and v_readfirstlane_b32.
template <bool kFirst>
void readlane(Wave& w, const Instruction& in) {
  const u64 first = w.exec() == 0 ? 0 : static_cast<u64>(std::countr_zero(w.exec()));
  const u64 lane = kFirst ? first : read_scalar(w, in[2], 1) & 63;
  const int reg = vector_destination(in[1]).reg;
  // What a compiler keeps in lanes (v_writelane) it may copy without having written it.
  const bool written = (w.use(reg, 1) >> lane & 1) != 0;
  if (kFirst && !written) refuse_unwritten(reg, u64{1} << lane);
  write_scalar(w, in[0], 1, w.v[reg][lane], written ? ~u64{0} : 0);
}

u32 perm(u32 a, u32 b, u32 select) {
  const u64 bytes = static_cast<u64>(a) << 32 | b;
  u32 out = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 s = select >> (8 * i) & 255;
    const u64 sign = s < 12 ? bytes >> (16 * (s & 3) + 15) & 1 : s != 12;  // 12 is 0, 13 and up 255
    out |= static_cast<u32>(s < 8 ? bytes >> (8 * s) & 255 : 255 * sign) << (8 * i);
  }
  return out;
}

/// Bit 4 * a + 2 * b + c of `table`, bit by bit.
u32 by_table(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 i = 0; i < 8; ++i)
    r |= (0 - (table >> i & 1)) & ~(a ^ (0 - (i >> 2))) & ~(b ^ (0 - (i >> 1 & 1))) &
         ~(c ^ (0 - (i & 1)));
  return r;
}

u32 reversed(u32 a) {
  u32 r = 0;
  for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
  return r;
}
u32 low24(u32 a) { return a & 0xffffff; }
u64 wide_uint(u32 a) { return a; }

bool signals(float x) { return x != x && (arithmetic::bits_of(x) & 0x400000) == 0; }
float quiet(float x) { return arithmetic::float_of(arithmetic::bits_of(x) | 0x400000); }
/// To bf16; what is left of a NaN's bits, quieted. No manual says what a chip makes of a NaN.
u32 bf16_of(float x) {
  return x != x ? arithmetic::bits_of(quiet(x)) >> 16 : u32{arithmetic::to_bf16(x)};
}

/// IEEE mode: a number is preferred to a NaN, unless that signals.
float greatest(float a, float b) {
  if (signals(a) || signals(b)) return quiet(signals(a) ? a : b);
  if (a != a || b != b) return a != a ? b : a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

/// Toward zero, to the nearest end of the range; NaN gives 0.
u32 to_integer(float x) {
  if (!(x > 0)) return 0;
  return x >= 0x1p32F ? ~u32{0} : static_cast<u32>(x);
}

/// Toward zero, to the nearest end of the range; NaN gives 0.
i32 to_signed(float x) {
  if (x != x) return 0;
  return x >= 0x1p31F ? 0x7fffffff : x < -0x1p31F ? -0x7fffffff - 1 : static_cast<i32>(x);
}

/// Bits of `which`: signalling and quiet NaN, then -Inf, -normal, -subnormal, -0 and their mirrors.
bool is_of_class(float x, u32 which) {
  const bool negative = std::signbit(x);
  const auto of = [&](u32 least) { return negative ? least : 11 - least; };
  u32 bit = of(std::isinf(x) ? 2 : std::isnormal(x) ? 3 : x != 0 ? 4 : 5);
  if (x != x) bit = signals(x) ? 0 : 1;
  return (which >> bit & 1) != 0;
}

float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }
/// v_mac_f32, v_madmk_f32: two roundings, subnormals flushed in the product's operands and every
/// result.
float mac(float a, float b, float c) {
  return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}

// The three helpers of AMD's fp32 division sequence, after the pseudo code of AMD's instruction set
// manuals. With them and fma the compiler's sequence rounds correctly, which a test shows.

int exponent_field(float x) { return static_cast<int>(arithmetic::bits_of(x) >> 23 & 255); }
bool is_subnormal(float x) { return x != 0 && exponent_field(x) == 0; }

/// v_div_scale_f32(which, denominator, numerator): `which` is one of the two, scaled so that no
/// step of the sequence leaves the normal range. `undo` tells v_div_fmas to scale the quotient.
float scaled_for_division(float which, float denominator, float numerator, bool& undo) {
  undo = false;
  const bool same_as_denominator = which == denominator;
  const bool same_as_numerator = which == numerator;
  if (denominator == 0 || numerator == 0) return arithmetic::float_of(0x7fc00000);
  if (exponent_field(numerator) - exponent_field(denominator) >= 96) {
    undo = true;
    return same_as_denominator ? std::ldexp(which, 64) : which;
  }
  if (is_subnormal(denominator)) return std::ldexp(which, 64);
  // The manuals also ask whether 1 / denominator is a subnormal double, which of fp32 it never is.
  const bool small_quotient =
      is_subnormal(static_cast<float>(static_cast<double>(numerator) / denominator));
  if (small_quotient) {
    undo = true;
    return same_as_numerator ? std::ldexp(which, 64) : which;
  }
  if (exponent_field(numerator) <= 23) return std::ldexp(which, 64);
  return which;
}

/// v_div_fmas_f32: fma, with the scale undone where v_div_scale says so.
float fma_undoing_scale(float a, float b, float c, bool undo) {
  if (!undo) return std::fma(a, b, c);
  // Rounded to double and then to fp32, subnormal or not: as one rounding, but within 2^-29 units
  // of a tie, where the sequence's residual does not come.
  const int scale = exponent_field(c) > 127 ? 64 : -64;
  const double exact = std::fma(static_cast<double>(a), static_cast<double>(b), c);
  return static_cast<float>(std::ldexp(exact, scale));
}

/// v_div_fixup_f32(quotient, denominator, numerator): the special cases.
float fixed_quotient(float quotient, float denominator, float numerator) {
  const float special = numerator / denominator;
  if (special != special) return arithmetic::float_of(0x7fc00000);
  if (denominator == 0 || std::isinf(denominator) || numerator == 0 || std::isinf(numerator))
    return special;
  // The sequence meets Inf - Inf where the quotient leaves the range. The manuals name the
  // denominator here, which can have no such exponent in this place; the quotient is what they
  // mean.
  if (exponent_field(quotient) == 255) quotient = INFINITY;
  if (exponent_field(numerator) - exponent_field(denominator) < -150) quotient = 0;
  return std::copysign(quotient, special);
}

// One opcode of one, two or three operands a, b, c.
#define V1(NAME, A, EXPRESSION) op(NAME, alu([](A a) { return EXPRESSION; }))
#define V2(NAME, A, B, EXPRESSION) op(NAME, alu([](A a, B b) { return EXPRESSION; }))
#define V3(NAME, A, EXPRESSION) op(NAME, alu([](A a, A b, A c) { return EXPRESSION; }))
// One that also writes a carry `o`, without and with a carry `i` that comes in.
#define CARRY(NAME, OUT, EXPRESSION) \
  op(NAME, alu([](bool& o, u32 a, u32 b) { return o = (OUT), EXPRESSION; }))
#define CARRY_IN(NAME, OUT, EXPRESSION) \
  op(NAME, alu([](bool& o, u32 a, u32 b, Bit i) { return o = (OUT), EXPRESSION; }))
// Comparisons of one type. Of floats, lg is less or greater; an n in front is "not", true for NaN.
#define COMPARE(TYPE, T)                                                     \
  V2("v_cmp_lt_" TYPE, T, T, a < b), V2("v_cmp_eq_" TYPE, T, T, a == b),     \
      V2("v_cmp_le_" TYPE, T, T, a <= b), V2("v_cmp_gt_" TYPE, T, T, a > b), \
      V2("v_cmp_ge_" TYPE, T, T, a >= b)
#define COMPARE_HALF(NAME, OP)       \
  V2("v_cmp_" NAME "_f16", u16, u16, \
     arithmetic::to_float<DType::fp16>(a) OP arithmetic::to_float<DType::fp16>(b))
#define COMPARE_INTEGER(TYPE, T) COMPARE(TYPE, T), V2("v_cmp_ne_" TYPE, T, T, a != b)

}  // namespace

std::vector<Opcode> vector_opcodes() {
  return {
      V1("v_mov_b32", u32, a),
      op("v_mov_b64", packed([](u32 a) { return a; }), Opcode::moves_pair),
      op("v_pk_mov_b32", packed([](u32 a) { return a; }), Opcode::moves_words),
      V1("v_accvgpr_write_b32", u32, a),
      V1("v_accvgpr_read_b32", u32, a),
      V1("v_accvgpr_mov_b32", u32, a),
      op("v_cndmask_b32", cndmask),
      op("v_readlane_b32", readlane<false>),
      op("v_readfirstlane_b32", readlane<true>),

      V1("v_not_b32", u32, ~a),
      V1("v_bfrev_b32", u32, reversed(a)),
      V1("v_ffbh_u32", u32, a == 0 ? ~0U : static_cast<u32>(__builtin_clz(a))),
      V1("v_ffbh_i32", u32, equal_signs(a)),
      V2("v_and_b32", u32, u32, a & b),
      V2("v_and_b32 upper", u32, u32, (a & b) << 16),
      V2("v_or_b32", u32, u32, a | b),
      V2("v_xor_b32", u32, u32, a ^ b),
      V2("v_lshlrev_b32", u32, u32, b << (a & 31)),
      V2("v_lshrrev_b32", u32, u32, b >> (a & 31)),
      V2("v_ashrrev_i32", u32, i32, b >> (a & 31)),
      V2("v_lshlrev_b64", u32, u64, b << (a & 63)),
      V2("v_ashrrev_i64", u32, u64, static_cast<u64>(static_cast<i64>(b) >> (a & 63))),
      V2("v_lshrrev_b16", u16, u16, static_cast<u16>(b >> (a & 15))),
      V3("v_bfe_u32", u32, a >> (b & 31) & ((1U << (c & 31)) - 1)),
      V3("v_bfe_i32", i32,
         (c & 31) == 0 ? 0 : (a >> (b & 31)) << (32 - (c & 31)) >> (32 - (c & 31))),
      V3("v_and_or_b32", u32, (a & b) | c),
      V3("v_bfi_b32", u32, (a & b) | (~a & c)),
      V3("v_or3_b32", u32, a | b | c),
      V3("v_alignbit_b32", u32, static_cast<u32>((wide_uint(a) << 32 | b) >> (c & 31))),
      V3("v_perm_b32", u32, perm(a, b, c)),
      V2("v_pack_b32_f16", u16, u16, u32{b} << 16 | a),
      op("v_bitop3_b32", alu([](u32 a, u32 b, u32 c, u32 t) { return by_table(a, b, c, t); })),

      V2("v_add_u32", u32, u32, a + b),
      V2("v_sub_u32", u32, u32, a - b),
      V2("v_sub_u32 clamp", u32, u32, a > b ? a - b : 0),
      V2("v_subrev_u32", u32, u32, b - a),
      V2("v_sub_u16", u16, u16, static_cast<u16>(a - b)),
      V2("v_mul_lo_u16", u16, u16, static_cast<u16>(u32{a} * b)),
      V2("v_mul_lo_u32", u32, u32, a * b),
      V2("v_mul_hi_u32", u32, u32, static_cast<u32>(wide_uint(a) * b >> 32)),
      V2("v_mul_u32_u24", u32, u32, low24(a) * low24(b)),
      V2("v_min_u32", u32, u32, std::min(a, b)),
      V2("v_max_u32", u32, u32, std::max(a, b)),
      V2("v_min_i32", i32, i32, std::min(a, b)),
      V2("v_max_i32", i32, i32, std::max(a, b)),
      V3("v_max3_i32", i32, std::max(a, std::max(b, c))),
      V3("v_med3_i32", i32, std::max(std::min(a, b), std::min(std::max(a, b), c))),
      V3("v_add3_u32", u32, a + b + c),
      V3("v_lshl_add_u32", u32, (a << (b & 31)) + c),
      V3("v_add_lshl_u32", u32, (a + b) << (c & 31)),
      V3("v_xad_u32", u32, (a ^ b) + c),
      V3("v_lshl_or_b32", u32, (a << (b & 31)) | c),
      V3("v_mad_u32_u24", u32, low24(a) * low24(b) + c),
      op("v_lshl_add_u64", alu([](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; })),
      op("v_mad_u64_u32", mad64<u32, u64>),
      op("v_mad_i64_i32", mad64<i32, i64>),
      CARRY("v_add_co_u32", a + b < a, a + b),
      CARRY("v_sub_co_u32", b > a, a - b),
      CARRY("v_subrev_co_u32", a > b, b - a),
      CARRY_IN("v_addc_co_u32", (wide_uint(a) + b + i.set) >> 32 != 0, a + b + i.set),
      CARRY_IN("v_subb_co_u32", wide_uint(b) + i.set > a, a - b - i.set),
      CARRY_IN("v_subbrev_co_u32", wide_uint(a) + i.set > b, b - a - i.set),

      V2("v_add_f32", float, float, a + b),
      V2("v_sub_f32", float, float, a - b),
      V2("v_subrev_f32", float, float, b - a),
      V2("v_mul_f32", float, float, a* b),
      V2("v_ldexp_f32", float, i32, std::ldexp(a, b)),
      V2("v_max_f32", float, float, greatest(a, b)),
      V3("v_max3_f32", float, greatest(greatest(a, b), c)),
      op("v_fma_f32", alu(Fma{})),
      op("v_fmaak_f32", alu(Fma{})),
      op("v_fmamk_f32", alu(Fma{})),
      op("v_fmac_f32", alu(Fma{}), Opcode::accumulates),
      op("v_mac_f32", alu([](float a, float b, float c) { return mac(a, b, c); }),
         Opcode::accumulates),
      op("v_madmk_f32", alu([](float a, float b, float c) { return mac(a, b, c); })),
      op("v_pk_fma_f32", packed(Fma{}), Opcode::pairs),
      op("v_pk_mul_f32", packed([](float a, float b) { return a * b; }), Opcode::pairs),
      op("v_pk_add_f32", packed([](float a, float b) { return a + b; }), Opcode::pairs),
      V1("v_rcp_f32", float, 1.0F / a),  // hardware: within 1 ulp
      V1("v_rcp_iflag_f32", float, 1.0F / a),
      V1("v_rsq_f32", float, static_cast<float>(1 / std::sqrt(static_cast<double>(flushed(a))))),
      op("v_div_scale_f32", alu([](bool& undo, float a, float b, float c) {
           return scaled_for_division(a, b, c, undo);
         })),
      op("v_div_fmas_f32", alu([](float a, float b, float c, Bit undo) {
           return fma_undoing_scale(a, b, c, undo.set);
         }),
         Opcode::reads_vcc),
      V3("v_div_fixup_f32", float, fixed_quotient(a, b, c)),
      V1("v_trunc_f32", float, std::trunc(a)),
      V1("v_cvt_f32_u32", u32, static_cast<float>(a)),
      V1("v_cvt_f32_i32", i32, static_cast<float>(a)),
      V1("v_cvt_i32_f32", float, static_cast<u32>(to_signed(a))),
      V1("v_cvt_u32_f32", float, to_integer(a)),
      V1("v_cvt_f32_f16", u16, arithmetic::to_float<DType::fp16>(a)),
      V1("v_cvt_f16_f32", float, arithmetic::to_fp16(a)),
      V2("v_cvt_pk_f16_f32", float, float,
         u32{arithmetic::to_fp16(b)} << 16 | arithmetic::to_fp16(a)),
      V2("v_cvt_pk_bf16_f32", float, float, bf16_of(b) << 16 | bf16_of(a)),

      COMPARE_INTEGER("i16", i16),
      COMPARE_INTEGER("u16", u16),
      COMPARE_INTEGER("i32", i32),
      COMPARE_INTEGER("u32", u32),
      COMPARE_INTEGER("i64", i64),
      COMPARE_INTEGER("u64", u64),
      COMPARE("f32", float),
      V2("v_cmp_class_f32", float, u32, is_of_class(a, b)),
      COMPARE_HALF("lt", <),
      COMPARE_HALF("gt", >),
      COMPARE_HALF("le", <=),
      COMPARE_HALF("ge", >=),
      COMPARE_HALF("eq", ==),
      V2("v_cmp_o_f16", u16, u16, std::max(a & 0x7fff, b & 0x7fff) <= 0x7c00),
      V2("v_cmp_u_f16", u16, u16, std::max(a & 0x7fff, b & 0x7fff) > 0x7c00),
      V2("v_cmp_o_f32", float, float, a == a && b == b),
      V2("v_cmp_u_f32", float, float, a != a || b != b),
      V2("v_cmp_lg_f32", float, float, a<b || a> b),
      V2("v_cmp_neq_f32", float, float, !(a == b)),
  };
}

}  // namespace detgemm::gcn

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

/// v_cndmask_b32: lanes of the mask (operand 3) take operand 2, others operand 1.
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
  w.define_scalar(in[1].reg, 2);  // compilers do not read the carry: it counts as unwritten
  w.s_known[in[1].reg] = w.s_known[in[1].reg + 1] = 0;
}

/// Two words, one of which may be undefined: v_mov_b64 and v_pk_mov_b32 (the low word from operand
/// 1, the high word from operand 2, each by op_sel).
template <bool kPacked>
void move_words(Wave& w, const Instruction& in) {
  for (int i = 0; i < 2; ++i) {
    Operand word = in[kPacked ? 1 + i : 1];
    const u32 pick = kPacked ? in.flags >> (2 * i) & 1 : static_cast<u32>(i);
    if (word.kind != Operand::constant) word.reg += pick;
    u64 valid = ~u64{0};
    Temp temp;
    Temp result;
    const Source s =
        fetch(w, word, word.kind == Operand::constant && !kPacked ? 2 : 1, temp, valid);
    std::copy_n(i == 1 && word.kind == Operand::constant ? s.high : s.low, kLanes, result.row[0]);
    Operand out = in[0];
    out.reg += i;
    write_lanes(w, out, 1, result, valid);
  }
}

u32 perm(u32 a, u32 b, u32 select) {
  const u64 bytes = static_cast<u64>(a) << 32 | b;
  u32 out = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 s = select >> (8 * i) & 255;
    u32 byte = s >= 13 ? 255 : 0;  // 12 is 0
    if (s < 8) byte = static_cast<u32>(bytes >> (8 * s)) & 255;
    if (s >= 8 && s < 12) byte = (bytes >> (16 * (s - 8) + 15) & 1) != 0 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}

u32 reversed(u32 a) {
  u32 r = 0;
  for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
  return r;
}

i32 signed_bits(u32 value, u32 offset, u32 width) {
  if ((width & 31) == 0) return 0;
  return static_cast<i32>(value >> (offset & 31) << (32 - (width & 31))) >> (32 - (width & 31));
}

u32 low24(u32 a) { return a & 0xffffff; }
u64 wide_uint(u32 a) { return a; }

template <class T>
T middle(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// One opcode of one, two or three operands a, b, c.
#define V1(NAME, A, EXPRESSION) op(NAME, alu([](A a) { return EXPRESSION; }))
#define V2(NAME, A, B, EXPRESSION) op(NAME, alu([](A a, B b) { return EXPRESSION; }))
#define V3(NAME, EXPRESSION) op(NAME, alu([](u32 a, u32 b, u32 c) { return EXPRESSION; }))
#define VI3(NAME, EXPRESSION) op(NAME, alu([](i32 a, i32 b, i32 c) { return EXPRESSION; }))
// One that also writes a carry `o`, without and with a carry `i` that comes in.
#define CARRY(NAME, OUT, EXPRESSION) \
  op(NAME, alu([](bool& o, u32 a, u32 b) { return o = (OUT), EXPRESSION; }))
#define CARRY_IN(NAME, OUT, EXPRESSION) \
  op(NAME, alu([](bool& o, u32 a, u32 b, Bit i) { return o = (OUT), EXPRESSION; }))

}  // namespace

std::vector<Opcode> vector_integer_opcodes() {
  return {
      {"v_mov_b64", move_words<false>},
      {"v_pk_mov_b32", move_words<true>},
      {"v_cndmask_b32", cndmask},
      {"v_mad_u64_u32", mad64<u32, u64>},
      {"v_mad_i64_i32", mad64<i32, i64>},
      V1("v_mov_b32", u32, a),
      V1("v_accvgpr_write_b32", u32, a),
      V1("v_accvgpr_read_b32", u32, a),
      V1("v_accvgpr_mov_b32", u32, a),
      V1("v_not_b32", u32, ~a),
      V1("v_bfrev_b32", u32, reversed(a)),
      V1("v_ffbh_u32", u32, a == 0 ? -1 : std::countl_zero(a)),
      V1("v_ffbl_b32", u32, a == 0 ? -1 : std::countr_zero(a)),
      V2("v_add_u32", u32, u32, a + b),
      V2("v_sub_u32", u32, u32, a - b),
      V2("v_subrev_u32", u32, u32, b - a),
      V2("v_and_b32", u32, u32, a & b),
      V2("v_or_b32", u32, u32, a | b),
      V2("v_xor_b32", u32, u32, a ^ b),
      V2("v_lshlrev_b32", u32, u32, b << (a & 31)),
      V2("v_lshrrev_b32", u32, u32, b >> (a & 31)),
      V2("v_ashrrev_i32", u32, i32, b >> (a & 31)),
      V2("v_lshlrev_b64", u32, u64, b << (a & 63)),
      V2("v_lshrrev_b64", u32, u64, b >> (a & 63)),
      V2("v_lshrrev_b16", u16, u16, static_cast<u16>(b >> (a & 15))),
      V2("v_lshlrev_b16", u16, u16, static_cast<u16>(b << (a & 15))),
      V2("v_add_u16", u16, u16, static_cast<u16>(a + b)),
      V2("v_sub_u16", u16, u16, static_cast<u16>(a - b)),
      V2("v_mul_lo_u16", u16, u16, static_cast<u16>(u32{a} * b)),
      V2("v_mul_lo_u32", u32, u32, a * b),
      V2("v_mul_hi_u32", u32, u32, static_cast<u32>(wide_uint(a) * b >> 32)),
      V2("v_mul_u32_u24", u32, u32, low24(a) * low24(b)),
      V2("v_mul_hi_i32", i32, i32, static_cast<i32>(static_cast<i64>(a) * b >> 32)),
      V2("v_ashrrev_i64", u32, i64, b >> (a & 63)),
      V2("v_xnor_b32", u32, u32, ~(a ^ b)),
      V2("v_bcnt_u32_b32", u32, u32, static_cast<u32>(std::popcount(a)) + b),
      V2("v_bfm_b32", u32, u32, ((1U << (a & 31)) - 1) << (b & 31)),
      V2("v_min_u32", u32, u32, std::min(a, b)),
      V2("v_max_u32", u32, u32, std::max(a, b)),
      V2("v_min_i32", i32, i32, std::min(a, b)),
      V2("v_max_i32", i32, i32, std::max(a, b)),
      V3("v_bfe_u32", a >> (b & 31) & ((1U << (c & 31)) - 1)),
      V3("v_bfe_i32", signed_bits(a, b, c)),
      V3("v_lshl_add_u32", (a << (b & 31)) + c),
      V3("v_add_lshl_u32", (a + b) << (c & 31)),
      V3("v_lshl_or_b32", (a << (b & 31)) | c),
      V3("v_and_or_b32", (a & b) | c),
      V3("v_or3_b32", a | b | c),
      V3("v_add3_u32", a + b + c),
      V3("v_mad_u32_u24", low24(a) * low24(b) + c),
      V3("v_alignbit_b32", static_cast<u32>((wide_uint(a) << 32 | b) >> (c & 31))),
      V3("v_bfi_b32", (a & b) | (~a & c)),
      V3("v_xad_u32", (a ^ b) + c),
      V3("v_min3_u32", std::min(a, std::min(b, c))),
      V3("v_max3_u32", std::max(a, std::max(b, c))),
      V3("v_med3_u32", middle(a, b, c)),
      VI3("v_min3_i32", std::min(a, std::min(b, c))),
      VI3("v_max3_i32", std::max(a, std::max(b, c))),
      VI3("v_med3_i32", middle(a, b, c)),
      V3("v_alignbyte_b32", static_cast<u32>((wide_uint(a) << 32 | b) >> (8 * (c & 3)))),
      V3("v_perm_b32", perm(a, b, c)),
      {"v_lshl_add_u64", alu([](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; })},
      CARRY("v_add_co_u32", a + b < a, a + b),
      CARRY("v_sub_co_u32", b > a, a - b),
      CARRY("v_subrev_co_u32", a > b, b - a),
      CARRY_IN("v_addc_co_u32", (wide_uint(a) + b + i.set) >> 32 != 0, a + b + i.set),
      CARRY_IN("v_subb_co_u32", wide_uint(b) + i.set > a, a - b - i.set),
      CARRY_IN("v_subbrev_co_u32", wide_uint(a) + i.set > b, b - a - i.set),
  };
}

}  // namespace detgemm::gcn

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

/// dst, carry-out = F(a, b, carry-in, carry-out&); operand 4, where there is one, is the carry-in.
template <class F>
void run_carry(Wave& w, const Instruction& in) {
  u64 valid = ~u64{0};
  Temp temp[2];
  const Source a = fetch(w, in[2], 1, temp[0], valid);
  const Source b = fetch(w, in[3], 1, temp[1], valid);
  const u64 carry_in = in.operands.size() > 4 ? read_scalar64(w, in[4]) : 0;
  Temp result;
  u64 out = 0;
  for (int l = 0; l < kLanes; ++l) {
    bool flag = false;
    result.row[0][l] = F{}(a.low[l], b.low[l], static_cast<u32>(carry_in >> l & 1), flag);
    out |= static_cast<u64>(flag) << l;
  }
  w.define(vector_destination(in[0]).reg, 1, valid);
  blend(w, in[0].reg, 1, result);
  write_scalar64(w, in[1], out & w.exec());
}

template <class F>
Operation carry(F) {
  return run_carry<F>;
}

/// v_cndmask_b32: lanes of the mask (operand 3) take operand 2, others operand 1.
void cndmask(Wave& w, const Instruction& in) {
  u64 valid[2] = {~u64{0}, ~u64{0}};
  Temp temp[2];
  const Source a = fetch(w, in[1], 1, temp[0], valid[0]);
  const Source b = fetch(w, in[2], 1, temp[1], valid[1]);
  u64 known = 0;
  const u64 mask = read_known<u64>(w, in[3], known);
  if ((w.exec() & ~known) != 0) refuse_scalar(in[3].reg);
  Temp result;
  for (int l = 0; l < kLanes; ++l) result.row[0][l] = (mask >> l & 1) != 0 ? b.low[l] : a.low[l];
  w.define(vector_destination(in[0]).reg, 1, (valid[0] & ~mask) | (valid[1] & mask));
  blend(w, in[0].reg, 1, result);
}

/// v_mad_u64_u32, v_mad_i64_i32: dst64, overflow, a, b, c64. The compiler leaves the high word of c
/// undefined where only the low word of the result counts, so each word has its own validity.
template <class T, class Wide>
void mad64(Wave& w, const Instruction& in) {
  u64 low_valid = ~u64{0};
  u64 high_valid = ~u64{0};
  Temp temp[3];
  const Source a = fetch(w, in[2], 1, temp[0], low_valid);
  const Source b = fetch(w, in[3], 1, temp[1], low_valid);
  Source c{};
  if (in[4].kind == Operand::vector) {
    low_valid &= w.use(in[4].reg, 1);
    high_valid = w.use(in[4].reg + 1, 1);
    c = {w.v[in[4].reg], w.v[in[4].reg + 1]};
  } else {
    c = fetch(w, in[4], 2, temp[2], low_valid);
  }
  Temp result;
  for (int l = 0; l < kLanes; ++l) {
    const Wide product = static_cast<Wide>(lane_value<T>(a, l)) * lane_value<T>(b, l);
    set_lane<u64>(result.row[0], result.row[1], l,
                  static_cast<u64>(product) + lane_value<u64>(c, l));
  }
  const int reg = vector_destination(in[0]).reg;
  w.define(reg, 1, low_valid);
  w.define(reg + 1, 1, low_valid & high_valid);
  blend(w, reg, 2, result);
  w.define_scalar(in[1].reg, 2);  // compilers do not read the carry: it counts as unwritten
  w.s_known[in[1].reg] = w.s_known[in[1].reg + 1] = 0;
}

/// Word by word: one of them may be undefined.
void mov64(Wave& w, const Instruction& in) {
  Operand word = in[1];
  for (int i = 0; i < 2; ++i) {
    u64 valid = ~u64{0};
    Temp temp;
    Temp result;
    const Source s = word.kind == Operand::constant ? fetch(w, word, 2, temp, valid)
                                                    : fetch(w, word, 1, temp, valid);
    std::copy_n(i == 1 && word.kind == Operand::constant ? s.high : s.low, kLanes, result.row[0]);
    w.define(vector_destination(in[0]).reg + i, 1, valid);
    blend(w, in[0].reg + i, 1, result);
    ++word.reg;
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

i32 signed_bits(u32 value, u32 offset, u32 width) {
  offset &= 31, width &= 31;
  if (width == 0) return 0;
  const u32 field = value >> offset;
  return static_cast<i32>(field << (32 - width)) >> (32 - width);
}

u32 mul24(u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }
i32 signed24(u32 a) { return static_cast<i32>(a << 8) >> 8; }

}  // namespace

std::vector<Opcode> vector_integer_opcodes() {
  return {
      {"v_mov_b32", alu([](u32 a) { return a; })},
      {"v_mov_b64", mov64},
      {"v_accvgpr_write_b32", alu([](u32 a) { return a; })},
      {"v_accvgpr_read_b32", alu([](u32 a) { return a; })},
      {"v_accvgpr_mov_b32", alu([](u32 a) { return a; })},
      {"v_not_b32", alu([](u32 a) { return ~a; })},
      {"v_bfrev_b32", alu([](u32 a) {
         u32 r = 0;
         for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
         return r;
       })},
      {"v_ffbh_u32",
       alu([](u32 a) { return a == 0 ? ~u32{0} : static_cast<u32>(std::countl_zero(a)); })},
      {"v_ffbl_b32",
       alu([](u32 a) { return a == 0 ? ~u32{0} : static_cast<u32>(std::countr_zero(a)); })},
      {"v_add_u32", alu([](u32 a, u32 b) { return a + b; })},
      {"v_sub_u32", alu([](u32 a, u32 b) { return a - b; })},
      {"v_subrev_u32", alu([](u32 a, u32 b) { return b - a; })},
      {"v_and_b32", alu([](u32 a, u32 b) { return a & b; })},
      {"v_or_b32", alu([](u32 a, u32 b) { return a | b; })},
      {"v_xor_b32", alu([](u32 a, u32 b) { return a ^ b; })},
      {"v_xnor_b32", alu([](u32 a, u32 b) { return ~(a ^ b); })},
      {"v_lshlrev_b32", alu([](u32 a, u32 b) { return b << (a & 31); })},
      {"v_lshrrev_b32", alu([](u32 a, u32 b) { return b >> (a & 31); })},
      {"v_ashrrev_i32", alu([](u32 a, i32 b) { return b >> (a & 31); })},
      {"v_lshlrev_b64", alu([](u32 a, u64 b) { return b << (a & 63); })},
      {"v_lshrrev_b64", alu([](u32 a, u64 b) { return b >> (a & 63); })},
      {"v_ashrrev_i64", alu([](u32 a, i64 b) { return b >> (a & 63); })},
      {"v_lshlrev_b16", alu([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); })},
      {"v_lshrrev_b16", alu([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })},
      {"v_add_u16", alu([](u16 a, u16 b) { return static_cast<u16>(a + b); })},
      {"v_sub_u16", alu([](u16 a, u16 b) { return static_cast<u16>(a - b); })},
      {"v_mul_lo_u16", alu([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })},
      {"v_mul_lo_u32", alu([](u32 a, u32 b) { return a * b; })},
      {"v_mul_hi_u32",
       alu([](u32 a, u32 b) { return static_cast<u32>(static_cast<u64>(a) * b >> 32); })},
      {"v_mul_hi_i32",
       alu([](i32 a, i32 b) { return static_cast<i32>(static_cast<i64>(a) * b >> 32); })},
      {"v_mul_u32_u24", alu([](u32 a, u32 b) { return mul24(a, b); })},
      {"v_mul_i32_i24", alu([](u32 a, u32 b) {
         return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b));
       })},
      {"v_min_u32", alu([](u32 a, u32 b) { return std::min(a, b); })},
      {"v_max_u32", alu([](u32 a, u32 b) { return std::max(a, b); })},
      {"v_min_i32", alu([](i32 a, i32 b) { return std::min(a, b); })},
      {"v_max_i32", alu([](i32 a, i32 b) { return std::max(a, b); })},
      {"v_bcnt_u32_b32", alu([](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; })},
      {"v_bfm_b32", alu([](u32 a, u32 b) { return ((1U << (a & 31)) - 1) << (b & 31); })},
      {"v_bfe_u32",
       alu([](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1U << (c & 31)) - 1); })},
      {"v_bfe_i32", alu([](u32 a, u32 b, u32 c) { return signed_bits(a, b, c); })},
      {"v_bfi_b32", alu([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); })},
      {"v_lshl_add_u32", alu([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; })},
      {"v_add_lshl_u32", alu([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); })},
      {"v_lshl_or_b32", alu([](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; })},
      {"v_and_or_b32", alu([](u32 a, u32 b, u32 c) { return (a & b) | c; })},
      {"v_or3_b32", alu([](u32 a, u32 b, u32 c) { return a | b | c; })},
      {"v_xad_u32", alu([](u32 a, u32 b, u32 c) { return (a ^ b) + c; })},
      {"v_add3_u32", alu([](u32 a, u32 b, u32 c) { return a + b + c; })},
      {"v_lshl_add_u64", alu([](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; })},
      {"v_mad_u32_u24", alu([](u32 a, u32 b, u32 c) { return mul24(a, b) + c; })},
      {"v_mad_i32_i24", alu([](u32 a, u32 b, u32 c) {
         return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)) + c;
       })},
      {"v_min3_u32", alu([](u32 a, u32 b, u32 c) { return std::min(a, std::min(b, c)); })},
      {"v_max3_u32", alu([](u32 a, u32 b, u32 c) { return std::max(a, std::max(b, c)); })},
      {"v_min3_i32", alu([](i32 a, i32 b, i32 c) { return std::min(a, std::min(b, c)); })},
      {"v_max3_i32", alu([](i32 a, i32 b, i32 c) { return std::max(a, std::max(b, c)); })},
      {"v_med3_u32", alu([](u32 a, u32 b, u32 c) {
         return std::max(std::min(a, b), std::min(std::max(a, b), c));
       })},
      {"v_med3_i32", alu([](i32 a, i32 b, i32 c) {
         return std::max(std::min(a, b), std::min(std::max(a, b), c));
       })},
      {"v_alignbit_b32", alu([](u32 a, u32 b, u32 c) {
         return static_cast<u32>((static_cast<u64>(a) << 32 | b) >> (c & 31));
       })},
      {"v_alignbyte_b32", alu([](u32 a, u32 b, u32 c) {
         return static_cast<u32>((static_cast<u64>(a) << 32 | b) >> (8 * (c & 3)));
       })},
      {"v_perm_b32", alu([](u32 a, u32 b, u32 c) { return perm(a, b, c); })},
      {"v_cndmask_b32", cndmask},
      {"v_mad_u64_u32", mad64<u32, u64>},
      {"v_mad_i64_i32", mad64<i32, i64>},
      {"v_add_co_u32", carry([](u32 a, u32 b, u32, bool& c) { return c = a + b < a, a + b; })},
      {"v_addc_co_u32", carry([](u32 a, u32 b, u32 i, bool& c) {
         const u64 sum = u64{a} + b + i;
         c = sum >> 32 != 0;
         return static_cast<u32>(sum);
       })},
      {"v_sub_co_u32", carry([](u32 a, u32 b, u32, bool& c) { return c = b > a, a - b; })},
      {"v_subrev_co_u32", carry([](u32 a, u32 b, u32, bool& c) { return c = a > b, b - a; })},
      {"v_subb_co_u32",
       carry([](u32 a, u32 b, u32 i, bool& c) { return c = u64{b} + i > a, a - b - i; })},
      {"v_subbrev_co_u32",
       carry([](u32 a, u32 b, u32 i, bool& c) { return c = u64{a} + i > b, b - a - i; })},
  };
}

}  // namespace detgemm::gcn

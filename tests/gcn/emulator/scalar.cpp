// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The scalar instructions and control flow: an opcode is a line of the table at the end.

#include <algorithm>

#include "tests/gcn/emulator/global.hpp"
#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

template <class T>
T scalar_value(Wave& w, const Operand& o) {
  return static_cast<T>(read_scalar(w, o, kWords<T>));
}

/// dst = F(operands), or scc for a comparison. Otherwise scc is what F writes to its `bool&`, or
/// whether the result is not zero, or it is unchanged.
template <bool kNonzero, class F, int... I>
void run_salu(Wave& w, const Instruction& in, std::integer_sequence<int, I...>) {
  using S = SignatureOf<F>;
  using R = typename S::Result;
  if constexpr (S::compares) {
    w.scc = F{}(scalar_value<Parameter<F, I>>(w, in[I])...);
  } else {
    R r{};
    if constexpr (S::writes_bit) {
      r = F{}(w.scc, scalar_value<Parameter<F, I>>(w, in[I + 1])...);
    } else {
      r = F{}(scalar_value<Parameter<F, I>>(w, in[I + 1])...);
    }
    write_scalar(w, in[0], kWords<R>, static_cast<u64>(r));
    if (kNonzero) w.scc = r != 0;
  }
}
template <bool kNonzero = false, class F>
Operation salu(F) {
  return [](Wave& w, const Instruction& in) { run_salu<kNonzero, F>(w, in, EachParameter<F>{}); };
}

/// dst = F(a, b) bit by bit: a bit is known where F does not depend on what is not.
template <class F, class T>
void bit_by_bit(Wave& w, const Operand& dst, const Operand& left, const Operand& right) {
  constexpr int words = kWords<T>;
  u64 ka = 0;
  u64 kb = 0;
  const u64 a = read_scalar(w, left, words, ka) & ka;
  const u64 b = read_scalar(w, right, words, kb) & kb;
  const T r = F{}(static_cast<T>(a), static_cast<T>(b));
  const auto differs = [&](u64 x, u64 y) { return r ^ F {}(static_cast<T>(x), static_cast<T>(y)); };
  const T unknown = differs(a, b | ~kb) | differs(a | ~ka, b) | differs(a | ~ka, b | ~kb);
  w.scc = r != 0;
  write_scalar(w, dst, words, r, ~u64{unknown});
}
template <class T, class F>
Operation bitwise(F) {
  return [](Wave& w, const Instruction& in) { bit_by_bit<F, T>(w, in[0], in[1], in[2]); };
}
/// exec = F(operand, exec), the old exec to dst.
template <class F>
Operation saveexec(F) {
  return [](Wave& w, const Instruction& in) {
    Operand exec;
    exec.kind = Operand::scalar;
    exec.reg = kExec;
    const u64 old = w.exec();
    bit_by_bit<F, u64>(w, exec, in[1], exec);
    write_scalar(w, in[0], 2, old);
  };
}

/// Moves and selects may copy values that were never written.
template <int WORDS, bool kSelect>
void move(Wave& w, const Instruction& in) {
  u64 known = 0;
  const u64 value = read_scalar(w, in[kSelect && !w.scc ? 2 : 1], WORDS, known);
  write_scalar(w, in[0], WORDS, value, known);
}

/// s_load_dwordxN dst, base, offset: N words of registered memory.
template <int WORDS>
void load(Wave& w, const Instruction& in) {
  const u64 base = read_scalar(w, in[1], 2) + read_scalar(w, in[2], 1);
  const u64 address = (base + in.offset[0]) & ~u64{3};
  if (!w.memory->holds(address, 4 * WORDS)) throw Fault("reads memory that is not allocated");
  require(in[0].kind == Operand::scalar, "wants a scalar destination");
  const u32* from = reinterpret_cast<const u32*>(address);
  const u32 mark = w.issue(kLgkm);
  w.last_smem = w.issued[kLgkm];
  w.global->read_scalar(w, address, 4 * WORDS, mark);
  for (int i = 0; i < WORDS; ++i) {
    w.set(in[0].reg + i, 1, from[i]);
    w.pending[kRows + in[0].reg + i] = mark;
  }
}

/// s_memtime: for a clock, what a wave has executed. Like a scalar load it arrives in any order.
void memtime(Wave& w, const Instruction& in) {
  const u32 mark = w.issue(kLgkm);
  w.last_smem = w.issued[kLgkm];
  write_scalar(w, in[0], 2, w.instructions);
  for (int i = 0; i < 2; ++i) w.pending[kRows + in[0].reg + i] = mark;
}

template <class F>
Operation branch_if(F) {
  return [](Wave& w, const Instruction& in) {
    if (F{}(w)) w.pc = static_cast<u32>(in[0].value);
  };
}
void nothing(Wave&, const Instruction&) {}
void waitcnt(Wave& w, const Instruction& in) {
  w.wait(kVm, in.offset[0]);
  w.wait(kLgkm, in.offset[1]);
}

bool overflows(i64 x) { return x != static_cast<i32>(x); }
i64 wide_int(i32 a) { return a; }
u64 wide_uint(u32 a) { return a; }
u32 unsigned_field(u32 a, u32 b) {
  return a >> (b & 31) & static_cast<u32>((u64{1} << std::min(b >> 16 & 127, 32U)) - 1);
}
u32 signed_field(u32 a, u32 b) {
  const u32 width = std::min(b >> 16 & 127, 32U);
  const u32 field = unsigned_field(a, b);
  const u32 top = width == 0 ? 0 : 1U << (width - 1);
  return (field ^ top) - top;
}

// One opcode: with scc from the result, with an scc `c` of its own, and without scc; the result of
// a comparison is scc.
#define S1(NAME, A, EXPRESSION) op(NAME, salu<true>([](A a) { return EXPRESSION; }))
#define S2(NAME, A, B, EXPRESSION) op(NAME, salu<true>([](A a, B b) { return EXPRESSION; }))
#define SC(NAME, A, OUT, EXPRESSION) \
  op(NAME, salu([](bool& c, A a, A b) { return (void)c, c = (OUT), EXPRESSION; }))
#define SK(NAME, A, B, EXPRESSION) op(NAME, salu([](A a, B b) { return EXPRESSION; }))
#define COMPARE(NAME, OP) \
  SK("s_cmp_" NAME "_i32", i32, i32, a OP b), SK("s_cmp_" NAME "_u32", u32, u32, a OP b)
// A bitwise operation: 32 bits, 64 bits and the form that also takes and saves exec.
#define BITWISE(NAME, E)                                                  \
  op("s_" NAME "_b32", bitwise<u32>([](u32 a, u32 b) { return E; })),     \
      op("s_" NAME "_b64", bitwise<u64>([](u64 a, u64 b) { return E; })), \
      op("s_" NAME "_saveexec_b64", saveexec([](u64 a, u64 b) { return E; }))

}  // namespace

std::vector<Opcode> scalar_opcodes() {
  return {
      op("s_mov_b32", move<1, false>),
      op("s_mov_b64", move<2, false>),
      op("s_cselect_b32", move<1, true>),
      op("s_cselect_b64", move<2, true>),
      SC("s_add_i32", i32, overflows(wide_int(a) + b), static_cast<u32>(wide_int(a) + b)),
      SC("s_sub_i32", i32, overflows(wide_int(a) - b), static_cast<u32>(wide_int(a) - b)),
      SC("s_add_u32", u32, a + b < a, a + b),
      SC("s_sub_u32", u32, b > a, a - b),
      op("s_addc_u32", salu([](bool& c, u32 a, u32 b) {
           const u64 sum = wide_uint(a) + b + c;
           c = sum >> 32 != 0;
           return static_cast<u32>(sum);
         })),
      op("s_subb_u32", salu([](bool& c, u32 a, u32 b) {
           const u64 taken = wide_uint(b) + c;
           c = taken > a;
           return static_cast<u32>(a - taken);
         })),
      SK("s_mul_i32", u32, u32, a * b),
      SK("s_mul_hi_u32", u32, u32, static_cast<u32>(wide_uint(a) * b >> 32)),
      SK("s_mul_hi_i32", i32, i32, static_cast<u32>(static_cast<u64>(wide_int(a) * b) >> 32)),
      SC("s_min_i32", i32, a < b, std::min(a, b)),
      SC("s_max_i32", i32, a > b, std::max(a, b)),
      S1("s_not_b32", u32, ~a),
      S1("s_not_b64", u64, ~a),
      S1("s_abs_i32", i32, static_cast<u32>(a < 0 ? -wide_int(a) : wide_int(a))),
      BITWISE("and", a & b),
      BITWISE("or", a | b),
      BITWISE("xor", a ^ b),
      BITWISE("andn2", a & ~b),
      BITWISE("nor", ~(a | b)),
      S2("s_lshl_b32", u32, u32, a << (b & 31)),
      S2("s_lshr_b32", u32, u32, a >> (b & 31)),
      S2("s_ashr_i32", i32, u32, a >> (b & 31)),
      S2("s_lshl_b64", u64, u32, a << (b & 63)),
      S2("s_lshr_b64", u64, u32, a >> (b & 63)),
      S2("s_bfe_u32", u32, u32, unsigned_field(a, b)),
      S2("s_bfe_i32", u32, u32, signed_field(a, b)),
      SK("s_bitcmp0_b32", u32, u32, (a >> (b & 31) & 1) == 0),
      SK("s_bitcmp1_b32", u32, u32, (a >> (b & 31) & 1) != 0),
      SK("s_cmp_eq_u64", u64, u64, a == b),
      SK("s_cmp_lg_u64", u64, u64, a != b),
      COMPARE("eq", ==),
      COMPARE("lg", !=),
      COMPARE("gt", >),
      COMPARE("ge", >=),
      COMPARE("lt", <),
      COMPARE("le", <=),
      op("s_load_dword", load<1>),
      op("s_load_dwordx2", load<2>),
      op("s_load_dwordx4", load<4>),
      op("s_load_dwordx8", load<8>),
      op("s_load_dwordx16", load<16>),
      op("s_memtime", memtime),
      op("s_nop", nothing),
      op("s_setprio", nothing),
      op("s_waitcnt", waitcnt),
      op("s_barrier", [](Wave& w, const Instruction&) { w.at_barrier = true; }),
      op("s_endpgm", [](Wave& w, const Instruction&) { w.ended = true; }),
      op("s_branch", branch_if([](Wave&) { return true; })),
      op("s_cbranch_scc0", branch_if([](Wave& w) { return !w.scc; })),
      op("s_cbranch_scc1", branch_if([](Wave& w) { return w.scc; })),
      op("s_cbranch_vccz", branch_if([](Wave& w) { return w.read(kVcc, 2) == 0; })),
      op("s_cbranch_vccnz", branch_if([](Wave& w) { return w.read(kVcc, 2) != 0; })),
      op("s_cbranch_execz", branch_if([](Wave& w) { return w.exec() == 0; })),
      op("s_cbranch_execnz", branch_if([](Wave& w) { return w.exec() != 0; })),
  };
}

}  // namespace detgemm::gcn

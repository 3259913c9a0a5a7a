// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

template <class T>
T scalar_value(Wave& w, const Operand& o) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(read_scalar64(w, o));
  } else {
    return static_cast<T>(read_scalar(w, o));
  }
}
template <class T>
void set_scalar_value(Wave& w, const Operand& o, T value) {
  if constexpr (sizeof(T) == 8) {
    write_scalar64(w, o, static_cast<u64>(value));
  } else {
    write_scalar(w, o, static_cast<u32>(value));
  }
}

enum Scc { keeps, nonzero };  // what scc becomes where F does not take it

/// dst = F(operands); a last parameter `bool& scc` reads and writes scc.
template <class F, Scc SCC>
void run_salu(Wave& w, const Instruction& in) {
  using S = SignatureOf<F>;
  constexpr bool takes_scc = std::is_same_v<typename S::template Argument<S::count - 1>, bool&>;
  constexpr int count = S::count - (takes_scc ? 1 : 0);
  [&]<int... I>(std::integer_sequence<int, I...>) {
    typename S::Result r;
    if constexpr (takes_scc) {
      r = F{}(scalar_value<typename S::template Argument<I>>(w, in[I + 1])..., w.scc);
    } else {
      r = F{}(scalar_value<typename S::template Argument<I>>(w, in[I + 1])...);
    }
    set_scalar_value(w, in[0], r);
    if (SCC == nonzero) w.scc = r != 0;
  }
  (std::make_integer_sequence<int, count>{});
}

/// dst = F(dst, constant): the sixteen-bit constant forms.
template <class F>
void run_salu_k(Wave& w, const Instruction& in) {
  const u32 k = static_cast<u32>(static_cast<i32>(static_cast<i16>(in[1].value)));
  const u32 r = F{}(read_scalar(w, in[0]), k, w.scc);
  write_scalar(w, in[0], r);
}

template <class F>
void run_scc_of(Wave& w, const Instruction& in) {
  using S = SignatureOf<F>;
  w.scc = F{}(scalar_value<typename S::template Argument<0>>(w, in[0]),
              scalar_value<typename S::template Argument<1>>(w, in[1]));
}
/// As scc_of; the constant is sixteen bits, signed or not after the first parameter's type.
template <class F>
void run_scc_of_k(Wave& w, const Instruction& in) {
  using T = typename SignatureOf<F>::template Argument<0>;
  const u16 k = static_cast<u16>(in[1].value);
  w.scc = F{}(static_cast<T>(read_scalar(w, in[0])),
              std::is_signed_v<T> ? static_cast<T>(static_cast<i16>(k)) : static_cast<T>(k));
}

/// dst = F(a, b), bit by bit: a bit of the result is known where F does not depend on what is not.
template <class F, class T>
T bitwise(Wave& w, const Operand& left, const Operand& right, T& known) {
  T ka = 0;
  T kb = 0;
  const T a = read_known<T>(w, left, ka) & ka;
  const T b = read_known<T>(w, right, kb) & kb;
  const T r = F{}(a, b);
  known = ~((r ^ F{}(a, b | ~kb)) | (r ^ F{}(a | ~ka, b)) | (r ^ F{}(a | ~ka, b | ~kb)));
  return r;
}
template <class F, class T>
void run_bitwise(Wave& w, const Instruction& in) {
  T known = 0;
  const T r = bitwise<F, T>(w, in[1], in[2], known);
  write_known<T>(w, in[0], r, known);
  w.scc = r != 0;
}
/// exec = F(operand, exec), the old exec to dst.
template <class F>
void run_saveexec(Wave& w, const Instruction& in) {
  Operand exec;
  exec.kind = Operand::scalar;
  exec.reg = kExec;
  u64 known = 0;
  const u64 old = w.exec();
  const u64 next = bitwise<F, u64>(w, in[1], exec, known);
  write_scalar64(w, in[0], old);
  write_known<u64>(w, exec, next, known);
  w.scc = next != 0;
}

/// Moves may carry what nobody wrote.
template <class T>
void move(Wave& w, const Instruction& in) {
  T known = 0;
  const T value = read_known<T>(w, in[1], known);
  write_known<T>(w, in[0], value, known);
}
template <class T>
void select(Wave& w, const Instruction& in) {
  T known = 0;
  const T value = read_known<T>(w, in[w.scc ? 1 : 2], known);
  write_known<T>(w, in[0], value, known);
}

template <Scc SCC = keeps, class F>
Operation salu(F) {
  return run_salu<F, SCC>;
}
template <class F>
Operation salu_k(F) {
  return run_salu_k<F>;
}
template <class F>
Operation scc_of(F) {
  return run_scc_of<F>;
}
template <class F>
Operation scc_of_k(F) {
  return run_scc_of_k<F>;
}
template <class F>
Operation saveexec(F) {
  return run_saveexec<F>;
}
template <class T, class F>
Operation bitwise(F) {
  return run_bitwise<F, T>;
}

bool overflows(i64 x) { return x != static_cast<i32>(x); }
u32 field(u32 a, u32 b) {
  const u32 width = std::min(b >> 16 & 127, 32U);
  return (a >> (b & 31)) & static_cast<u32>((u64{1} << width) - 1);
}

// One comparison: s_cmp_NAME and s_cmpk_NAME.
#define GCN_SCALAR_COMPARE(NAME, OP)                                            \
  {"s_cmp_" NAME "_i32", scc_of([](i32 a, i32 b) { return a OP b; })},          \
      {"s_cmp_" NAME "_u32", scc_of([](u32 a, u32 b) { return a OP b; })},      \
      {"s_cmpk_" NAME "_i32", scc_of_k([](i32 a, i32 b) { return a OP b; })}, { \
    "s_cmpk_" NAME "_u32", scc_of_k([](u32 a, u32 b) { return a OP b; })        \
  }

// A bitwise operation: 32 bits, 64 bits and the form that also takes and saves exec.
#define GCN_BITWISE(NAME, EXPRESSION)                                                \
  {"s_" NAME "_b32", bitwise<u32>([](u32 a, u32 b) { return (EXPRESSION); })},       \
      {"s_" NAME "_b64", bitwise<u64>([](u64 a, u64 b) { return (EXPRESSION); })}, { \
    "s_" NAME "_saveexec_b64", saveexec([](u64 a, u64 b) { return (EXPRESSION); })   \
  }

}  // namespace

std::vector<Opcode> scalar_opcodes() {
  return {
      {"s_mov_b32", move<u32>},
      {"s_mov_b64", move<u64>},
      {"s_movk_i32",
       salu([](u32 a) { return static_cast<u32>(static_cast<i32>(static_cast<i16>(a))); })},
      {"s_cmov_b32",
       [](Wave& w, const Instruction& in) {
         if (w.scc) move<u32>(w, in);
       }},
      {"s_add_i32", salu([](i32 a, i32 b, bool& c) {
         c = overflows(static_cast<i64>(a) + b);
         return static_cast<u32>(a) + static_cast<u32>(b);
       })},
      {"s_sub_i32", salu([](i32 a, i32 b, bool& c) {
         c = overflows(static_cast<i64>(a) - b);
         return static_cast<u32>(a) - static_cast<u32>(b);
       })},
      {"s_add_u32", salu([](u32 a, u32 b, bool& c) { return c = a + b < a, a + b; })},
      {"s_sub_u32", salu([](u32 a, u32 b, bool& c) { return c = b > a, a - b; })},
      {"s_addc_u32", salu([](u32 a, u32 b, bool& c) {
         const u64 sum = u64{a} + b + (c ? 1 : 0);
         c = sum >> 32 != 0;
         return static_cast<u32>(sum);
       })},
      {"s_subb_u32", salu([](u32 a, u32 b, bool& c) {
         const u64 taken = u64{b} + (c ? 1 : 0);
         c = taken > a;
         return static_cast<u32>(a - taken);
       })},
      {"s_addk_i32", salu_k([](u32 a, u32 k, bool& c) {
         c = overflows(static_cast<i64>(static_cast<i32>(a)) + static_cast<i32>(k));
         return a + k;
       })},
      {"s_mulk_i32", salu_k([](u32 a, u32 k, bool&) { return a * k; })},
      {"s_mul_i32", salu([](u32 a, u32 b) { return a * b; })},
      {"s_mul_hi_u32", salu([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })},
      {"s_mul_hi_i32",
       salu([](i32 a, i32 b) { return static_cast<i32>(static_cast<i64>(a) * b >> 32); })},
      {"s_min_i32", salu([](i32 a, i32 b, bool& c) { return c = a < b, std::min(a, b); })},
      {"s_min_u32", salu([](u32 a, u32 b, bool& c) { return c = a < b, std::min(a, b); })},
      {"s_max_i32", salu([](i32 a, i32 b, bool& c) { return c = a > b, std::max(a, b); })},
      {"s_max_u32", salu([](u32 a, u32 b, bool& c) { return c = a > b, std::max(a, b); })},
      {"s_abs_i32",
       salu<nonzero>([](i32 a) { return a < 0 ? 0 - static_cast<u32>(a) : static_cast<u32>(a); })},
      GCN_BITWISE("and", a & b),
      GCN_BITWISE("or", a | b),
      GCN_BITWISE("xor", a ^ b),
      GCN_BITWISE("andn2", a & ~b),
      GCN_BITWISE("orn2", a | ~b),
      GCN_BITWISE("nand", ~(a & b)),
      GCN_BITWISE("nor", ~(a | b)),
      GCN_BITWISE("xnor", ~(a ^ b)),
      {"s_andn1_saveexec_b64", saveexec([](u64 a, u64 b) { return ~a & b; })},
      {"s_not_b32", salu<nonzero>([](u32 a) { return ~a; })},
      {"s_not_b64", salu<nonzero>([](u64 a) { return ~a; })},
      {"s_lshl_b32", salu<nonzero>([](u32 a, u32 b) { return a << (b & 31); })},
      {"s_lshr_b32", salu<nonzero>([](u32 a, u32 b) { return a >> (b & 31); })},
      {"s_ashr_i32", salu<nonzero>([](i32 a, u32 b) { return a >> (b & 31); })},
      {"s_lshl_b64", salu<nonzero>([](u64 a, u32 b) { return a << (b & 63); })},
      {"s_lshr_b64", salu<nonzero>([](u64 a, u32 b) { return a >> (b & 63); })},
      {"s_ashr_i64", salu<nonzero>([](i64 a, u32 b) { return a >> (b & 63); })},
      {"s_lshl1_add_u32",
       salu([](u32 a, u32 b, bool& c) { return c = (u64{a} << 1) + b > ~0U, (a << 1) + b; })},
      {"s_lshl2_add_u32",
       salu([](u32 a, u32 b, bool& c) { return c = (u64{a} << 2) + b > ~0U, (a << 2) + b; })},
      {"s_lshl3_add_u32",
       salu([](u32 a, u32 b, bool& c) { return c = (u64{a} << 3) + b > ~0U, (a << 3) + b; })},
      {"s_lshl4_add_u32",
       salu([](u32 a, u32 b, bool& c) { return c = (u64{a} << 4) + b > ~0U, (a << 4) + b; })},
      {"s_bfm_b32", salu([](u32 a, u32 b) { return ((1U << (a & 31)) - 1) << (b & 31); })},
      {"s_bfe_u32", salu<nonzero>([](u32 a, u32 b) { return field(a, b); })},
      {"s_bfe_i32", salu<nonzero>([](u32 a, u32 b) {
         const u32 width = std::min(b >> 16 & 127, 32U);
         const u32 value = field(a, b);
         return width == 0 || width == 32 ? value
                                          : (value ^ (1U << (width - 1))) - (1U << (width - 1));
       })},
      {"s_brev_b32", salu([](u32 a) {
         u32 r = 0;
         for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
         return r;
       })},
      {"s_bcnt1_i32_b32", salu<nonzero>([](u32 a) { return static_cast<u32>(std::popcount(a)); })},
      {"s_bcnt1_i32_b64", salu<nonzero>([](u64 a) { return static_cast<u32>(std::popcount(a)); })},
      {"s_ff1_i32_b32",
       salu([](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); })},
      {"s_ff1_i32_b64",
       salu([](u64 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); })},
      {"s_flbit_i32_b32",
       salu([](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); })},
      {"s_flbit_i32_b64",
       salu([](u64 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); })},
      {"s_sext_i32_i16", salu([](u32 a) { return static_cast<i32>(static_cast<i16>(a)); })},
      {"s_sext_i32_i8", salu([](u32 a) { return static_cast<i32>(static_cast<std::int8_t>(a)); })},
      {"s_pack_ll_b32_b16", salu([](u32 a, u32 b) { return (a & 0xffff) | b << 16; })},
      {"s_pack_lh_b32_b16", salu([](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); })},
      {"s_pack_hh_b32_b16", salu([](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); })},
      {"s_cselect_b32", select<u32>},
      {"s_cselect_b64", select<u64>},
      {"s_bitset0_b32",
       [](Wave& w, const Instruction& in) {
         write_scalar(w, in[0], read_scalar(w, in[0]) & ~(1U << (read_scalar(w, in[1]) & 31)));
       }},
      {"s_bitset1_b32",
       [](Wave& w, const Instruction& in) {
         write_scalar(w, in[0], read_scalar(w, in[0]) | 1U << (read_scalar(w, in[1]) & 31));
       }},
      {"s_bitcmp0_b32", scc_of([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; })},
      {"s_bitcmp1_b32", scc_of([](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; })},
      {"s_bitcmp0_b64", scc_of([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; })},
      {"s_bitcmp1_b64", scc_of([](u64 a, u32 b) { return (a >> (b & 63) & 1) != 0; })},
      {"s_cmp_eq_u64", scc_of([](u64 a, u64 b) { return a == b; })},
      {"s_cmp_lg_u64", scc_of([](u64 a, u64 b) { return a != b; })},
      GCN_SCALAR_COMPARE("eq", ==),
      GCN_SCALAR_COMPARE("lg", !=),
      GCN_SCALAR_COMPARE("gt", >),
      GCN_SCALAR_COMPARE("ge", >=),
      GCN_SCALAR_COMPARE("lt", <),
      GCN_SCALAR_COMPARE("le", <=),
  };
}

}  // namespace detgemm::gcn

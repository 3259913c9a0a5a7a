// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

template <class T>
T scalar_value(Wave& w, const Operand& o) {
  if constexpr (sizeof(T) == 8) return static_cast<T>(read_scalar64(w, o));
  return static_cast<T>(read_scalar(w, o));
}

/// What scc becomes: F's first parameter writes it, result != 0, or it stays.
enum Scc { by_function, nonzero, keeps };

/// dst = F(operands), or without a destination scc = F(operands).
template <Scc kScc, bool kDestination, class F, int... I>
void run_salu(Wave& w, const Instruction& in, std::integer_sequence<int, I...>) {
  const auto value = [&](auto&&... extra) {
    return F{}(extra..., scalar_value<Parameter<F, I>>(w, in[I + (kDestination ? 1 : 0)])...);
  };
  if constexpr (!kDestination) {
    w.scc = value();
  } else {
    typename SignatureOf<F>::Result r{};
    if constexpr (kScc == by_function) {
      r = value(w.scc);
    } else {
      r = value();
    }
    sizeof r == 8 ? write_scalar64(w, in[0], static_cast<u64>(r))
                  : write_scalar(w, in[0], static_cast<u32>(r));
    if (kScc == nonzero) w.scc = r != 0;
  }
}
template <Scc kScc, bool kDestination = true, class F>
Operation salu(F) {
  return [](Wave& w, const Instruction& in) {
    constexpr int count = SignatureOf<F>::count;
    run_salu<kScc, kDestination, F>(w, in, std::make_integer_sequence<int, count>{});
  };
}
template <class F>
Operation scc_of(F f) {
  return salu<by_function, false>(f);
}

/// A constant of sixteen bits, signed or not after T.
template <class T>
T short_constant(const Operand& o) {
  if (std::is_signed_v<T>) return static_cast<T>(static_cast<i16>(o.value));
  return static_cast<T>(static_cast<u16>(o.value));
}
/// scc = F(operand, constant): s_cmpk. And dst = F(scc, dst, constant): s_addk, s_mulk.
template <class F>
Operation scc_of_k(F) {
  return [](Wave& w, const Instruction& in) {
    using T = Parameter<F, 0>;
    w.scc = F{}(static_cast<T>(read_scalar(w, in[0])), short_constant<T>(in[1]));
  };
}
template <class F>
Operation salu_k(F) {
  return [](Wave& w, const Instruction& in) {
    const auto old = static_cast<i32>(read_scalar(w, in[0]));
    write_scalar(w, in[0], F{}(w.scc, old, short_constant<i32>(in[1])));
  };
}

/// F(a, b) bit by bit: a bit is known where F does not depend on what is not.
template <class F, class T>
T bit_by_bit(Wave& w, const Operand& left, const Operand& right, T& known) {
  T ka = 0;
  T kb = 0;
  const T a = read_known<T>(w, left, ka) & ka;
  const T b = read_known<T>(w, right, kb) & kb;
  const T r = F{}(a, b);
  known = ~((r ^ F{}(a, b | ~kb)) | (r ^ F{}(a | ~ka, b)) | (r ^ F{}(a | ~ka, b | ~kb)));
  w.scc = r != 0;
  return r;
}
template <class T, class F>
Operation bitwise(F) {
  return [](Wave& w, const Instruction& in) {
    T known = 0;
    const T r = bit_by_bit<F, T>(w, in[1], in[2], known);
    write_known<T>(w, in[0], r, known);
  };
}
/// exec = F(operand, exec), the old exec to dst.
template <class F>
Operation saveexec(F) {
  return [](Wave& w, const Instruction& in) {
    Operand exec;
    exec.kind = Operand::scalar;
    exec.reg = kExec;
    u64 known = 0;
    const u64 old = w.exec();
    const u64 next = bit_by_bit<F, u64>(w, in[1], exec, known);
    write_scalar64(w, in[0], old);
    write_known<u64>(w, exec, next, known);
  };
}

/// Moves and selects may carry what nobody wrote.
template <class T, bool kSelect>
void move(Wave& w, const Instruction& in) {
  T known = 0;
  const T value = read_known<T>(w, in[kSelect && !w.scc ? 2 : 1], known);
  write_known<T>(w, in[0], value, known);
}

bool overflows(i64 x) { return x != static_cast<i32>(x); }
i64 wide_int(i32 a) { return a; }
u64 wide_uint(u32 a) { return a; }
u32 field(u32 a, u32 b) {
  const u32 width = std::min(b >> 16 & 127, 32U);
  return (a >> (b & 31)) & static_cast<u32>((u64{1} << width) - 1);
}
u32 signed_field(u32 a, u32 b) {
  const u32 width = std::min(b >> 16 & 127, 32U);
  const u32 top = width == 0 ? 0 : 1U << (width - 1);
  return (field(a, b) ^ top) - top;
}

// One opcode: with scc from the result, with scc `c` of its own, and without.
#define S1(NAME, A, EXPRESSION) op(NAME, salu<nonzero>([](A a) { return EXPRESSION; }))
#define S2(NAME, A, B, EXPRESSION) op(NAME, salu<nonzero>([](A a, B b) { return EXPRESSION; }))
#define SC(NAME, A, OUT, EXPRESSION) \
  op(NAME, salu<by_function>([](bool& c, A a, A b) { return (void)c, c = (OUT), EXPRESSION; }))
#define SK1(NAME, A, EXPRESSION) op(NAME, salu<keeps>([](A a) { return EXPRESSION; }))
#define SK2(NAME, A, EXPRESSION) op(NAME, salu<keeps>([](A a, A b) { return EXPRESSION; }))
#define TEST(NAME, A, B, EXPRESSION) op(NAME, scc_of([](A a, B b) { return EXPRESSION; }))

// One comparison: s_cmp_NAME and s_cmpk_NAME.
#define COMPARE(NAME, OP)                                                                     \
  TEST("s_cmp_" NAME "_i32", i32, i32, a OP b), TEST("s_cmp_" NAME "_u32", u32, u32, a OP b), \
      op("s_cmpk_" NAME "_i32", scc_of_k([](i32 a, i32 b) { return a OP b; })),               \
      op("s_cmpk_" NAME "_u32", scc_of_k([](u32 a, u32 b) { return a OP b; }))
// A bitwise operation: 32 bits, 64 bits and the form that also takes and saves exec.
#define BITWISE(NAME, E)                                                  \
  op("s_" NAME "_b32", bitwise<u32>([](u32 a, u32 b) { return E; })),     \
      op("s_" NAME "_b64", bitwise<u64>([](u64 a, u64 b) { return E; })), \
      op("s_" NAME "_saveexec_b64", saveexec([](u64 a, u64 b) { return E; }))

}  // namespace

std::vector<Opcode> scalar_opcodes() {
  return {
      {"s_mov_b32", move<u32, false>},
      {"s_mov_b64", move<u64, false>},
      {"s_cselect_b32", move<u32, true>},
      {"s_cselect_b64", move<u64, true>},
      SK1("s_movk_i32", u32, static_cast<i32>(static_cast<i16>(a))),
      SC("s_add_i32", i32, overflows(wide_int(a) + b), static_cast<u32>(wide_int(a) + b)),
      SC("s_sub_i32", i32, overflows(wide_int(a) - b), static_cast<u32>(wide_int(a) - b)),
      SC("s_add_u32", u32, a + b < a, a + b),
      SC("s_sub_u32", u32, b > a, a - b),
      {"s_addc_u32", salu<by_function>([](bool& c, u32 a, u32 b) {
         const u64 sum = wide_uint(a) + b + c;
         c = sum >> 32 != 0;
         return static_cast<u32>(sum);
       })},
      {"s_subb_u32", salu<by_function>([](bool& c, u32 a, u32 b) {
         const u64 taken = wide_uint(b) + c;
         c = taken > a;
         return static_cast<u32>(a - taken);
       })},
      {"s_addk_i32", salu_k([](bool& c, i32 a, i32 k) {
         c = overflows(wide_int(a) + k);
         return static_cast<u32>(wide_int(a) + k);
       })},
      {"s_mulk_i32", salu_k([](bool&, i32 a, i32 k) { return static_cast<u32>(wide_int(a) * k); })},
      SK2("s_mul_i32", u32, a * b),
      SK2("s_mul_hi_u32", u32, static_cast<u32>(wide_uint(a) * b >> 32)),
      SC("s_min_i32", i32, a < b, std::min(a, b)),
      SC("s_min_u32", u32, a < b, std::min(a, b)),
      SC("s_max_i32", i32, a > b, std::max(a, b)),
      SC("s_max_u32", u32, a > b, std::max(a, b)),
      S1("s_abs_i32", i32, static_cast<u32>(a < 0 ? -wide_int(a) : wide_int(a))),
      BITWISE("and", a & b),
      BITWISE("or", a | b),
      BITWISE("xor", a ^ b),
      BITWISE("andn2", a & ~b),
      BITWISE("orn2", a | ~b),
      BITWISE("xnor", ~(a ^ b)),
      S1("s_not_b32", u32, ~a),
      S1("s_not_b64", u64, ~a),
      S2("s_lshl_b32", u32, u32, a << (b & 31)),
      S2("s_lshr_b32", u32, u32, a >> (b & 31)),
      S2("s_ashr_i32", i32, u32, a >> (b & 31)),
      S2("s_lshl_b64", u64, u32, a << (b & 63)),
      S2("s_lshr_b64", u64, u32, a >> (b & 63)),
      S2("s_ashr_i64", i64, u32, a >> (b & 63)),
      SC("s_lshl1_add_u32", u32, ((wide_uint(a) << 1) + b) >> 32 != 0, (a << 1) + b),
      SC("s_lshl2_add_u32", u32, ((wide_uint(a) << 2) + b) >> 32 != 0, (a << 2) + b),
      SC("s_lshl3_add_u32", u32, ((wide_uint(a) << 3) + b) >> 32 != 0, (a << 3) + b),
      SC("s_lshl4_add_u32", u32, ((wide_uint(a) << 4) + b) >> 32 != 0, (a << 4) + b),
      SK2("s_bfm_b32", u32, ((1U << (a & 31)) - 1) << (b & 31)),
      SK2("s_mul_hi_i32", i32, static_cast<u32>(wide_int(a) * b >> 32)),
      S1("s_bcnt1_i32_b32", u32, std::popcount(a)),
      S1("s_bcnt1_i32_b64", u64, std::popcount(a)),
      SK1("s_ff1_i32_b32", u32, a == 0 ? -1 : std::countr_zero(a)),
      SK1("s_ff1_i32_b64", u64, a == 0 ? -1 : std::countr_zero(a)),
      SK1("s_flbit_i32_b64", u64, a == 0 ? -1 : std::countl_zero(a)),
      SK1("s_sext_i32_i8", u32, static_cast<i32>(static_cast<std::int8_t>(a))),
      SK2("s_pack_hh_b32_b16", u32, a >> 16 | (b & 0xffff0000)),
      TEST("s_bitcmp0_b64", u64, u32, (a >> (b & 63) & 1) == 0),
      TEST("s_bitcmp1_b64", u64, u32, (a >> (b & 63) & 1) != 0),
      BITWISE("nand", ~(a & b)),
      BITWISE("nor", ~(a | b)),
      op("s_andn1_saveexec_b64", saveexec([](u64 a, u64 b) { return ~a & b; })),
      S2("s_bfe_u32", u32, u32, field(a, b)),
      S2("s_bfe_i32", u32, u32, signed_field(a, b)),
      SK1("s_flbit_i32_b32", u32, a == 0 ? -1 : std::countl_zero(a)),
      SK1("s_sext_i32_i16", u32, static_cast<i32>(static_cast<i16>(a))),
      SK2("s_pack_ll_b32_b16", u32, (a & 0xffff) | b << 16),
      SK2("s_pack_lh_b32_b16", u32, (a & 0xffff) | (b & 0xffff0000)),
      TEST("s_bitcmp0_b32", u32, u32, (a >> (b & 31) & 1) == 0),
      TEST("s_bitcmp1_b32", u32, u32, (a >> (b & 31) & 1) != 0),
      TEST("s_cmp_eq_u64", u64, u64, a == b),
      TEST("s_cmp_lg_u64", u64, u64, a != b),
      COMPARE("eq", ==),
      COMPARE("lg", !=),
      COMPARE("gt", >),
      COMPARE("ge", >=),
      COMPARE("lt", <),
      COMPARE("le", <=),
  };
}

}  // namespace detgemm::gcn

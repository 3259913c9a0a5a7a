// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <tuple>
#include <type_traits>

#include "core/arithmetic/formats.hpp"
#include "tests/gcn/emulator/instruction.hpp"

/// Turns a function of one lane into an operation of 64: alu([](u32 a, u32 b) { return a + b; }).
/// Parameter types say how the operands' words are read: 16, 32 or 64 bits, integer or float.
namespace detgemm::gcn {

/// An fp16 in the low half of a word. Sums and products of two are exact or innocuously rounded in
/// fp32 first (24 >= 2 * 11 + 2 bits).
struct Half {
  u16 bits = 0;
  Half() = default;
  explicit Half(float f) : bits(arithmetic::to_fp16(f)) {}
  explicit operator float() const { return arithmetic::to_float<DType::fp16>(bits); }
};

/// Where an operand's words lie: registers, a constant's spread, or `temp` filled from scalars.
struct Source {
  const u32* low;
  const u32* high;
};

struct alignas(64) Temp {
  u32 row[2][kLanes];
};

/// Finds an operand of `words` words. Lanes never written are taken out of `valid`: they may take
/// part in arithmetic (compilers leave what they do not need undefined), not in anything seen.
inline Source fetch(Wave& w, const Operand& o, int words, Temp& temp, u64& valid) {
  switch (o.kind) {
    case Operand::vector:
      valid &= w.use(o.reg, words);
      return {w.v[o.reg], w.v[o.reg + words - 1]};
    case Operand::scalar:
      for (int i = 0; i < words; ++i) {
        if (w.s_pending[o.reg + i] != 0) w.settle_scalar(o.reg + i);
        if (w.s_known[o.reg + i] != ~u32{0}) valid = 0;
        const u32 value = w.s[o.reg + i];
        for (int l = 0; l < kLanes; ++l) temp.row[i][l] = value;
      }
      return {temp.row[0], temp.row[words - 1]};
    case Operand::constant:
      if (words == 2) read_scalar64(w, o);  // refuses what is not sure
      return {o.spread->row[0], o.spread->row[words - 1]};
    default:
      throw Fault("wants a vector or scalar operand");
  }
}

template <class T>
inline T lane_value(Source s, int l) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(s.low[l] | static_cast<u64>(s.high[l]) << 32);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<u16>(s.low[l]));
  } else {
    return std::bit_cast<T>(s.low[l]);
  }
}

template <class T>
inline void set_lane(u32* low, u32* high, int l, T value) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = std::bit_cast<u64>(value);
    low[l] = static_cast<u32>(bits);
    high[l] = static_cast<u32>(bits >> 32);
  } else if constexpr (sizeof(T) == 2) {
    low[l] = std::bit_cast<u16>(value);
  } else {
    low[l] = std::bit_cast<u32>(value);
  }
}

template <class F>
struct Signature;
template <class L, class R, class... A>
struct Signature<R (L::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<A...>;
  static constexpr int count = sizeof...(A);
  template <int I>
  using Argument = std::tuple_element_t<I, Arguments>;
};
template <class F>
using SignatureOf = Signature<decltype(&F::operator())>;

template <class T>
inline constexpr int kWords = sizeof(T) == 8 ? 2 : 1;

inline const Operand& vector_destination(const Operand& o) {
  if (o.kind != Operand::vector) throw Fault("wants a vector destination");
  return o;
}

/// Copies a result into the active lanes of a register pair.
inline void blend(Wave& w, int reg, int words, const Temp& temp) {
  const u32* mask = w.exec_words();
  for (int i = 0; i < words; ++i) {
    u32* out = w.v[reg + i];
    for (int l = 0; l < kLanes; ++l) out[l] = (temp.row[i][l] & mask[l]) | (out[l] & ~mask[l]);
  }
}

/// dst = F(operands 1, 2, ...) in every active lane.
template <class F>
void run_alu(Wave& w, const Instruction& in) {
  using S = SignatureOf<F>;
  using R = typename S::Result;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    u64 valid = ~u64{0};
    Temp temp[S::count];
    const Source s[] = {
        fetch(w, in[1 + I], kWords<typename S::template Argument<I>>, temp[I], valid)...};
    const int reg = vector_destination(in[0]).reg;
    w.define(reg, kWords<R>, valid);
    if (w.exec() == ~u64{0}) {
      u32* low = w.v[reg];
      u32* high = w.v[reg + kWords<R> - 1];
      // A destination that is also a source is read before it is written, lane by lane.
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) {
        set_lane<R>(low, high, l, F{}(lane_value<typename S::template Argument<I>>(s[I], l)...));
      }
    } else {
      Temp result;
      for (int l = 0; l < kLanes; ++l) {
        set_lane<R>(result.row[0], result.row[1], l,
                    F{}(lane_value<typename S::template Argument<I>>(s[I], l)...));
      }
      blend(w, reg, kWords<R>, result);
    }
  }
  (std::make_integer_sequence<int, S::count>{});
}

/// The table entry for a function of one lane (a lambda without captures, default-constructible).
template <class F>
Operation alu(F) {
  return run_alu<F>;
}

/// 64 bytes of 0 or 1 to a mask.
inline u64 packed_mask(const u8* flags) {
  u64 mask = 0;
  for (int i = 0; i < 8; ++i) {
    u64 eight = 0;
    __builtin_memcpy(&eight, flags + 8 * i, 8);
    mask |= (eight * 0x0102040810204080U >> 56) << (8 * i);
  }
  return mask;
}

/// Lane mask of F(a, b) to a scalar pair; inactive lanes give 0. `EXEC` also narrows exec (v_cmpx).
template <class F, bool EXEC>
void compare(Wave& w, const Instruction& in) {
  using S = SignatureOf<F>;
  using A = typename S::template Argument<0>;
  using B = typename S::template Argument<1>;
  u64 valid = ~u64{0};
  Temp temp[2];
  const Source a = fetch(w, in[1], kWords<A>, temp[0], valid);
  const Source b = fetch(w, in[2], kWords<B>, temp[1], valid);
  if ((w.exec() & ~valid) != 0) {
    throw Fault("compares a register that was never written", std::countr_zero(w.exec() & ~valid));
  }
  alignas(64) u8 flags[kLanes];
  for (int l = 0; l < kLanes; ++l) flags[l] = F{}(lane_value<A>(a, l), lane_value<B>(b, l)) ? 1 : 0;
  const u64 mask = packed_mask(flags) & w.exec();
  write_scalar64(w, in[0], mask);
  if (EXEC) w.set_scalar64(kExec, mask);
}

}  // namespace detgemm::gcn

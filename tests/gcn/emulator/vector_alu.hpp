// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <tuple>
#include <type_traits>

#include "core/arithmetic/formats.hpp"
#include "tests/gcn/emulator/instruction.hpp"
#include "tests/gcn/emulator/wide.hpp"

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

/// A lane's bit of a mask in a scalar pair, as a parameter.
struct Bit {
  bool set;
};

/// Where an operand's words lie: registers, a constant's spread, or `temp` filled from scalars. Of
/// a mask, its bits.
struct Source {
  const u32* low = nullptr;
  const u32* high = nullptr;
  u64 mask = 0;
};

struct alignas(64) Temp {
  u32 row[2][kLanes];
};

/// Finds an operand of `words` words. Lanes never written are taken out of `valid`: they may take
/// part in arithmetic (compilers leave what they do not need undefined), not in anything seen.
Source fetch(Wave& w, const Operand& o, int words, Temp& temp, u64& valid);
/// The same of a mask, whose bits must be known in all active lanes.
Source fetch_mask(Wave& w, const Operand& o);
/// Copies a result into the active lanes of `words` registers, and the lanes' validity.
void write_lanes(Wave& w, const Operand& o, int words, const Temp& temp, u64 valid);

template <class T>
inline T lane_value(Source s, int l) {
  if constexpr (std::is_same_v<T, Bit>) {
    return {(s.mask >> l & 1) != 0};
  } else if constexpr (sizeof(T) == 8) {
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

/// Result and parameter types of a function of one lane; `bool&` in front is a mask it writes.
template <class F>
struct Signature;
template <class L, class R, class... A>
struct Signature<R (L::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<A...>;
  static constexpr int count = sizeof...(A);
  static constexpr bool writes_mask = false;
};
template <class L, class R, class... A>
struct Signature<R (L::*)(bool&, A...) const> : Signature<R (L::*)(A...) const> {
  static constexpr bool writes_mask = true;
};
template <class F>
using SignatureOf = Signature<decltype(&F::operator())>;
template <class F, int I>
using Parameter = std::tuple_element_t<I, typename SignatureOf<F>::Arguments>;

template <class T>
inline constexpr int kWords = sizeof(T) == 8 ? 2 : 1;

/// A fused multiply-add: one rounding, 64 lanes by the processor's own instruction if it has one.
struct Fma {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
};

/// F in 64 lanes. A destination that is also a source is read before it is written, lane by lane.
template <class F, int... I>
inline u64 each_lane(u32* low, u32* high, const Source* s, std::integer_sequence<int, I...>) {
  using R = typename SignatureOf<F>::Result;
  u64 mask = 0;
  if constexpr (std::is_same_v<F, Fma>) {
    wide().fma(low, s[0].low, s[1].low, s[2].low);
  } else if constexpr (SignatureOf<F>::writes_mask) {
    for (int l = 0; l < kLanes; ++l) {
      bool bit = false;
      set_lane<R>(low, high, l, F{}(bit, lane_value<Parameter<F, I>>(s[I], l)...));
      mask |= static_cast<u64>(bit) << l;
    }
  } else {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) {
      set_lane<R>(low, high, l, F{}(lane_value<Parameter<F, I>>(s[I], l)...));
    }
  }
  return mask;
}

inline const Operand& vector_destination(const Operand& o) {
  require(o.kind == Operand::vector, "wants a vector destination");
  return o;
}

template <class T>
Source fetch_parameter(Wave& w, const Operand& o, Temp& temp, u64& valid) {
  if constexpr (std::is_same_v<T, Bit>) return fetch_mask(w, o);
  return fetch(w, o, kWords<T>, temp, valid);
}

/// dst, [mask,] operands: dst = F(operands) in every active lane.
template <class F, int... I>
void run_alu(Wave& w, const Instruction& in, std::integer_sequence<int, I...> each) {
  using S = SignatureOf<F>;
  constexpr int words = kWords<typename S::Result>;
  constexpr int first = S::writes_mask ? 2 : 1;
  u64 valid = ~u64{0};
  Temp temp[S::count];
  const Source s[] = {fetch_parameter<Parameter<F, I>>(w, in[first + I], temp[I], valid)...};
  const int reg = vector_destination(in[0]).reg;
  u64 mask = 0;
  if (w.exec() == ~u64{0}) {
    w.define(reg, words, valid);
    mask = each_lane<F>(w.v[reg], w.v[reg + words - 1], s, each);
  } else {
    Temp result;
    mask = each_lane<F>(result.row[0], result.row[1], s, each);
    write_lanes(w, in[0], words, result, valid);
  }
  if (S::writes_mask) write_scalar64(w, in[1], mask & w.exec());
}

/// The table entry for a function of one lane (a lambda without captures, default-constructible).
template <class F>
Operation alu(F) {
  return [](Wave& w, const Instruction& in) {
    run_alu<F>(w, in, std::make_integer_sequence<int, SignatureOf<F>::count>{});
  };
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
  using A = Parameter<F, 0>;
  using B = Parameter<F, 1>;
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

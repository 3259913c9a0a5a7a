// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <tuple>
#include <type_traits>

#include "core/arithmetic/formats.hpp"
#include "tests/gcn/emulator/instruction.hpp"
#include "tests/gcn/emulator/wide.hpp"

/// Turns a function of one lane into one of 64 lanes: alu([](u32 a, u32 b) { return a + b; }).
/// Parameter types say how the operands' words are read: 16, 32 or 64 bits, integer or float. A
/// function that returns bool is a comparison, whose result is a mask.
namespace detgemm::gcn {

/// A lane's bit of a mask in a scalar pair, as a parameter.
struct Bit {
  bool set;
};

/// Where an operand's words lie: in registers, or in `temp`, filled from a scalar or a constant.
/// For a mask these are its bits.
struct Source {
  const u32* low = nullptr;
  const u32* high = nullptr;
  u64 mask = 0;
};

struct alignas(64) Temp {
  u32 row[2][kLanes];
};

/// Finds an operand of `words` words. Lanes never written are removed from `valid`: arithmetic may
/// use them (compilers leave what they do not need undefined), but nothing visible may.
inline Source fetch(Wave& w, const Operand& o, int words, Temp& temp, u64& valid) {
  Source s = {temp.row[0], temp.row[words - 1]};
  if (o.kind == Operand::vector) {
    valid &= w.use(o.reg, words);
    s = {w.v[o.reg], w.v[o.reg + words - 1]};
  } else {
    u64 known = 0;
    const u64 value = read_scalar(w, o, words, known);
    if (known != ~u64{0}) valid = 0;
    for (int i = 0; i < words; ++i)
      for (u32& x : temp.row[i]) x = static_cast<u32>(value >> (32 * i));
  }
  if (!o.changed()) return s;
  for (int l = 0; l < kLanes; ++l) temp.row[0][l] = (s.low[l] >> o.shift & o.keep) ^ o.flip;
  return {temp.row[0], temp.row[0]};
}

/// The same for a mask, whose bits have to be known in all active lanes.
inline Source fetch_mask(Wave& w, const Operand& o) {
  u64 known = 0;
  const u64 mask = read_scalar(w, o, 2, known);
  if ((w.exec() & ~known) != 0) refuse_unwritten(kRows + o.reg);
  return {nullptr, nullptr, mask};
}

inline const Operand& vector_destination(const Operand& o) {
  require(o.kind == Operand::vector, "wants a vector destination");
  return o;
}

/// Copies a result and its validity into the active lanes of `words` registers.
inline void write_lanes(Wave& w, const Operand& o, int words, const Temp& temp, u64 valid) {
  const int reg = vector_destination(o).reg;
  w.define(reg, words, valid);
  w.copy_lanes(reg, words, temp.row);
}

template <class T>
inline constexpr int kWords = sizeof(T) == 8 ? 2 : 1;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 2, u16, u32>>;

template <class T>
inline T lane_value(Source s, int l) {
  if constexpr (std::is_same_v<T, Bit>) {
    return {(s.mask >> l & 1) != 0};
  } else {
    u64 bits = s.low[l];
    if (sizeof(T) == 8) bits |= static_cast<u64>(s.high[l]) << 32;
    return std::bit_cast<T>(static_cast<Bits<T>>(bits));
  }
}

template <class T>
inline void set_lane(u32* low, u32* high, int l, T value) {
  const u64 bits = std::bit_cast<Bits<T>>(value);
  low[l] = static_cast<u32>(bits);
  if (sizeof(T) == 8) high[l] = static_cast<u32>(bits >> 32);
}

/// Result and parameter types of a function of one lane; `bool&` in front is a bit it writes (a
/// mask's of a vector operation, scc of a scalar one).
template <class F>
struct Signature;
template <class L, class R, class... A>
struct Signature<R (L::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<A...>;
  static constexpr int count = sizeof...(A);
  static constexpr bool writes_bit = false;
  static constexpr bool compares = std::is_same_v<R, bool>;
};
template <class L, class R, class... A>
struct Signature<R (L::*)(bool&, A...) const> : Signature<R (L::*)(A...) const> {
  static constexpr bool writes_bit = true;
};
template <class F>
using SignatureOf = Signature<decltype(&F::operator())>;
template <class F, int I>
using Parameter = std::tuple_element_t<I, typename SignatureOf<F>::Arguments>;
template <class F>
using EachParameter = std::make_integer_sequence<int, SignatureOf<F>::count>;

/// A fused multiply-add of 64 lanes, by the processor's own instruction if it has one.
struct Fma {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
};

/// Applies F in 64 lanes; returns the mask it writes, if any. A destination that is also a source
/// is read before it is written, lane by lane.
template <class F, int... I>
inline u64 each_lane(u32* low, u32* high, const Source* s, std::integer_sequence<int, I...>) {
  using S = SignatureOf<F>;
  alignas(64) bool flags[kLanes] = {};
  if constexpr (std::is_same_v<F, Fma>) {
    wide().fma(low, s[0].low, s[1].low, s[2].low);
  } else if constexpr (S::compares) {
    for (int l = 0; l < kLanes; ++l) flags[l] = F{}(lane_value<Parameter<F, I>>(s[I], l)...);
  } else if constexpr (S::writes_bit) {
    for (int l = 0; l < kLanes; ++l)
      set_lane(low, high, l, F{}(flags[l], lane_value<Parameter<F, I>>(s[I], l)...));
  } else {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l)
      set_lane(low, high, l, F{}(lane_value<Parameter<F, I>>(s[I], l)...));
  }
  return S::compares || S::writes_bit ? packed_mask(flags) : 0;
}

template <class T>
Source fetch_parameter(Wave& w, const Operand& o, Temp& temp, u64& valid) {
  if constexpr (std::is_same_v<T, Bit>) return fetch_mask(w, o);
  return fetch(w, o, kWords<T>, temp, valid);
}

/// dst, [mask,] operands: dst = F(operands) in every active lane. A mask is 0 in the others.
template <class F, int... I>
void run_alu(Wave& w, const Instruction& in, std::integer_sequence<int, I...> each) {
  using S = SignatureOf<F>;
  constexpr int words = kWords<typename S::Result>;
  constexpr int first = S::writes_bit ? 2 : 1;
  u64 valid = ~u64{0};
  Temp temp[S::count];
  const Source s[] = {fetch_parameter<Parameter<F, I>>(w, in[first + I], temp[I], valid)...};
  if constexpr (S::compares) {
    if (const u64 unknown = w.exec() & ~valid; unknown != 0)
      throw Fault("compares a register that was never written", std::countr_zero(unknown));
    write_scalar(w, in[0], 2, each_lane<F>(nullptr, nullptr, s, each) & w.exec());
    return;
  }
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
  if (S::writes_bit) write_scalar(w, in[1], 2, mask & w.exec());
}

/// dst[0:1], operands of the low result, operands of the high one.
template <class F>
void run_packed(Wave& w, const Instruction& in) {
  constexpr int count = SignatureOf<F>::count;
  Temp result[2];
  u64 valid[2] = {~u64{0}, ~u64{0}};
  for (int part = 0; part < 2; ++part) {
    Temp temp[count];
    Source s[count];
    for (int i = 0; i < count; ++i)
      s[i] = fetch(w, in[1 + part * count + i], 1, temp[i], valid[part]);
    each_lane<F>(result[part].row[0], result[part].row[0], s, EachParameter<F>{});
  }
  Operand out = in[0];
  for (int part = 0; part < 2; ++part, ++out.reg) write_lanes(w, out, 1, result[part], valid[part]);
}

/// The table entry for a function of one lane (a lambda without captures, default-constructible).
template <class F>
Operation alu(F) {
  return [](Wave& w, const Instruction& in) { run_alu<F>(w, in, EachParameter<F>{}); };
}
template <class F>
Operation packed(F) {
  return run_packed<F>;
}

}  // namespace detgemm::gcn

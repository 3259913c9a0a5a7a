// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gcn/emulator/assembly.hpp"
#include "tests/gcn/emulator/machine.hpp"

namespace detgemm::gcn {

/// A constant spread over the lanes, low and high words.
struct Spread {
  alignas(64) u32 row[2][kLanes];
};

/// An operand as the operations read it.
struct Operand {
  enum Kind : u8 { none, vector, scalar, constant, label, off };
  Kind kind = none;
  u8 count = 1;          ///< words named: v[0:3] has 4
  u16 reg = 0;           ///< row of the vector registers, or number of the scalar
  bool decimal = false;  ///< written with a point: fp32 bits
  bool literal = false;  ///< an integer outside -16..64
  bool negate = false, absolute = false, extend = false;  ///< -x, |x|, sext(x)
  u64 value = 0;  ///< of a constant, sign-extended; of a label, the index in the code
  std::shared_ptr<const Spread> spread;
};

/// Bits of a word that SDWA reads or writes.
struct Part {
  int shift = 0;
  int bits = 32;
};

struct Instruction;
using Operation = void (*)(Wave&, const Instruction&);

struct Modified;  ///< what `run_modified` does around the instruction proper

struct Instruction {
  Operation operation = nullptr;
  std::vector<Operand> operands;
  u32 offset[2] = {0, 0};  ///< `offset` or `offset0` and `offset1`; s_waitcnt: vmcnt, lgkmcnt
  u32 flags = 0;           ///< word selects and signs of packed operations
  bool to_lds = false;     ///< a buffer load with `lds`
  std::shared_ptr<const Modified> modified;
  const Statement* statement = nullptr;

  const Operand& operator[](int i) const { return operands[static_cast<std::size_t>(i)]; }
  bool has(const char* modifier) const { return statement->modifiers.count(modifier) != 0; }
};

/// One line of an opcode table.
struct Opcode {
  const char* name;  ///< without _e32, _e64, _sdwa, _dpp
  Operation operation;
  /// An operand that is not written: the destination once more (v_fmac), or vcc (v_div_fmas).
  enum Hidden { none, accumulates, reads_vcc } hidden = none;
};

inline Opcode op(const char* name, Operation operation) { return {name, operation}; }

/// The tables, one for each kind of operation.
std::vector<Opcode> vector_integer_opcodes();
std::vector<Opcode> vector_float_opcodes();
std::vector<Opcode> vector_compare_opcodes();
std::vector<Opcode> lane_opcodes();
std::vector<Opcode> scalar_opcodes();
std::vector<Opcode> control_opcodes();
std::vector<Opcode> memory_opcodes();
std::vector<Opcode> lds_opcodes();
std::vector<Opcode> mfma_opcodes(const std::string& architecture);

/// Names of all opcodes of an architecture.
std::vector<std::string> opcode_names(const std::string& architecture);

/// A kernel ready to run.
struct Kernel {
  KernelText text;
  std::vector<Instruction> code;

  /// Throws std::runtime_error naming line and instruction for what is not known.
  explicit Kernel(KernelText from);
  Kernel(const Kernel&) = delete;
};

/// SDWA, DPP, neg, abs and clamp: see modified.cpp.
std::shared_ptr<const Modified> make_modified(const Instruction& in);
void run_modified(Wave& w, const Instruction& in);

/// Scalar source of one word: register or constant.
inline u32 read_scalar(Wave& w, const Operand& o) {
  if (o.kind == Operand::constant) return static_cast<u32>(o.value);
  require(o.kind == Operand::scalar, "wants a scalar operand");
  w.need_scalar(o.reg, 1);
  return w.s[o.reg];
}
/// Scalar source of two words; integers are sign-extended.
inline u64 read_scalar64(Wave& w, const Operand& o) {
  if (o.kind == Operand::constant) {
    if (o.decimal || (o.literal && static_cast<i64>(o.value) > 0x7fffffff)) {
      throw Fault("64-bit literal whose high word is not sure");
    }
    return o.value;
  }
  require(o.kind == Operand::scalar, "wants a scalar operand");
  w.need_scalar(o.reg, 2);
  return w.scalar64(o.reg);
}
/// Scalar source of which only some bits may be known.
template <class T>
T read_known(Wave& w, const Operand& o, T& known) {
  known = ~T{0};
  if (o.kind != Operand::scalar)
    return static_cast<T>(sizeof(T) == 8 ? read_scalar64(w, o) : read_scalar(w, o));
  T value = 0;
  known = 0;
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) {
    if (w.s_pending[o.reg + i] != 0) w.settle_scalar(static_cast<int>(o.reg + i));
    value |= static_cast<T>(w.s[o.reg + i]) << (32 * i);
    known |= static_cast<T>(w.s_known[o.reg + i]) << (32 * i);
  }
  return value;
}
template <class T>
void write_known(Wave& w, const Operand& o, T value, T known) {
  require(o.kind == Operand::scalar, "wants a scalar destination");
  w.define_scalar(o.reg, sizeof(T) / 4);
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) {
    w.s[o.reg + i] = static_cast<u32>(value >> (32 * i));
    w.s_known[o.reg + i] = static_cast<u32>(known >> (32 * i));
  }
  if (o.reg == kExec && known != ~T{0}) refuse_scalar(kExec);
}
inline void write_scalar(Wave& w, const Operand& o, u32 value) {
  require(o.kind == Operand::scalar, "wants a scalar destination");
  w.set_scalar(o.reg, value);
}
inline void write_scalar64(Wave& w, const Operand& o, u64 value) {
  require(o.kind == Operand::scalar, "wants a scalar destination");
  w.set_scalar64(o.reg, value);
}

}  // namespace detgemm::gcn

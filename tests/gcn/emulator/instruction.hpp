// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/gcn/emulator/assembly.hpp"
#include "tests/gcn/emulator/machine.hpp"

namespace detgemm::gcn {

/// An operand as the operations read it.
struct Operand {
  enum Kind : u8 { none, vector, scalar, constant, label, off };
  Kind kind = none;
  u8 count = 1;      ///< number of words: v[0:3] has 4
  u16 reg = 0;       ///< row of the vector registers, or number of the scalar register
  bool sure = true;  ///< whether the high word of a constant is known
  /// How a sub-word select, |x| and -x change a word: (word >> shift & keep) ^ flip.
  u8 shift = 0;
  u32 keep = ~u32{0}, flip = 0;
  u64 value = 0;  ///< a constant, sign-extended, or a label's index in the code

  bool changed() const { return shift != 0 || keep != ~u32{0} || flip != 0; }
};

struct Instruction;
using Operation = void (*)(Wave&, const Instruction&);

/// DPP: the first source is read from other lanes of the wave.
struct Dpp {
  std::array<int, kLanes> from;  ///< -1: from none
  u64 lanes = 0;                 ///< that the masks of rows and banks leave
  bool zero = false;             ///< a lane that reads from none reads 0, or else is not written
  Operation operation = nullptr;
};

struct Instruction {
  Operation operation = nullptr;
  std::shared_ptr<const Dpp> dpp;
  std::vector<Operand> operands;
  u32 offset[2] = {0, 0};  ///< `offset` or `offset0` and `offset1`; s_waitcnt: vmcnt, lgkmcnt

  const Operand& operator[](int i) const { return operands[static_cast<std::size_t>(i)]; }
};

/// One line of an opcode table.
struct Opcode {
  const char* name;  ///< without _e32, _e64, _sdwa
  Operation operation;
  /// How the written operands become the operation's: with the destination (v_fmac) or vcc
  /// (v_div_fmas) added; or dst, operands of the low result, operands of the high one: for an
  /// instruction on pairs, one that moves a pair, and one that moves two words to a pair.
  enum Form { plain, accumulates, reads_vcc, pairs, moves_pair, moves_words } form = plain;
};

inline Opcode op(const char* name, Operation operation, Opcode::Form form = Opcode::plain) {
  return {name, operation, form};
}

/// The opcode tables, one for each kind of operation.
std::vector<Opcode> vector_opcodes();
std::vector<Opcode> scalar_opcodes();
std::vector<Opcode> memory_opcodes();
std::vector<Opcode> lane_opcodes();
std::vector<Opcode> mfma_opcodes(const std::string& architecture);
std::vector<Opcode> mfma_fp32_opcodes(const std::string& architecture);

/// Runs `in.dpp->operation` with its first source exchanged between lanes.
void run_dpp(Wave& w, const Instruction& in);

/// A kernel ready to run.
struct Kernel {
  KernelText text;
  std::vector<Instruction> code;
  u32 entry = 0;  ///< behind the loads of arguments that are in registers already

  /// Throws std::runtime_error with line and instruction where it does not know something.
  explicit Kernel(KernelText from);
  Kernel(const Kernel&) = delete;
};

/// A scalar source of one or two words (register or constant), and which of its bits are known.
inline u64 read_scalar(Wave& w, const Operand& o, int words, u64& known) {
  known = ~u64{0};
  if (o.kind == Operand::constant) {
    require(words == 1 || o.sure, "64-bit literal whose high word is not sure");
    return o.value;
  }
  require(o.kind == Operand::scalar, "wants a scalar operand");
  return w.read(o.reg, words, known);
}
/// The same where all bits must be known.
inline u64 read_scalar(Wave& w, const Operand& o, int words) {
  u64 known = 0;
  return o.kind == Operand::scalar ? w.read(o.reg, words) : read_scalar(w, o, words, known);
}
inline void write_scalar(Wave& w, const Operand& o, int words, u64 value, u64 known = ~u64{0}) {
  require(o.kind == Operand::scalar, "wants a scalar destination");
  w.set(o.reg, words, value, known);
}

}  // namespace detgemm::gcn

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

Source fetch(Wave& w, const Operand& o, int words, Temp& temp, u64& valid) {
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

Source fetch_mask(Wave& w, const Operand& o) {
  u64 known = 0;
  const u64 mask = read_known<u64>(w, o, known);
  if ((w.exec() & ~known) != 0) refuse_scalar(o.reg);
  return {nullptr, nullptr, mask};
}

void write_lanes(Wave& w, const Operand& o, int words, const Temp& temp, u64 valid) {
  const int reg = vector_destination(o).reg;
  w.define(reg, words, valid);
  const u32* mask = w.exec_words();
  for (int i = 0; i < words; ++i) {
    u32* out = w.v[reg + i];
    for (int l = 0; l < kLanes; ++l) out[l] = (temp.row[i][l] & mask[l]) | (out[l] & ~mask[l]);
  }
}

}  // namespace detgemm::gcn

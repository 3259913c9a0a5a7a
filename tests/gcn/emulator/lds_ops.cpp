// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

/// Lane addresses: operand + offset.
void addresses(Wave& w, const Operand& o, u32 offset, u32* out) {
  w.need(vector_destination(o).reg, 1, w.exec());
  for (int l = 0; l < kLanes; ++l) out[l] = w.v[o.reg][l] + offset;
}

/// ds_read: COUNT reads of BYTES, at offset0 and offset1 times UNIT where there are two.
template <int BYTES, int COUNT = 1, int UNIT = 1>
void read(Wave& w, const Instruction& in) {
  constexpr int words = BYTES < 4 ? 1 : BYTES / 4;
  const u32 mark = w.issue(kLgkm);
  alignas(64) u32 result[words * COUNT][kLanes];
  for (int i = 0; i < COUNT; ++i) {
    u32 address[kLanes];
    addresses(w, in[1], in.offset[i] * UNIT, address);
    w.lds->read(w, address, w.exec(), BYTES, result + i * words, mark);
  }
  const int reg = vector_destination(in[0]).reg;
  w.define_loaded(reg, words * COUNT, mark);
  const u32* mask = w.exec_words();
  for (int i = 0; i < words * COUNT; ++i) {
    u32* out = w.v[reg + i];
    for (int l = 0; l < kLanes; ++l) out[l] = (result[i][l] & mask[l]) | (out[l] & ~mask[l]);
  }
}

template <int BYTES, int COUNT = 1, int UNIT = 1, int SHIFT = 0>
void write(Wave& w, const Instruction& in) {
  constexpr int words = BYTES < 4 ? 1 : BYTES / 4;
  const u32 mark = w.issue(kLgkm);
  for (int i = 0; i < COUNT; ++i) {
    u32 address[kLanes];
    addresses(w, in[0], in.offset[i] * UNIT, address);
    const int reg = vector_destination(in[1 + i]).reg;
    w.need(reg, words, w.exec());
    const u32* rows[4] = {};
    for (int j = 0; j < words; ++j) rows[j] = w.v[reg + j];
    u32 shifted[kLanes];
    if (SHIFT != 0) {
      for (int l = 0; l < kLanes; ++l) shifted[l] = rows[0][l] >> SHIFT;
      rows[0] = shifted;
    }
    w.lds->write(w, address, w.exec(), BYTES, rows, mark);
  }
}

}  // namespace

std::vector<Opcode> lds_opcodes() {
  return {
      {"ds_read_u8", read<1>},
      {"ds_read_u16", read<2>},
      {"ds_read_b32", read<4>},
      {"ds_read_b64", read<8>},
      {"ds_read_b96", read<12>},
      {"ds_read_b128", read<16>},
      {"ds_read2_b32", read<4, 2, 4>},
      {"ds_read2_b64", read<8, 2, 8>},
      {"ds_read2st64_b32", read<4, 2, 256>},
      {"ds_read2st64_b64", read<8, 2, 512>},
      {"ds_write_b8", write<1>},
      {"ds_write_b16", write<2>},
      {"ds_write_b16_d16_hi", write<2, 1, 1, 16>},
      {"ds_write_b32", write<4>},
      {"ds_write_b64", write<8>},
      {"ds_write_b96", write<12>},
      {"ds_write_b128", write<16>},
      {"ds_write2_b32", write<4, 2, 4>},
      {"ds_write2_b64", write<8, 2, 8>},
      {"ds_write2st64_b32", write<4, 2, 256>},
      {"ds_write2st64_b64", write<8, 2, 512>},
  };
}

}  // namespace detgemm::gcn

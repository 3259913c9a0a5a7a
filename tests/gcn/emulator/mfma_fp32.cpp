// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The fp32 matrix instruction of 32 x 32 outputs and 2 products, as published: a chain of fma, k
// ascending, every lane active. A and B are one register each; C and D as in mfma.cpp.
//
//   A   lane l: row l % 32, k = l / 32        B   lane l: column l % 32, k = l / 32

#include <cstring>

#include "tests/gcn/emulator/vector_alu.hpp"
#include "tests/gcn/emulator/wide.hpp"

namespace detgemm::gcn {
namespace {

void mfma_fp32(Wave& w, const Instruction& in) {
  constexpr int registers = 16, side = 32;
  for (int i = 1; i <= 2; ++i) w.need(vector_destination(in[i]).reg, 1, ~u64{0});
  const u32* a = w.v[in[1].reg];
  const u32* b = w.v[in[2].reg];
  alignas(64) u32 d[registers][kLanes];
  if (in[3].kind == Operand::vector) {
    w.need(in[3].reg, registers, ~u64{0});
    std::memcpy(d, w.v[in[3].reg], sizeof d);
  } else {
    for (auto& row : d)
      for (u32& x : row) x = static_cast<u32>(read_scalar(w, in[3], 1));
  }
  for (int r = 0; r < registers; ++r) {
    for (int k = 0; k < 2; ++k) {
      alignas(64) u32 x[kLanes], y[kLanes];
      for (int l = 0; l < kLanes; ++l) {
        x[l] = a[side * k + 8 * (r / 4) + 4 * (l / side) + r % 4];
        y[l] = b[side * k + l % side];
      }
      wide().fma(d[r], x, y, d[r]);
    }
  }
  const int reg = vector_destination(in[0]).reg;
  for (int r = reg; r < reg + registers; ++r) {
    w.settle(r);
    w.written[r] = ~u64{0};
  }
  std::memcpy(w.v[reg], d, sizeof d);
  ++w.mfmas;
}

}  // namespace

std::vector<Opcode> mfma_fp32_opcodes(const std::string& architecture) {
  return {
      op(architecture == "gfx942" ? "v_mfma_f32_32x32x2_f32" : "v_mfma_f32_32x32x2f32", mfma_fp32)};
}

}  // namespace detgemm::gcn

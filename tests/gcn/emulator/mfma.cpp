// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Matrix instructions: D = A * B + C, where the arithmetic of one step is the contract's.
//
// Lane layouts (AMD's instruction set manuals, "matrix arithmetic instructions"), with R rows and
// columns and lane l; elements are numbered in the order of the registers' halves:
//
//   A, element e of 4      row    l % R, k = 4 * (l / R) + e        R = 32: k < 8,  R = 16: k < 16
//   B, element e of 4      column l % R, k = 4 * (l / R) + e
//   C, D, register r       column l % R
//     R = 32, 16 registers   row 8 * (r / 4) + 4 * (l / R) + r % 4
//     R = 16,  4 registers   row 4 * (l / R) + r

#include <cstring>

#include "detgemm/contract.hpp"
#include "tests/gcn/emulator/vector_alu.hpp"
#include "tests/gcn/emulator/wide.hpp"
#include "tests/hip/fp8.hpp"

namespace detgemm::gcn {

const Wide& wide() {
  static const Wide& best = []() -> const Wide& {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
      return kWideAvx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kWideAvx2;
#endif
    return kWideBaseline;
  }();
  return best;
}

namespace {

/// Zeros and NaNs as the contract does not have them, and as a chip may return them.
template <std::size_t N>
void disturb(float (&d)[N][kLanes]) {
  for (auto& row : d)
    for (float& x : row) x = x == 0 ? -0.0F : x != x ? arithmetic::float_of(0xffc12345) : x;
}

enum class Stored { bf16, fnuz, ocp };

/// By the launch's own step, with E elements of each operand per lane.
template <int R, int E, Stored S = Stored::bf16>
void mfma_by_step(Wave& w, const Instruction& in) {
  constexpr bool bf16 = S == Stored::bf16;
  constexpr int registers = R * R / kLanes, products = kLanes / R * E, per_word = bf16 ? 2 : 4;
  const MatrixStep* const step = bf16 ? w.step : w.fp8_step;
  require(step != nullptr, "no model of this matrix instruction was given");
  std::uint16_t operands[2][R][products];
  for (int i = 0; i < 2; ++i) {
    const int reg = vector_destination(in[i + 1]).reg;
    w.need(reg, E / per_word, ~u64{0});
    for (int k = 0; k < products; ++k) {
      for (int row = 0; row < R; ++row) {
        const u32 word = w.v[reg + k % E / per_word][k / E * R + row];
        const u32 element = word >> (k % per_word * (32 / per_word));
        const auto format = S == Stored::fnuz ? test::Fp8::fnuz : test::Fp8::ocp;
        operands[i][row][k] = bf16 ? static_cast<std::uint16_t>(element)
                                   : test::bf16_of(format, static_cast<u8>(element));
      }
    }
  }
  const bool constant = in[3].kind != Operand::vector;
  if (!constant) w.need(in[3].reg, registers, ~u64{0});
  u32 d[registers][kLanes];
  for (int r = 0; r < registers; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const int row = R == 32 ? 8 * (r / 4) + 4 * (l / R) + r % 4 : 4 * (l / R) + r;
      const u32 c = constant ? static_cast<u32>(read_scalar(w, in[3], 1)) : w.v[in[3].reg + r][l];
      d[r][l] = arithmetic::bits_of(
          (*step)(operands[0][row], operands[1][l % R], products, arithmetic::float_of(c)));
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

/// Every lane is active, whatever exec says.
template <int R, DType T, Arithmetic A>
void mfma(Wave& w, const Instruction& in) {
  constexpr int registers = R * R / kLanes;
  constexpr int products = 256 / R;
  constexpr bool half = T == DType::fp16;
  if (!half && w.step != nullptr) return mfma_by_step<R, 4>(w, in);
  for (int i = 1; i <= 2; ++i) w.need(vector_destination(in[i]).reg, 2, ~u64{0});
  const u32* a[] = {w.v[in[1].reg], w.v[in[1].reg + 1]};
  const u32* b[] = {w.v[in[2].reg], w.v[in[2].reg + 1]};
  alignas(64) float d[registers][kLanes];
  if (in[3].kind == Operand::vector) {
    w.need(in[3].reg, registers, ~u64{0});
    std::memcpy(d, w.v[in[3].reg], sizeof d);
  } else {
    const float constant = arithmetic::float_of(static_cast<u32>(read_scalar(w, in[3], 1)));
    for (auto& row : d)
      for (float& x : row) x = constant;
  }
  float* rows[R];
  for (int r = 0; r < registers; ++r) {
    for (int group = 0; group < kLanes / R; ++group) {
      rows[R == 32 ? 8 * (r / 4) + 4 * group + r % 4 : 4 * group + r] = d[r] + group * R;
    }
  }
  if constexpr (A == Arithmetic::cdna3) {
    Cdna3Operand x, y;
    wide().decode3(a, R, half, x);
    wide().decode3(b, R, half, y);
    for (int k = 0; k < products; k += 8) wide().cdna3(x, y, k, R, rows);
  } else {
    Cdna2Operand x, y;
    wide().decode2(a, R, half, x);
    wide().decode2(b, R, half, y);
    for (int k = 0; k < products; k += 4) wide().cdna2(x, y, k, R, rows);
  }
  if (w.adverse) disturb(d);
  const int reg = vector_destination(in[0]).reg;
  for (int r = reg; r < reg + registers; ++r) {
    w.settle(r);
    w.written[r] = ~u64{0};
  }
  std::memcpy(w.v[reg], d, sizeof d);
  ++w.mfmas;
}

/// 32 and 16 rows of bf16, then of fp16.
template <Arithmetic A>
std::vector<Opcode> opcodes(const std::array<const char*, 4>& names) {
  return {op(names[0], mfma<32, DType::bf16, A>), op(names[1], mfma<16, DType::bf16, A>),
          op(names[2], mfma<32, DType::fp16, A>), op(names[3], mfma<16, DType::fp16, A>)};
}

}  // namespace

std::vector<Opcode> mfma_opcodes(const std::string& architecture) {
  constexpr const char* fp8[] = {"v_mfma_f32_32x32x16_fp8_fp8", "v_mfma_f32_16x16x32_fp8_fp8"};
  if (architecture == "gfx942") {
    auto all = opcodes<Arithmetic::cdna3>({"v_mfma_f32_32x32x8_bf16", "v_mfma_f32_16x16x16_bf16",
                                           "v_mfma_f32_32x32x8_f16", "v_mfma_f32_16x16x16_f16"});
    all.push_back(op(fp8[0], mfma_by_step<32, 8, Stored::fnuz>));
    all.push_back(op(fp8[1], mfma_by_step<16, 8, Stored::fnuz>));
    return all;
  }
  if (architecture == "gfx90a") {
    return opcodes<Arithmetic::cdna2>({"v_mfma_f32_32x32x8bf16_1k", "v_mfma_f32_16x16x16bf16_1k",
                                       "v_mfma_f32_32x32x8f16", "v_mfma_f32_16x16x16f16"});
  }
  if (architecture == "gfx950") {
    return {op("v_mfma_f32_32x32x8_bf16", mfma_by_step<32, 4>),
            op("v_mfma_f32_16x16x16_bf16", mfma_by_step<16, 4>),
            op("v_mfma_f32_32x32x16_bf16", mfma_by_step<32, 8>),
            op("v_mfma_f32_16x16x32_bf16", mfma_by_step<16, 8>),
            op(fp8[0], mfma_by_step<32, 8, Stored::ocp>),
            op(fp8[1], mfma_by_step<16, 8, Stored::ocp>)};
  }
  return {};
}

}  // namespace detgemm::gcn

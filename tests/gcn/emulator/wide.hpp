// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::gcn {

/// The elements of an MFMA operand in parts, [k][row or column], for the cdna3 step.
struct Cdna3Operand {
  /// Magnitude with 12 fraction bits, so that products have 24, as the model's aligned sum.
  alignas(64) std::int32_t magnitude[16 * 32];
  /// Power of two; those of zeros, Inf and NaN show in a sum of two what the product is.
  alignas(64) std::int32_t exponent[16 * 32];
  alignas(64) std::int32_t sign[16 * 32];  ///< 0 or -1
  static constexpr std::int32_t kZero = -1000, kInf = 4000, kNan = 20000, kMinNan = 18000;
};

/// The same for cdna2: fp32 values, in which subnormals are +0.
struct Cdna2Operand {
  alignas(64) float value[16 * 32];
};

/// Loops that profit from wide vector instructions, compiled once for each instruction set.
struct Wide {
  const char* name;
  /// out = fma(a, b, c) in 64 lanes, one rounding.
  void (*fma)(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b,
              const std::uint32_t* c);
  /// Splits 64 lanes of two words (element e of four is half e % 2 of word e / 2) into parts:
  /// lane l holds row l % rows, k = 4 * (l / rows) + e, which goes to out[k * rows + row].
  void (*decode3)(const std::uint32_t* const* words, int rows, bool half, Cdna3Operand& out);
  void (*decode2)(const std::uint32_t* const* words, int rows, bool half, Cdna2Operand& out);
  /// rows[i][j] = step(row i of a, column j of b, rows[i][j]) for n (16 or 32) rows and columns and
  /// the products k .. k + 7 (k .. k + 3 for cdna2).
  void (*cdna3)(const Cdna3Operand& a, const Cdna3Operand& b, int k, int n, float* const* rows);
  void (*cdna2)(const Cdna2Operand& a, const Cdna2Operand& b, int k, int n, float* const* rows);
};

extern const Wide kWideBaseline;
#if defined(__x86_64__)
extern const Wide kWideAvx2;
extern const Wide kWideAvx512;
#endif

/// The widest set that this processor has.
const Wide& wide();

}  // namespace detgemm::gcn

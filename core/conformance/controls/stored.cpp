// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <cstring>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that are wrong in the last rounding, in numbers that are rarely drawn, or in what an
// earlier call has left.

namespace detgemm::controls {
namespace {

constexpr std::string_view kLineScales = "ieee_fma/bf16/chain->bf16";
constexpr std::string_view kScaledFma = "ieee_fma/bf16/scaled:64->fp32";

/// The right value in fp32, handed to `store(arguments, index of D, value)`.
template <class Store>
void with_own_store(const Run& run, Store&& store) {
  with_own_epilogue(
      run, [&](const GemmArguments& g, std::int64_t row, std::int64_t col, float acc) {
        const Epilogue& e = g.epilogue;
        const float c =
            e.beta != 0.0F ? load_as_float(g.c, row * g.cs.row + col * g.cs.col, g.c_type) : 0.0F;
        const float bias = e.has_bias ? load_as_float(g.bias, col, g.bias_type) : 0.0F;
        store(g, row * g.ds.row + col * g.ds.col, apply_epilogue(e, acc, c, bias));
      });
}

/// bf16 with ties away from zero, as an addition of half a unit makes them.
void ties_away(const Run& run) {
  if (run.spec.contract.output != DType::bf16) return compute_honestly(run);
  with_own_store(run, [](const GemmArguments& g, std::int64_t at, float value) {
    const std::uint32_t bits = arithmetic::bits_of(value);
    if ((bits & 0xffffU) != 0x8000U) return store_rounded(g.d, at, g.output, value);
    static_cast<std::uint16_t*>(g.d)[at] = static_cast<std::uint16_t>((bits + 0x8000U) >> 16);
  });
}

/// fp16: beyond the largest number is Inf, also where it would round to that number.
void early_infinity(const Run& run) {
  if (run.spec.contract.output != DType::fp16) return compute_honestly(run);
  with_own_store(run, [](const GemmArguments& g, std::int64_t at, float value) {
    const bool beyond = std::fabs(value) > 65504.0F;
    store_rounded(g.d, at, g.output, beyond ? std::copysign(HUGE_VALF, value) : value);
  });
}

/// fp16: ties away from zero among subnormals.
void subnormal_ties_away(const Run& run) {
  if (run.spec.contract.output != DType::fp16) return compute_honestly(run);
  with_own_store(run, [](const GemmArguments& g, std::int64_t at, float value) {
    const float units = std::fabs(value) * 0x1p24F;
    if (!(units < 1024.0F)) return store_rounded(g.d, at, g.output, value);
    store_rounded(g.d, at, g.output, std::copysign(std::floor(units + 0.5F) * 0x1p-24F, value));
  });
}

/// Where C is NaN, its bits are those of D.
void keeps_nan_of_c(const Run& run) {
  compute_honestly(run);
  const GemmArguments g = flatten(run.spec, run.operands);
  if (g.epilogue.beta == 0.0F || g.c == g.d || g.c_type != DType::bf16 || g.output != DType::bf16 ||
      run.spec.activation != Activation::none) {
    return;
  }
  for_outputs(g, [&](std::int64_t row, std::int64_t col) {
    const auto bits = static_cast<const std::uint16_t*>(g.c)[row * g.cs.row + col * g.cs.col];
    if ((bits & 0x7fffU) <= 0x7f80U) return;
    static_cast<std::uint16_t*>(g.d)[row * g.ds.row + col * g.ds.col] = bits;
  });
}

void flushes_half_bias(const Run& run) {
  with_own_epilogue(run, [](GemmArguments g, std::int64_t row, std::int64_t col, float acc) {
    if (g.epilogue.has_bias && g.bias_type == DType::fp16 &&
        std::fabs(load_as_float(g.bias, col, g.bias_type)) < 0x1p-14F) {
      g.epilogue.has_bias = false;
    }
    finish_element(g, row, col, acc);
  });
}

/// alpha * acc first, and the scales of lines after it.
void scales_after_alpha(const Run& run) {
  if (!run.spec.line_scales || run.spec.alpha == 1.0F) return compute_honestly(run);
  GemmSpec plain = run.spec;
  plain.line_scales = false;
  const ScalePair scales = flatten_scales(run.spec, run.operands);
  with_own_epilogue({plain, run.options, run.operands, run.workspace},
                    [&](GemmArguments g, std::int64_t row, std::int64_t col, float acc) {
                      float v = arithmetic::mul_rn(g.epilogue.alpha, acc);
                      v = arithmetic::mul_rn(load_scale(scales.b, col, 0), v);
                      v = arithmetic::mul_rn(load_scale(scales.a, row, 0), v);
                      g.epilogue.alpha = 1.0F;
                      finish_element(g, row, col, v);
                    });
}

/// The scales of a transposed A are taken for those of its first row.
void first_rows_scales(const Run& run) {
  if (!run.spec.reads_scales() || run.spec.op_a == Op::none) return compute_honestly(run);
  Operands operands = run.operands;
  operands.scale_a.stride = 0;
  compute_honestly({run.spec, run.options, operands, run.workspace});
}

/// The workspace says how many rows the call before had, and they are taken for this one's.
void keep_rows(const Run& run) {
  constexpr std::int64_t kMark = 0x726f7773;
  std::int64_t kept[2];
  std::memcpy(kept, run.workspace.data, sizeof kept);
  const std::int64_t rows = run.operands.d.rows;
  const std::int64_t mine[2]{kMark, rows};
  std::memcpy(run.workspace.data, mine, sizeof mine);
  switch_if(kept[0] == kMark && kept[1] != rows, run);
}

constexpr std::array kStoredFaults{
    Planted{"ties_away", "ties of bf16 are rounded away from zero", "specials", kNarrowChain,
            ties_away},
    Planted{"early_infinity", "fp16: what rounds to 65,504 from above is Inf", "specials",
            kNarrowChain, early_infinity},
    Planted{"subnormal_ties_away", "ties of subnormal fp16 are rounded away from zero", "specials",
            kWideChain, subnormal_ties_away},
    Planted{"keeps_nan_of_c", "a NaN of C is stored as it is", "epilogue", kNarrowChain,
            keeps_nan_of_c},
    Planted{"flushes_half_bias", "a subnormal bias in fp16 is left out", "epilogue", kWideChain,
            flushes_half_bias},
    Planted{"minus_half", "an alpha of -0.5 is taken for 0.5", "epilogue", kNarrowChain,
            [](const Run& run) {
              GemmSpec spec = run.spec;
              if (spec.alpha == -0.5F) spec.alpha = 0.5F;
              compute_honestly({spec, run.options, run.operands, run.workspace});
            }},
    Planted{"residue_37", "a K of 37 modulo 64 means another order", "k_tails", kWideChain,
            [](const Run& run) { switch_if(run.spec.k % 64 == 37, run); }, true},
    Planted{"scales_after_alpha", "scales of lines multiply after alpha", "line_scales",
            kLineScales, scales_after_alpha},
    Planted{"first_rows_scales", "rows of a transposed A have the scales of the first one",
            "scales_rows", kScaledFma, first_rows_scales},
};

}  // namespace

std::span<const Planted> stored_faults() { return kStoredFaults; }

Fault keeps_rows() { return {"keeps_rows", keep_rows, nullptr, 2 * sizeof(std::int64_t)}; }

Fault combine_without_c() {
  Fault fault{"combine_without_c", compute_honestly};
  fault.combine_without_c = true;
  return fault;
}

}  // namespace detgemm::controls

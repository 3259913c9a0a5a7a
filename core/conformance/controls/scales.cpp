// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that take another scale than the contract's, or use it in another way.

namespace detgemm::controls {
namespace {

using arithmetic::add_rn;
using arithmetic::fma_rn;
using arithmetic::mul_rn;

constexpr std::string_view kScaled = "hopper/e4m3/scaled:64->fp32";
constexpr std::string_view kScaledFma = "ieee_fma/bf16/scaled:64->fp32";

/// What a fault knows of one leaf.
struct Leaf {
  const ScalePair& scales;
  std::int64_t row, col, index, count;
  bool is_short;
  float value;

  float scale() const { return scale_of_leaf(scales, row, col, index); }
};

/// The contract, with another join: `join(leaf, sum)` gives the next sum. Continues from `start`.
template <class Join>
void compute_joined(const Run& run, Join&& join) {
  if (!run.spec.reads_scales()) return compute_honestly(run);
  const ScalePair scales = flatten_scales(run.spec, run.operands);
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    const std::int64_t length = g.reduction.leaf_k;
    const std::int64_t count = run.spec.contract.leaves(g.k);
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      float sum = start_value(g, row, col);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t end = std::min(g.k, (i + 1) * length);
        const float value = step.chain(g, row, col, i * length, end, 0.0F);
        sum = join(Leaf{scales, row, col, i, count, end - i * length < length, value}, sum);
      }
      finish_element(g, row, col, arithmetic::canonical(sum));
    });
  });
}

void neighbours_leaf(const Run& run) {
  compute_joined(run, [](Leaf leaf, float sum) {
    leaf.index = leaf.index > 0 ? leaf.index - 1 : 0;
    return fma_rn(leaf.scale(), leaf.value, sum);
  });
}

void neighbours_row(const Run& run) {
  compute_joined(run, [](Leaf leaf, float sum) {
    leaf.row = leaf.row > 0 ? leaf.row - 1 : 0;
    return fma_rn(leaf.scale(), leaf.value, sum);
  });
}

void scaled_sum(const Run& run) {
  compute_joined(run,
                 [](const Leaf& leaf, float sum) { return fma_rn(leaf.scale(), sum, leaf.value); });
}

void multiply_and_add(const Run& run) {
  compute_joined(run, [](const Leaf& leaf, float sum) {
    return add_rn(sum, mul_rn(leaf.scale(), leaf.value));
  });
}

/// (sa * leaf) * sb: one rounding more, and none of sa * sb.
void one_scale_at_a_time(const Run& run) {
  compute_joined(run, [](const Leaf& leaf, float sum) {
    const float sa = load_scale(leaf.scales.a, leaf.row, leaf.index);
    return fma_rn(load_scale(leaf.scales.b, leaf.col, leaf.index), mul_rn(sa, leaf.value), sum);
  });
}

/// The scale after the last one, for a leaf that is short.
void past_the_end(const Run& run) {
  compute_joined(run, [](Leaf leaf, float sum) {
    if (leaf.is_short) ++leaf.index;
    return fma_rn(leaf.scale(), leaf.value, sum);
  });
}

/// The sum starts at +0, and C is added when it is finished.
void late_start(const Run& run) {
  if (!run.spec.reads_scales() || !run.spec.continue_from_c) return compute_honestly(run);
  const GemmArguments g = flatten(run.spec, run.operands);
  compute_joined(run, [&](const Leaf& leaf, float sum) {
    const float start = start_value(g, leaf.row, leaf.col);
    const float before = leaf.index == 0 ? 0.0F : sum;
    const float after = fma_rn(leaf.scale(), leaf.value, before);
    return leaf.index + 1 == leaf.count ? add_rn(start, after) : after;
  });
}

/// The finished sum, multiplied by what `multiply(scales, row, col, acc)` says.
template <class Multiply>
void compute_lines(const Run& run, Multiply&& multiply) {
  if (!run.spec.line_scales) return compute_honestly(run);
  const ScalePair scales = flatten_scales(run.spec, run.operands);
  with_own_epilogue(run,
                    [&](const GemmArguments& g, std::int64_t row, std::int64_t col, float acc) {
                      finish_element(g, row, col, multiply(scales, row, col, acc));
                    });
}

void row_scale_first(const Run& run) {
  compute_lines(run, [](const ScalePair& s, std::int64_t row, std::int64_t col, float acc) {
    return mul_rn(load_scale(s.b, col, 0), mul_rn(load_scale(s.a, row, 0), acc));
  });
}

void next_rows_scale(const Run& run) {
  compute_lines(run, [&](const ScalePair& s, std::int64_t row, std::int64_t col, float acc) {
    const std::int64_t next = row + 1 < run.operands.d.rows ? row + 1 : row;
    return scaled_by_lines(s, next, col, acc);
  });
}

/// One chain through all of K, each leaf's scale ignored where it is 1.
void one_chain(const Run& run) {
  if (!run.spec.reads_scales()) return compute_honestly(run);
  compute_with(run, {ReductionKind::chain, 0});
}

bool columns_of_d(const Run& run) {
  const Matrix& d = run.operands.d;
  return d.row_stride == 1 && d.rows > 1 && d.cols > 1;
}
void scaled_columns_of_d(const Run& run) {
  if (run.spec.reads_scales() && columns_of_d(run))
    return compute_with(run, another(run.spec.contract));
  compute_honestly(run);
}

constexpr std::array kScaleFaults{
    Planted{"scaled_chain", "leaves are one chain, as if no scale were between them", "scales_one",
            kScaled, one_chain},
    Planted{"late_start", "C is added after the leaves in place of before them", "scales_cut",
            kScaled, late_start},
    Planted{"scaled_sum", "the scale is applied to the sum in place of the leaf", "scales_zero",
            kScaled, scaled_sum},
    Planted{"scaled_sum", "the scale is applied to the sum in place of the leaf", "reference",
            kScaled, scaled_sum},
    Planted{"neighbours_row", "the scale is that of the row before", "scales_rows", kScaled,
            neighbours_row},
    Planted{"neighbours_leaf", "the scale is that of the leaf before", "scales_zero", kScaled,
            neighbours_leaf},
    Planted{"neighbours_leaf", "the scale is that of the leaf before", "reference", kScaled,
            neighbours_leaf},
    Planted{"unfused_scale", "a multiplication and an addition in place of one fma", "reference",
            kScaled, multiply_and_add},
    Planted{"unfused_scale_of_chains", "a multiplication and an addition in place of one fma",
            "reference", kScaledFma, multiply_and_add},
    Planted{"scale_by_scale", "the leaf is multiplied by one scale and then by the other",
            "reference", kScaled, one_scale_at_a_time},
    Planted{"row_scale_first", "a row's scale multiplies before the column's", "line_scales",
            kWideChain, row_scale_first},
    Planted{"next_rows_scale", "the scale is that of the next row", "line_scales",
            "hopper/e4m3/fold:64->bf16", next_rows_scale},
    Planted{"scaled_columns_of_d", "scales with a D by columns mean another order", "scales_one",
            kScaled, scaled_columns_of_d},
    Planted{"scaled_columns_of_d", "scales with a D by columns mean another order", "line_scales",
            kWideChain, scaled_columns_of_d},
    Planted{"scale_past_end", "a short last leaf takes the scale after the last one", "reference",
            kScaled, past_the_end},
};

}  // namespace

std::span<const Planted> scale_faults() { return kScaleFaults; }

}  // namespace detgemm::controls

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that keep the order and compute a wrong value.

namespace detgemm::controls {
namespace {

using arithmetic::add_rn;
using arithmetic::mul_rn;

float through_bf16(float value) {
  return arithmetic::to_float<DType::bf16>(arithmetic::to_bf16(value));
}

float bf16_tree(std::span<const float> roots) {
  if (roots.size() == 1) return roots[0];
  const std::size_t middle = roots.size() / 2;
  return through_bf16(add_rn(bf16_tree(roots.first(middle)), bf16_tree(roots.subspan(middle))));
}

/// The right tree with nodes in bf16, as a kernel that reduces its outputs has them.
void narrow_nodes(const Run& run) {
  if (run.spec.contract.reduction.kind != ReductionKind::tree || run.spec.k == 0) {
    return compute_honestly(run);
  }
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      std::vector<float> leaves;
      for (std::int64_t begin = 0; begin < g.k; begin += g.reduction.leaf_k) {
        const std::int64_t end = std::min(g.k, begin + g.reduction.leaf_k);
        leaves.push_back(step.chain(g, row, col, begin, end, 0.0F));
      }
      finish_element(g, row, col, arithmetic::canonical(bf16_tree(leaves)));
    });
  });
}

/// A loop over vectors of 8 that drops the remainder.
void whole_vectors_only(const Run& run) {
  with_step(run, [&](GemmArguments g, const ScalarStep& step) {
    if (g.k > 8) g.k -= g.k % 8;
    for_outputs(g, [&](std::int64_t row, std::int64_t col) { step.element(g, {}, row, col); });
  });
}

void round_inputs_to_tf32(const Run& run) {
  if (run.spec.contract.input != DType::fp32) return compute_honestly(run);
  compute_on_changed_inputs(run, [](std::uint32_t bits, DType) { return bits & 0xffffe000U; });
}

std::uint32_t flushed(std::uint32_t bits, DType type) {
  const std::uint32_t exponent = type == DType::bf16   ? 0x7f80U
                                 : type == DType::fp16 ? 0x7c00U
                                 : type == DType::e4m3 ? 0x78U
                                 : type == DType::e5m2 ? 0x7cU
                                                       : 0x7f800000U;
  return (bits & exponent) == 0 ? 0U : bits;
}

void flush_inputs(const Run& run) { compute_on_changed_inputs(run, flushed); }

/// A sum that starts from -0, or gets that sign afterwards.
void negative_zero(const Run& run) {
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const float acc = reduce_leaves(g.reduction, g.k, start_value(g, row, col),
                                      [&](std::int64_t begin, std::int64_t end, float start) {
                                        return step.chain(g, row, col, begin, end, start);
                                      });
      finish_element(g, row, col, acc == 0.0F ? -0.0F : acc);
    });
  });
}

/// alpha * acc fused into the addition of beta * C: what -ffp-contract=fast makes of it.
void fuse_the_epilogue(const Run& run) {
  if (run.spec.beta == 0.0F) return compute_honestly(run);
  with_own_epilogue(run, [&](GemmArguments g, std::int64_t row, std::int64_t col, float acc) {
    const float c = load_as_float(g.c, row * g.cs.row + col * g.cs.col, g.c_type);
    const float v = arithmetic::fma_rn(g.epilogue.alpha, acc, mul_rn(g.epilogue.beta, c));
    g.epilogue.alpha = 1.0F;
    g.epilogue.beta = 0.0F;
    finish_element(g, row, col, v);
  });
}

/// Adds beta * C even if beta is 0, so that a NaN in C becomes a NaN in D.
void read_c_always(const Run& run) {
  if (run.operands.c.data == nullptr || run.spec.continue_from_c) return compute_honestly(run);
  with_own_epilogue(run, [&](GemmArguments g, std::int64_t row, std::int64_t col, float acc) {
    const float c = load_as_float(g.c, row * g.cs.row + col * g.cs.col, g.c_type);
    const float v = add_rn(mul_rn(g.epilogue.alpha, acc), mul_rn(g.epilogue.beta, c));
    g.epilogue.alpha = 1.0F;
    g.epilogue.beta = 0.0F;
    finish_element(g, row, col, v);
  });
}

}  // namespace

Fault bf16_nodes() { return {"bf16_nodes", narrow_nodes}; }
Fault dropped_tail() { return {"dropped_tail", whole_vectors_only}; }
Fault tf32_inputs() { return {"tf32_inputs", round_inputs_to_tf32}; }
Fault flush_to_zero() { return {"flush_to_zero", flush_inputs}; }
Fault minus_zero() { return {"minus_zero", negative_zero}; }
Fault contracted_epilogue() { return {"contracted_epilogue", fuse_the_epilogue}; }
Fault reads_c() { return {"reads_c", read_c_always}; }

}  // namespace detgemm::controls

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

void add_epilogue(Case& c, Request& request) {
  constexpr std::array kinds{Activation::none, Activation::relu, Activation::gelu,
                             Activation::gelu_tanh, Activation::silu};
  constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
  GemmSpec& spec = request.spec;
  spec.alpha = c.random().one_in(2) ? 0.3F : -1.7F;
  // In turn, so that every activation meets the oracle; `none` falls on the draws that a narrow
  // output replaces by residues.
  const auto turn = static_cast<std::size_t>(c.index()) % kDistributions.size();
  spec.activation = kinds[turn % kinds.size()];
  if (c.random().one_in(2)) {
    spec.beta = 1.3F;
    request.c = draw_normal(c.random(), spec.contract.output, request.a.rows, request.b.cols);
  }
  if (c.random().one_in(2)) {
    spec.bias = c.random().pick(std::span<const DType>(types));
    request.bias = draw_normal(c.random(), *spec.bias, 1, request.b.cols);
  }
}

/// The same arithmetic with another LEAF, where the engine knows it: kernels switch with LEAF.
void other_leaf(Case& c) {
  constexpr std::array<std::int64_t, 5> leaves{128, 512, 256, 1024, 32};
  Contract contract = c.contract();
  if (contract.reduction.kind == ReductionKind::chain) return;
  const auto turn = static_cast<std::size_t>(c.index());
  if (turn >= leaves.size() || leaves[turn] == contract.reduction.leaf_k) return;
  const auto made = Contract::make(contract.arithmetic, contract.input,
                                   {contract.reduction.kind, leaves[turn]}, contract.output);
  if (!made) return;
  Shape shape{c.random().between(2, 4), c.random().between(3, 5), 0};
  shape.k = 3 * leaves[turn] + c.random().between(1, leaves[turn]);
  Request request = c.draw(shape, Distribution::residue);
  request.spec.contract = *made;
  if (!c.engine().supports(sized(request))) return;
  if (request.spec.reads_scales()) {
    request.scale_a =
        draw_scales(c.random(), ScaleValues::moderate, shape.m, made->leaves(shape.k));
    request.scale_b =
        draw_scales(c.random(), ScaleValues::moderate, shape.n, made->leaves(shape.k));
  }
  const auto got = c.run(request);
  if (!got) return;
  const auto expected = c.run_oracle(request);
  if (expected) c.same(expected->d, got->d, "the oracle, under " + made->text());
}

}  // namespace

/// Byte equality with the oracle on every kind of data, random bit patterns included.
void reference(Case& c) {
  if (!c.has_oracle()) return c.skip("there is no oracle to compare with");
  const auto round = c.index() / static_cast<std::int64_t>(kDistributions.size());
  auto kind = kDistributions[static_cast<std::size_t>(c.index()) % kDistributions.size()];
  // A narrow output hides how most sums were made, so residues replace every second draw of normal
  // data.
  const bool narrow = c.contract().output != DType::fp32;
  if (narrow && ((round > 1 && !c.full()) || (round == 1 && kind == Distribution::normal))) {
    kind = Distribution::residue;
  }
  Shape shape = c.draw_shape();
  if (kind == Distribution::bits || kind == Distribution::specials) {
    // The sums are short, since otherwise every output would be NaN.
    shape.k = c.random().between(1, std::min<std::int64_t>(shape.k, 48));
  }
  Request request = c.draw(shape, kind);
  // A bias would hide a residue.
  if (round % 2 == 1 && kind != Distribution::residue) add_epilogue(c, request);
  if (request.spec.reads_scales()) {
    const bool any = kind == Distribution::bits || kind == Distribution::specials;
    const ScaleValues values = any ? ScaleValues::bits : ScaleValues::moderate;
    const std::int64_t leaves = c.contract().leaves(shape.k);
    request.scale_a = draw_scales(c.random(), values, shape.m, leaves);
    request.scale_b = draw_scales(c.random(), values, shape.n, leaves);
    // Scales belong to lines of op(A) and op(B), not to those of memory.
    request.spec.op_a = c.random().one_in(2) ? Op::transpose : Op::none;
    request.spec.op_b = c.random().one_in(2) ? Op::transpose : Op::none;
    if (!c.engine().supports(sized(request))) request.spec.op_a = request.spec.op_b = Op::none;
  }
  const auto got = c.run(request);
  if (!got) return;
  const auto expected = c.run_oracle(request);
  if (!expected) return;
  if (!c.same(expected->d, got->d, "the oracle")) return;
  c.check_order_matters(request, got->d);
  other_leaf(c);
}

}  // namespace detgemm::conformance

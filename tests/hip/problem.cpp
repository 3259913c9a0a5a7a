// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/problem.hpp"

#include <algorithm>
#include <array>

#include "core/arithmetic/snap.hpp"

namespace detgemm::test {
namespace {

using conformance::Layout;
using conformance::Random;
using conformance::Request;

template <class T, std::size_t N>
T pick(Random& random, const std::array<T, N>& list) {
  return random.pick(std::span<const T>(list));
}

/// An extent next to a multiple of the sizes that tiles consist of.
std::int64_t extent(Random& random) {
  constexpr std::array<std::int64_t, 8> units{1, 4, 16, 32, 64, 128, 256, 300};
  constexpr std::array<std::int64_t, 6> off{0, 0, 0, 1, 4, -1};
  return std::max<std::int64_t>(1, pick(random, units) + pick(random, off));
}

std::int64_t depth(Random& random, std::int64_t max_k) {
  if (random.one_in(25)) return 0;
  constexpr std::array<std::int64_t, 7> units{8, 16, 32, 64, 128, 256, 520};
  constexpr std::array<std::int64_t, 6> off{0, 0, 8, 1, -1, 4};
  const std::int64_t k = pick(random, units) * random.between(1, 3) + pick(random, off);
  return std::max<std::int64_t>(1, std::min(k, max_k));
}

Layout layout(Random& random) {
  Layout l;
  l.col_major = random.one_in(2);
  if (random.one_in(2)) return l;
  constexpr std::array<std::int64_t, 6> paddings{0, 1, 3, 4, 8, 16};
  constexpr std::array<std::int64_t, 6> offsets{0, 0, 1, 4, 8, 5};
  l.ld_padding = pick(random, paddings);
  l.offset = pick(random, offsets);
  return l;
}

/// Lines of `line` elements of 2 bytes in aligned chunks of 16 bytes, or an odd address.
Layout suited_layout(Random& random, Suited::Line where, Op op, Op along_lines, std::int64_t line) {
  if (where == Suited::Line::drawn) return layout(random);
  Layout l;
  if (where == Suited::Line::nowhere) {
    l = layout(random);
    l.offset = 1 + 2 * random.between(0, 3);
    return l;
  }
  l.col_major = (op == along_lines) != (where == Suited::Line::mn);
  l.ld_padding = (8 - line % 8) % 8 + 8 * random.between(0, 2);
  l.offset = 8 * random.between(0, 2);
  return l;
}

/// From 2 leaves on, within `max_k` where that holds two.
std::int64_t depth_of_parts(Random& random, ReductionKind kind, std::int64_t leaf,
                            std::int64_t max_k) {
  const std::int64_t most = kind == ReductionKind::fold ? 31 : 40;
  const std::int64_t leaves = random.between(2, std::clamp<std::int64_t>(max_k / leaf, 2, most));
  return (leaves - 1) * leaf + random.between(1, leaf);
}

/// Sums of ranks, whose number divides the leaves of K.
void add_roots(Random& random, Request& request) {
  const std::int64_t leaf = request.spec.contract.reduction.leaf_k;
  const std::int64_t count = std::int64_t{2} << (random.one_in(6) ? random.between(0, 4) : 5);
  const std::int64_t k = count * leaf * random.between(1, 2) - random.between(0, leaf - 1);
  request.a = conformance::Elements(request.a.dtype, request.a.rows, k);
  request.b = conformance::Elements(request.b.dtype, k, request.b.cols);
  const auto kinds = std::span<const conformance::Distribution>(conformance::kDistributions);
  const conformance::Distribution drawn = random.pick(kinds);
  for (std::int64_t i = 0; i < count; ++i) {
    request.roots.push_back(
        conformance::draw_pair(random, drawn, DType::fp32, request.a.rows, 1, request.b.cols).a);
  }
}

void add_epilogue(Random& random, Request& request) {
  constexpr std::array activations{Activation::none, Activation::relu, Activation::gelu,
                                   Activation::gelu_tanh, Activation::silu};
  constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
  GemmSpec& spec = request.spec;
  const std::int64_t m = request.a.rows;
  const std::int64_t n = request.b.cols;
  if (spec.contract.reduction.kind != ReductionKind::tree && random.one_in(4)) {
    spec.continue_from_c = true;
    request.c = conformance::draw_normal(random, DType::fp32, m, n);
    return;
  }
  if (random.one_in(2)) return;
  spec.alpha = random.one_in(2) ? 0.3F : -1.7F;
  spec.activation = pick(random, activations);
  if (random.one_in(2)) {
    spec.beta = 1.3F;
    request.c = conformance::draw_normal(random, spec.contract.output, m, n);
    request.in_place = random.one_in(2);
  }
  if (random.one_in(2)) {
    spec.bias = pick(random, types);
    request.bias = conformance::draw_normal(random, *spec.bias, 1, n);
  }
}

/// Snaps the `lines` vectors of k numbers that a product's operand consists of.
void snap_operand(conformance::Elements& operand, std::int64_t lines, std::int64_t line_stride,
                  std::int64_t k, std::int64_t k_stride, std::int64_t leaf) {
  auto* const data = reinterpret_cast<std::uint16_t*>(operand.bytes.data());
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t begin = 0; begin < k; begin += leaf) {
      std::uint16_t* const first = data + line * line_stride + begin * k_stride;
      arithmetic::snap_leaf(
          std::min(leaf, k - begin), [&](std::int64_t i) { return first[i * k_stride]; },
          [&](std::int64_t i, std::uint16_t bits) { first[i * k_stride] = bits; });
    }
  }
}

/// Promises of `snap` that are kept.
void promise(Random& random, Request& request, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t leaf = request.spec.contract.reduction.leaf_k;
  request.spec.a_snapped = random.one_in(3);
  request.spec.b_snapped = random.one_in(3);
  if (request.spec.a_snapped) snap_operand(request.a, m, k, k, 1, leaf);
  if (request.spec.b_snapped) snap_operand(request.b, n, 1, k, n, leaf);
}

}  // namespace

Request draw_problem(Random& random, Arithmetic arithmetic, DType input, ReductionKind kind,
                     std::int64_t max_products, const Suited& suited) {
  using Line = Suited::Line;
  const std::int64_t block = *k_block_of(arithmetic, input);
  constexpr std::array<std::int64_t, 7> blocks{1, 2, 3, 4, 8, 16, 32};
  constexpr std::array outputs{DType::bf16, DType::fp16, DType::fp32};
  std::int64_t leaf =
      kind == ReductionKind::chain
          ? 0
          : std::max<std::int64_t>(
                block, pick(random, blocks) * (arithmetic == Arithmetic::ieee_fma ? 8 : block));
  if (suited.a == Line::k || suited.b == Line::k) leaf = (leaf + 7) / 8 * 8;
  if (suited.stages && leaf != 0) leaf = 64 * (random.one_in(3) ? random.between(2, 4) : 1);
  Request request;
  request.spec.contract = *Contract::make(arithmetic, input, {kind, leaf}, pick(random, outputs));
  std::int64_t m = extent(random);
  std::int64_t n = extent(random);
  const std::int64_t max_k = std::max<std::int64_t>(1, max_products / (m * n));
  const std::int64_t k =
      suited.parts ? depth_of_parts(random, kind, leaf, max_k) : depth(random, max_k);
  if (random.one_in(3)) (random.one_in(2) ? m : n) = random.between(1, 20);
  if (suited.a == Line::mn) m = (m + 3) / 4 * 4;
  if (suited.b == Line::mn) n = (n + 3) / 4 * 4;
  request.spec.op_a = random.one_in(2) ? Op::transpose : Op::none;
  request.spec.op_b = random.one_in(2) ? Op::transpose : Op::none;
  const auto kinds = std::span<const conformance::Distribution>(conformance::kDistributions);
  auto pair = conformance::draw_pair(random, random.pick(kinds), input, m, n, k);
  request.a = std::move(pair.a);
  request.b = std::move(pair.b);
  if (arithmetic == Arithmetic::snap) promise(random, request, m, n, k);
  if (suited.roots) add_roots(random, request);
  request.a_layout = suited_layout(random, suited.a, request.spec.op_a, Op::transpose,
                                   suited.a == Line::k ? k : m);
  request.b_layout =
      suited_layout(random, suited.b, request.spec.op_b, Op::none, suited.b == Line::k ? k : n);
  request.d_layout = layout(random);
  add_epilogue(random, request);
  request.c_layout = request.in_place ? request.d_layout : layout(random);
  if (random.one_in(3)) request.options.max_workers = static_cast<int>(random.between(1, 8));
  return request;
}

std::string text(const Request& request) {
  const auto of = [](const char* name, const Layout& l) {
    return std::string(name) + (l.col_major ? " columns" : " rows") + " +" +
           std::to_string(l.ld_padding) + " @" + std::to_string(l.offset) + ", ";
  };
  const GemmSpec& s = request.spec;
  return s.contract.text() + " m=" + std::to_string(request.a.rows) +
         " n=" + std::to_string(request.b.cols) + " k=" + std::to_string(request.a.cols) + ", A " +
         std::string(name(s.op_a)) + ", B " + std::string(name(s.op_b)) + ", " +
         of("A", request.a_layout) + of("B", request.b_layout) + of("D", request.d_layout) +
         "alpha " + std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) +
         (s.bias ? ", bias" : "") + ", " + std::string(name(s.activation)) +
         (s.continue_from_c ? ", continued" : "") + (s.a_snapped ? ", A snapped" : "") +
         (s.b_snapped ? ", B snapped" : "") + ", workers " +
         std::to_string(request.options.max_workers);
}

}  // namespace detgemm::test

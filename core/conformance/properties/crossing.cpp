// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/crossing.hpp"

#include <algorithm>
#include <cmath>

#include "core/conformance/format.hpp"

namespace detgemm::conformance {
namespace {

// An address modulo 256: aligned, 128, not aligned to 16 bytes, 32 modulo 64, another multiple of
// 16. At the full level the multiples of 16 have a level each.
constexpr int kAddresses = 5;
constexpr int kAllAddresses = 17;
constexpr std::int64_t kLongLine = 4096;
constexpr std::int64_t kMaxLongLines = 24;

/// How many levels a factor has.
constexpr int levels_of(Factor factor, Level depth) {
  switch (factor) {
    case Factor::shape:
    case Factor::padding_a:
    case Factor::padding_b:
    case Factor::padding_d:
    case Factor::bias:
      return 4;
    case Factor::length:
    case Factor::padding_c:
    case Factor::alpha:
    case Factor::stable:
      return 3;
    case Factor::address_a:
    case Factor::address_b:
    case Factor::address_c:
    case Factor::address_d:
    case Factor::address_bias:
      return depth == Level::full ? kAllAddresses : kAddresses;
    case Factor::c_use:
      return 7;
    case Factor::activation:
      return 5;
    case Factor::op_a:
    case Factor::op_b:
    case Factor::order_a:
    case Factor::order_b:
    case Factor::order_c:
    case Factor::order_d:
    case Factor::data:
    case Factor::at_front:
      return 2;
  }
  return 1;
}

std::array<int, kFactors> levels_at(Level depth) {
  std::array<int, kFactors> levels{};
  for (std::size_t i = 0; i < kFactors; ++i) levels[i] = levels_of(static_cast<Factor>(i), depth);
  return levels;
}

constexpr std::array kBiasTypes{DType::bf16, DType::fp16, DType::fp32};

std::string layout_text(const Layout& layout) {
  std::string text = layout.col_major ? "columns" : "rows";
  if (layout.ld_padding != 0) text += "+" + std::to_string(layout.ld_padding);
  if (layout.offset != 0) text += "@" + std::to_string(layout.offset);
  return text;
}

}  // namespace

const std::vector<LevelRow>& crossing(Level level) {
  static const std::vector<LevelRow> quick = covering_rows(levels_at(Level::quick));
  if (level == Level::quick) return quick;
  static const std::vector<LevelRow> full = covering_rows(levels_at(Level::full));
  return full;
}

Crossed::Crossed(Case& c, const LevelRow& row) : depth_(c.full() ? Level::full : Level::quick) {
  const auto counts = levels_at(depth_);
  const auto turn = static_cast<std::int64_t>(c.contract().digest() % 1009);
  for (std::size_t i = 0; i < kFactors; ++i) {
    levels_[i] = static_cast<int>((row[i] + turn) % counts[i]);
  }
  const auto special = [&] {
    return c.random().pick(std::span<const float>(kSpecialScalars).first(5));
  };
  constexpr std::array alphas{1.0F, 0.3F, -1.7F};
  alpha_ = alphas[static_cast<std::size_t>(level(Factor::alpha))];
  if (alpha_ != 1.0F && c.random().one_in(3)) alpha_ = special();
  if (c.random().one_in(3)) beta_ = special();
  if (c.random().one_in(12)) alpha_ = c.random().one_in(2) ? 0.0F : -0.0F;
  const auto plain_if = [&](Factor factor, bool wrong) {
    if (wrong) levels_[static_cast<std::size_t>(factor)] = 0;
  };
  // A tree does not continue, and only an fp32 output can be the C that it starts from.
  const Contract& contract = c.contract();
  plain_if(Factor::c_use, starts_from_c() && contract.reduction.kind == ReductionKind::tree);
  plain_if(Factor::c_use, c_use() == CUse::start_in_place && contract.output != DType::fp32);
  GemmSpec all;
  all.n = 8;
  all.k = 64;
  all.contract = contract;
  set_spec(all);
  if (c.engine().supports(all)) return;
  for (const Factor factor : {Factor::op_a, Factor::op_b, Factor::alpha, Factor::c_use,
                              Factor::bias, Factor::activation}) {
    const Status one = c.engine().supports(alone(contract, factor));
    if (!one) c.note(one);
    plain_if(factor, !one.ok());
    if (factor == Factor::alpha && !one) alpha_ = 1.0F;
  }
}

GemmSpec Crossed::alone(const Contract& contract, Factor factor) const {
  Crossed one = *this;
  for (const Factor other : {Factor::op_a, Factor::op_b, Factor::alpha, Factor::c_use, Factor::bias,
                             Factor::activation}) {
    if (other != factor) one.levels_[static_cast<std::size_t>(other)] = 0;
  }
  if (factor != Factor::alpha) one.alpha_ = 1.0F;
  GemmSpec spec;
  spec.n = 8;
  spec.k = 64;
  spec.contract = contract;
  one.set_spec(spec);
  return spec;
}

float Crossed::beta() const {
  switch (c_use()) {
    case CUse::beta_one:
      return 1.0F;
    case CUse::beta:
    case CUse::beta_in_place:
      return beta_;
    default:
      return 0.0F;
  }
}

void Crossed::set_spec(GemmSpec& spec) const {
  spec.op_a = static_cast<Op>(level(Factor::op_a));
  spec.op_b = static_cast<Op>(level(Factor::op_b));
  spec.alpha = alpha();
  spec.beta = beta();
  if (const int bias = level(Factor::bias); bias != 0) {
    spec.bias = kBiasTypes[static_cast<std::size_t>(bias - 1)];
  }
  spec.activation = static_cast<Activation>(level(Factor::activation));
  spec.continue_from_c = starts_from_c();
}

Layout Crossed::layout(Case& c, Factor order, Factor padding, Factor address, std::int64_t extent,
                       std::int64_t lines, std::size_t size) const {
  Layout layout;
  layout.col_major = level(order) == 1;
  layout.at_front = level(Factor::at_front) == 1;
  if (layout.col_major) std::swap(extent, lines);
  const auto chunk = static_cast<std::int64_t>(16 / size);
  const std::int64_t whole = (extent + chunk - 1) / chunk * chunk - extent;
  switch (level(padding)) {
    case 1:
      layout.ld_padding = 2 * c.random().between(0, 4) + 1;
      break;
    case 2:
      layout.ld_padding = whole + chunk * c.random().between(1, 3);
      break;
    case 3:
      layout.ld_padding = lines <= kMaxLongLines && extent < kLongLine
                              ? kLongLine - extent + chunk * c.random().below(3)
                              : whole + chunk;
      break;
    default:
      break;
  }
  if (depth_ == Level::full) {
    const int at = level(address);
    layout.offset = at == kAllAddresses - 1 ? 2 * c.random().between(0, 3) + 1 : at * chunk;
    return layout;
  }
  const auto turn = c.random().below(4);
  switch (level(address)) {
    case 1:
      layout.offset = 8 * chunk;
      break;
    case 2:
      layout.offset = 2 * c.random().between(0, 3) + 1;
      break;
    case 3:
      layout.offset = (2 + 4 * turn) * chunk;
      break;
    case 4:
      layout.offset =
          (turn == 0 ? 4 + 8 * c.random().below(2) : 2 * c.random().below(8) + 1) * chunk;
      break;
    default:
      break;
  }
  return layout;
}

void Crossed::apply(Case& c, Request& request) const {
  set_spec(request.spec);
  const std::int64_t m = request.a.rows;
  const std::int64_t n = request.b.cols;
  const std::int64_t k = request.a.cols;
  const bool ta = request.spec.op_a == Op::transpose;
  const bool tb = request.spec.op_b == Op::transpose;
  const std::size_t in = request.a.element_size();
  const std::size_t out = size_of(request.spec.contract.output);
  request.a_layout =
      layout(c, Factor::order_a, Factor::padding_a, Factor::address_a, ta ? m : k, ta ? k : m, in);
  request.b_layout =
      layout(c, Factor::order_b, Factor::padding_b, Factor::address_b, tb ? k : n, tb ? n : k, in);
  request.c_layout = layout(c, Factor::order_c, Factor::padding_c, Factor::address_c, n, m,
                            starts_from_c() ? size_of(DType::fp32) : out);
  request.d_layout = layout(c, Factor::order_d, Factor::padding_d, Factor::address_d, n, m, out);
  request.bias_layout.at_front = request.a_layout.at_front;
  if (request.spec.bias) {
    const Layout bias = layout(c, Factor::order_d, Factor::padding_d, Factor::address_bias, n, 1,
                               size_of(*request.spec.bias));
    request.bias_layout.offset = bias.offset;
  }
  request.in_place = in_place();
  request.options.stable = static_cast<Stable>(level(Factor::stable));
}

Shape Crossed::draw_shape(Case& c) const {
  const std::int64_t products = c.full() ? 24'000 : 4'000;
  const std::int64_t limit = c.full() ? 400 : 150;
  Shape shape;
  switch (level(Factor::length)) {
    case 0:
      shape.k = c.stretch() + c.random().between(-2, 2);
      break;
    case 1:
      shape.k = c.stretch() * c.random().between(2, 4) + c.random().below(c.stretch());
      break;
    default:
      shape.k = c.random().between(products / 8, products / 4);
      break;
  }
  // Within a step no order shows.
  if (c.random().one_in(12)) shape.k = c.random().between(1, c.contract().k_block + 3);
  const std::int64_t outputs = std::clamp<std::int64_t>(products / shape.k, 9, limit);
  if (level(Factor::shape) == 3) {  // the path of kernels that need no bounds
    const std::int64_t tile = c.random().one_in(2) ? 16 : 32;
    shape.k = std::clamp<std::int64_t>((shape.k + tile - 1) / tile * tile, tile, 8 * tile);
    shape.m = tile * c.random().between(1, c.full() ? 2 : 1);
    shape.n = tile * c.random().between(1, 2);
    return shape;
  }
  switch (level(Factor::shape)) {
    case 0:
      shape.m = c.random().one_in(8) ? 1 : c.random().between(2, 4);
      shape.n = std::max<std::int64_t>(outputs / shape.m, 2);
      break;
    case 1:
      shape.n = c.random().one_in(8) ? 1 : c.random().between(2, 4);
      shape.m = std::max<std::int64_t>(outputs / shape.n, 2);
      break;
    default:
      shape.m = c.random().between(2, 2 + outputs / 8);
      shape.n = std::max<std::int64_t>(outputs / shape.m, 2);
      break;
  }
  return shape;
}

Request plain(const Request& request) {
  Request one = request;
  one.spec.op_a = one.spec.op_b = Op::none;
  one.options = {};
  one.a_layout = one.b_layout = one.c_layout = one.d_layout = one.bias_layout = {};
  one.in_place = one.b_is_a = false;
  return one;
}

std::string describe(const Request& request) {
  const GemmSpec& spec = request.spec;
  std::string text = std::string(spec.op_a == Op::transpose ? "T" : "N") +
                     (spec.op_b == Op::transpose ? "T" : "N") + ", A " +
                     layout_text(request.a_layout);
  text += request.b_is_a ? ", B is A" : ", B " + layout_text(request.b_layout);
  text += ", D " + layout_text(request.d_layout);
  if (spec.alpha != 1.0F || std::signbit(spec.alpha))
    text += ", alpha " + decimal(static_cast<double>(spec.alpha));
  if (spec.reads_c()) {
    text += spec.continue_from_c ? ", continues from C"
                                 : ", beta " + decimal(static_cast<double>(spec.beta)) + " C";
    text += request.in_place ? " in place" : " " + layout_text(request.c_layout);
  }
  if (spec.bias) {
    text += ", bias " + std::string(name(*spec.bias));
    if (request.bias_layout.offset != 0) text += "@" + std::to_string(request.bias_layout.offset);
  }
  if (spec.activation != Activation::none) text += ", " + std::string(name(spec.activation));
  if (request.options.stable != Stable::none) {
    text += ", stable " + std::string(name(request.options.stable));
  }
  return text;
}

}  // namespace detgemm::conformance

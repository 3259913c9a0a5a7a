// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Gradients of experts' weights: groups are segments of the products.

#include <algorithm>
#include <numeric>

#include "core/conformance/properties/experts.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

Elements rows_of_zeros(DType type, std::int64_t rows, std::int64_t cols) {
  return Elements(type, rows, cols);
}

void append(Elements& below, const Elements& part) {
  below.bytes.insert(below.bytes.end(), part.bytes.begin(), part.bytes.end());
  below.rows += part.rows;
}

/// Segments of products in the making: A^T and B, and where groups end.
struct Products {
  Elements a, b;  // a holds A's columns as rows
  std::vector<std::int64_t> ends;

  Products(const Request& like)
      : a(like.a.dtype, 0, like.a.rows), b(like.b.dtype, 0, like.b.cols) {}
  void add(const Request& from, std::int64_t begin, std::int64_t end) {
    append(a, transposed(col_slice(from.a, begin, end)));
    append(b, row_slice(from.b, begin, end));
  }
  void add_zeros(std::int64_t count) {
    append(a, rows_of_zeros(a.dtype, count, a.cols));
    append(b, rows_of_zeros(b.dtype, count, b.cols));
  }
  void end_group() { ends.push_back(a.rows); }

  GroupedRequest request(Case& c) const {
    GroupedRequest r;
    r.spec.gemm.contract = c.contract();
    r.spec.gemm.op_a = Op::transpose;
    r.spec.kind = GroupKind::k_grouped;
    r.a = transposed(a);
    r.b = b;
    r.offsets = ends;
    r.type = c.random().one_in(2) ? OffsetType::i32 : OffsetType::i64;
    draw_operations(c, r.spec);
    draw_layouts(c.random(), r);
    return r;
  }
};

/// A step of zeros changes no accumulator that these data give, except one that is subnormal, which
/// cdna2 flushes.
bool zeros_change_nothing(const Contract& contract) {
  return contract.arithmetic != Arithmetic::cdna2;
}

/// What the engine can do after the accumulator of segments that continue: alpha, and a bias.
GemmSpec last_of_parts(Case& c) {
  GroupedSpec spec;
  spec.gemm.contract = c.contract();
  spec.gemm.n = 8;
  spec.gemm.op_a = Op::transpose;
  spec.gemm.continue_from_c = true;
  spec.kind = GroupKind::k_grouped;
  spec.groups = 2;
  const auto if_computed = [&](auto&& change) {
    GroupedSpec changed = spec;
    change(changed.gemm);
    GemmSpec alone = changed.gemm;
    alone.continue_from_c = false;
    if (c.engine().supports_grouped(changed) && c.engine().supports(alone)) spec = changed;
  };
  if_computed([](GemmSpec& s) { s.alpha = -1.7F; });
  if_computed([](GemmSpec& s) { s.bias = DType::fp32; });
  return spec.gemm;
}

/// The groups of `products`, of which group 2 alone has any, with C and a bias each.
void with_addends(Case& c, const Products& products, const Request& full, const Request& none) {
  GroupedRequest request = products.request(c);
  GemmSpec& spec = request.spec.gemm;
  spec.beta = 0.7F;
  spec.bias = DType::fp32;
  GroupedSpec sized_spec = request.spec;
  sized_spec.gemm.n = 8;
  sized_spec.groups = 2;
  if (!c.engine().supports_grouped(sized_spec)) {
    spec.bias.reset();
    sized_spec.gemm.bias.reset();
  }
  if (!c.engine().supports_grouped(sized_spec)) return;
  const DType output = c.contract().output;
  const std::int64_t m = full.a.rows, n = full.b.cols;
  Elements expected(output, 0, n);
  request.c = Elements(output, 0, n);
  if (spec.bias) request.bias = Elements(DType::fp32, 0, n);
  for (std::size_t g = 0; g < products.ends.size(); ++g) {
    Request alone = g == 2 ? full : none;
    alone.spec.beta = spec.beta;
    alone.spec.bias = spec.bias;
    alone.c = draw_normal(c.random(), output, m, n);
    append(request.c, alone.c);
    if (spec.bias) {
      alone.bias = draw_normal(c.random(), DType::fp32, 1, n);
      append(request.bias, alone.bias);
    }
    const auto part = c.run(alone);
    if (!part) return;
    append(expected, part->d);
  }
  const auto got = c.run(request);
  if (got) c.same(expected, got->d, "groups without products, with C and a bias");
}

}  // namespace

/// K of each group, continued over micro-batches that are cut at steps (chain) or leaves (fold)
/// from the group's first product, with steps or leaves of zeros between them: the bits of each
/// group's uncut product.
///
///   group         0                1           a product, z a step or leaf of zeros
///   call 1        a a | a a z z    b b         every group continues its D
///   call 2        a a              (none)
///   call 3        a                b b | b
void group_cuts(Case& c) {
  const Contract& contract = c.contract();
  if (contract.reduction.kind == ReductionKind::tree) {
    return c.skip("a tree does not continue: its shape depends on the whole of K");
  }
  if (!computes_groups(c, GroupKind::k_grouped, true)) return;
  const bool fold = contract.reduction.kind == ReductionKind::fold;
  const std::int64_t unit = fold ? contract.reduction.leaf_k : contract.k_block;
  // In every second case segments have whole tiles, as those of padded samples have.
  const std::int64_t step = c.index() % 2 == 1 ? std::lcm(unit, std::int64_t{16}) : unit;
  // In the others D's columns hold the rows of all groups, which begin off 16 bytes.
  const bool in_columns = c.index() % 2 == 0;
  const std::int64_t m = c.random().between(2, 6) | (in_columns ? 1 : 0);
  const std::int64_t n = c.random().between(2, 7);
  constexpr int kCalls = 3;
  const std::size_t count = c.full() ? 7 : 3;
  const GemmSpec last_part = last_of_parts(c);
  std::vector<Request> groups;
  Elements whole(contract.output, 0, n), biases(DType::fp32, 0, n);
  for (std::size_t g = 0; g < count; ++g) {
    const std::int64_t few = std::max<std::int64_t>(5, 2 * c.stretch() / unit);
    const std::int64_t units = c.full() && g == 0 ? 6 * few : few;
    // One group has many products, whatever the unit is.
    const std::int64_t longest = std::max<std::int64_t>(units * unit, g == 1 ? 1500 : 0);
    const std::int64_t k = c.random().between(2 * unit + 1, longest);
    Request request = c.draw({m, n, step == unit ? k : (k + step - 1) / step * step});
    request.spec = last_part;
    request.spec.continue_from_c = false;
    request.spec.op_a = Op::transpose;
    if (last_part.bias) {
      request.bias = draw_normal(c.random(), DType::fp32, 1, n, 0x1p-8);
      append(biases, request.bias);
    }
    const auto alone = c.run(request);
    if (!alone) return;
    append(whole, alone->d);
    if (g == 0) c.check_order_matters(request, alone->d);
    groups.push_back(std::move(request));
  }
  std::vector<std::int64_t> done(count, 0);
  // +0, from which an uncut product starts
  Elements sum(DType::fp32, static_cast<std::int64_t>(count) * m, n);
  for (int call = 0; call < kCalls; ++call) {
    const bool last = call + 1 == kCalls;
    Products x(groups.front());
    for (std::size_t g = 0; g < count; ++g) {
      const std::int64_t k = groups[g].a.cols;
      const std::int64_t left = (k - done[g] + step - 1) / step;
      const std::int64_t end = last ? k : std::min(k, done[g] + c.random().between(0, left) * step);
      x.add(groups[g], done[g], end);
      done[g] = end;
      if (end < k && zeros_change_nothing(contract)) x.add_zeros(step * c.random().below(3));
      x.end_group();
    }
    GroupedRequest request = x.request(c);
    request.options = groups.front().options;
    if (in_columns) {
      request.d_layout.side_by_side = false;
      request.d_layout.layout.col_major = true;
      request.d_layout.layout.ld_padding = 0;
    }
    GemmSpec& spec = request.spec.gemm;
    spec.contract = last ? contract : c.with_output(DType::fp32);
    spec.continue_from_c = true;
    if (last) {  // it alone has the epilogue
      spec.alpha = last_part.alpha;
      spec.bias = last_part.bias;
      request.bias = biases;
    }
    request.c = sum;
    request.in_place = request.spec.gemm.contract.output == DType::fp32 && c.random().one_in(2);
    const auto output = c.run(request);
    if (!output) return;
    sum = output->d;
  }
  c.same(whole, sum,
         std::to_string(kCalls) + " micro-batches of " + std::to_string(count) + " groups");
}

/// Groups without rows write nothing, and groups without products give what K = 0 gives.
void group_empty(Case& c) {
  if (!computes_groups(c, GroupKind::m_grouped)) return;
  const auto experts = draw_experts(c, 3);
  if (!experts) return;
  Arrangement x;
  x.groups = {{0, {}}, {1, {}}, {0, {}}};
  x.spare = 5;  // of no group: must stay as they are
  if (!same_rows(c, *experts, x, "groups without rows")) return;
  x.groups = {{0, {}}, whole_group(*experts, 0), {1, {}}, whole_group(*experts, 1), {0, {}}};
  if (!same_rows(c, *experts, x, "groups without rows between others")) return;
  // Without segments of K the evidence is the NaN in rows of no group: a read would show.
  if (!computes_groups(c, GroupKind::k_grouped)) return c.count_discriminating();
  const std::int64_t m = 3, n = 4;
  Request full = c.draw({m, n, c.stretch() + 3});
  full.spec.op_a = Op::transpose;
  Request none = full;
  none.a = col_slice(full.a, 0, 0);
  none.b = row_slice(full.b, 0, 0);
  const auto something = c.run(full);
  const auto nothing = c.run(none);
  if (!something || !nothing) return;
  Products products(full);
  Elements expected(c.contract().output, 0, n);
  for (int g = 0; g < 4; ++g) {
    const bool empty = g != 2;
    if (!empty) products.add(full, 0, full.a.cols);
    products.end_group();
    append(expected, empty ? nothing->d : something->d);
  }
  const auto got = c.run(products.request(c));
  if (!got || !c.same(expected, got->d, "groups without products")) return;
  c.count_discriminating();  // D was filled with NaN
  with_addends(c, products, full, none);
}

}  // namespace detgemm::conformance

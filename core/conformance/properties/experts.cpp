// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/experts.hpp"

#include <algorithm>
#include <numeric>

namespace detgemm::conformance {
namespace {

/// Rows that must not matter: numbers, or NaN in every format.
Elements noise(Case& c, DType type, std::int64_t rows, std::int64_t cols) {
  if (c.random().one_in(2)) return draw_normal(c.random(), type, rows, cols);
  Elements e(type, rows, cols);
  std::fill(e.bytes.begin(), e.bytes.end(), std::uint8_t{0xff});
  return e;
}

/// Whether the engine adds C to groups and to single products.
bool computes_addends(Case& c) {
  GroupedSpec spec;
  spec.gemm.contract = c.contract();
  spec.gemm.n = 8;
  spec.gemm.k = 64;
  spec.gemm.beta = kBetaOfC;
  spec.groups = 2;
  for (const GroupKind kind : {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked}) {
    spec.kind = kind;
    if (!c.engine().supports_grouped(spec)) return false;
  }
  return c.engine().supports(spec.gemm).ok();
}

}  // namespace

bool computes_groups(Case& c, GroupKind kind, bool continues) {
  const ReductionKind reduction = c.contract().reduction.kind;
  if (reduction != ReductionKind::chain && reduction != ReductionKind::fold &&
      reduction != ReductionKind::tree) {
    c.skip("operands other than A and B are not drawn for groups");
    return false;
  }
  GroupedSpec spec;
  spec.gemm.contract = continues ? c.with_output(DType::fp32) : c.contract();
  spec.gemm.n = 8;
  spec.gemm.k = kind == GroupKind::k_grouped ? 0 : 64;
  spec.gemm.op_a = kind == GroupKind::k_grouped ? Op::transpose : Op::none;
  spec.gemm.continue_from_c = continues;
  spec.kind = kind;
  spec.groups = 2;
  const Status s = c.engine().supports_grouped(spec);
  if (!s) c.skip(s.message());
  return s.ok();
}

std::optional<std::vector<Expert>> draw_experts(Case& c, std::size_t count) {
  // Every third case has groups of whole tiles, which kernels load and store in other ways.
  const bool tiles = c.index() % 3 == 2;
  const std::int64_t n =
      tiles ? c.random().between(65, 96) : c.random().between(2, c.full() ? 70 : 9);
  const std::int64_t k =
      c.random().between(c.stretch() + 1, c.stretch() * (tiles ? 2 : (c.full() ? 8 : 3)));
  const bool adds_c = c.index() % 3 != 0 && computes_addends(c);
  std::vector<Expert> experts;
  for (std::size_t i = 0; i < count; ++i) {
    const bool none = i + 1 == count;
    Expert expert;
    const std::int64_t rows = i == 0
                                  ? (tiles ? c.random().between(65, 96) : c.random().between(1, 14))
                                  : c.random().between(1, 5);
    expert.request = c.draw({none ? 0 : rows, n, k});
    auto alone = c.run(expert.request);
    if (!alone) return std::nullopt;
    if (adds_c) {
      add_c(expert.request, alone->d);
      alone = c.run(expert.request);
      if (!alone) return std::nullopt;
    }
    expert.expected = std::move(alone->d);
    experts.push_back(std::move(expert));
  }
  return experts;
}

Group whole_group(const std::vector<Expert>& experts, std::size_t expert) {
  Group group{expert, {}};
  group.rows.resize(static_cast<std::size_t>(experts[expert].request.a.rows));
  std::iota(group.rows.begin(), group.rows.end(), 0);
  return group;
}

std::vector<Group> whole_groups(const std::vector<Expert>& experts) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < experts.size(); ++i) groups.push_back(whole_group(experts, i));
  return groups;
}

bool same_rows(Case& c, const std::vector<Expert>& experts, const Arrangement& arrangement,
               const std::string& what) {
  const bool masked = arrangement.kind == GroupKind::m_masked;
  const bool stacked = arrangement.kind != GroupKind::m_grouped;
  const Request& one = experts.front().request;
  const std::int64_t n = one.b.cols, k = one.a.cols;
  // Where each group begins, and how many rows there are.
  std::vector<std::int64_t> begins;
  std::int64_t all = 0, capacity = 0;
  for (const Group& group : arrangement.groups) {
    const auto rows = static_cast<std::int64_t>(group.rows.size()) + arrangement.padding;
    begins.push_back(all);
    all += rows;
    capacity = std::max(capacity, rows);
  }
  const auto count = static_cast<std::int64_t>(arrangement.groups.size());
  for (std::int64_t g = 0; stacked && g < count; ++g) {
    begins[static_cast<std::size_t>(g)] = g * capacity;
  }
  all = stacked ? count * capacity : all + arrangement.spare;

  GroupedRequest request;
  request.spec.gemm = one.spec;
  request.spec.kind = arrangement.kind;
  request.options = one.options;
  request.type = arrangement.type;
  request.a = noise(c, one.a.dtype, all, k);
  request.b = Elements(one.b.dtype, count * k, n);
  const bool reads_c = one.spec.reads_c();
  if (reads_c) request.c = noise(c, one.c.dtype, all, n);
  for (std::size_t g = 0; g < arrangement.groups.size(); ++g) {
    const auto& [expert, rows] = arrangement.groups[g];
    paste_rows(request.b, static_cast<std::int64_t>(g) * k, experts[expert].request.b);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      paste_rows(request.a, begins[g] + static_cast<std::int64_t>(i),
                 row_slice(experts[expert].request.a, rows[i], rows[i] + 1));
      if (reads_c) {
        paste_rows(request.c, begins[g] + static_cast<std::int64_t>(i),
                   row_slice(experts[expert].request.c, rows[i], rows[i] + 1));
      }
    }
    const auto size = static_cast<std::int64_t>(rows.size());
    request.offsets.push_back(masked ? size : begins[g] + size + arrangement.padding);
  }
  if (stacked) request.spec.gemm.op_b = c.random().one_in(2) ? Op::transpose : Op::none;
  draw_layouts(c.random(), request);
  const auto got = c.run(request);
  if (!got) return false;
  // Rows of noise within a group are what they are; those of no group keep their bytes.
  Elements expected = got->d;
  const auto untouched = [&](std::int64_t begin, std::int64_t end) {
    Elements rows(expected.dtype, end - begin, n);
    std::fill(rows.bytes.begin(), rows.bytes.end(), request.fill);
    paste_rows(expected, begin, rows);
  };
  for (std::size_t g = 0; g < arrangement.groups.size(); ++g) {
    const auto& [expert, rows] = arrangement.groups[g];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      paste_rows(expected, begins[g] + static_cast<std::int64_t>(i),
                 row_slice(experts[expert].expected, rows[i], rows[i] + 1));
    }
    if (masked) untouched(begins[g] + static_cast<std::int64_t>(rows.size()), begins[g] + capacity);
  }
  if (!stacked) untouched(all - arrangement.spare, all);
  return c.same(expected, got->d, what);
}

void check_order_matters(Case& c, const std::vector<Expert>& experts) {
  c.check_order_matters(experts.front().request, experts.front().expected);
}

}  // namespace detgemm::conformance

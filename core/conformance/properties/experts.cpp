// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/experts.hpp"

#include <algorithm>
#include <array>
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

/// Rows of scales that must not matter: any numbers, NaN among them.
ScaleArray noise(Case& c, const ScaleArray& like, std::int64_t rows) {
  return draw_scales(c.random(), ScaleValues::bits, rows, like.values.cols, like.type, 1);
}

/// Whether the engine computes this in groups of each kind that has rows, and alone.
bool computes(Case& c, const GemmSpec& gemm) {
  GroupedSpec spec;
  spec.gemm = gemm;
  spec.gemm.n = 8;
  spec.gemm.k = 64;
  spec.groups = 2;
  for (const GroupKind kind : {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked}) {
    spec.kind = kind;
    if (!validate(spec) || !c.engine().supports_grouped(spec)) return false;
  }
  return c.engine().supports(spec.gemm).ok();
}

/// Changes the spec to the first of some values that the engine computes. Contracts and cases begin
/// with others, and no seed leaves one out.
template <class Change, class T, std::size_t kCount>
void change_to_one_of(Case& c, const std::array<T, kCount>& values, Change&& computed) {
  const auto start = static_cast<std::size_t>((c.contract().digest() + c.index() / 3) % kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    if (computed(values[(start + i) % kCount])) return;
  }
}

/// What the accumulator of every group starts from and what follows it, as far as the engine
/// computes it: continue, alpha, a bias of each group's own, an activation, scales of lines.
GemmSpec draw_epilogue(Case& c) {
  GemmSpec spec;
  spec.contract = c.contract();
  const auto if_computed = [&](auto&& change) {
    GemmSpec changed = spec;
    change(changed);
    if (!computes(c, changed)) return false;
    spec = changed;
    return true;
  };
  if (c.index() % 3 == 0) {
    if_computed([](GemmSpec& s) { s.continue_from_c = true; });
    return spec;
  }
  if (c.index() % 3 == 2) {
    if_computed([](GemmSpec& s) { s.line_scales = true; });
    return spec;
  }
  if_computed([](GemmSpec& s) { s.alpha = -1.7F; });
  constexpr std::array types{DType::fp32, DType::bf16, DType::fp16};
  change_to_one_of(c, types,
                   [&](DType type) { return if_computed([&](GemmSpec& s) { s.bias = type; }); });
  constexpr std::array activations{Activation::silu, Activation::relu, Activation::gelu_tanh,
                                   Activation::gelu};
  change_to_one_of(c, activations, [&](Activation activation) {
    return if_computed([&](GemmSpec& s) { s.activation = activation; });
  });
  return spec;
}

}  // namespace

bool computes_groups(Case& c, GroupKind kind, bool continues) {
  GroupedSpec spec;
  spec.gemm.contract = continues ? c.with_output(DType::fp32) : c.contract();
  spec.gemm.n = 8;
  spec.gemm.k = kind == GroupKind::k_grouped ? 0 : 64;
  spec.gemm.op_a = kind == GroupKind::k_grouped ? Op::transpose : Op::none;
  spec.gemm.continue_from_c = continues;
  spec.kind = kind;
  spec.groups = 2;
  Status s = validate(spec);  // segments of K take no scales, on any engine
  if (s) s = c.engine().supports_grouped(spec);
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
  GemmSpec spec = draw_epilogue(c);
  GemmSpec with_c = spec;
  with_c.beta = kBetaOfC;
  const bool adds_c = c.index() % 3 != 0 && computes(c, with_c);
  // Rows change their groups, so each row of A has scales of its own.
  const bool scaled = spec.reads_scales();
  spec.k = k;
  const std::int64_t leaves = spec.scale_leaves();
  const ScaleType type = scaled && c.random().one_in(3) ? ScaleType::e8m0 : ScaleType::fp32;
  const std::int64_t per = scaled && c.random().one_in(3) ? 128 : 1;
  std::vector<Expert> experts;
  for (std::size_t i = 0; i < count; ++i) {
    const bool none = i + 1 == count;
    Expert expert;
    const std::int64_t rows = i == 0
                                  ? (tiles ? c.random().between(65, 96) : c.random().between(1, 14))
                                  : c.random().between(1, 5);
    expert.request = c.draw({none ? 0 : rows, n, k});
    expert.request.spec = spec;
    if (spec.bias) {
      // Of the size of what rounding leaves of residues.
      expert.request.bias = draw_normal(c.random(), *spec.bias, 1, n, 0x1p-8);
    }
    if (scaled) {
      const ScaleValues values = ScaleValues::moderate;
      expert.request.scale_a =
          draw_scales(c.random(), values, expert.request.a.rows, leaves, type, 1);
      expert.request.scale_b = draw_scales(c.random(), values, n, leaves, type, per);
    }
    if (spec.continue_from_c) {
      expert.request.c = draw_normal(c.random(), DType::fp32, expert.request.a.rows, n, 0x1p-8);
    }
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

void draw_operations(Case& c, GroupedSpec& spec) {
  for (Op GemmSpec::*op : {&GemmSpec::op_a, &GemmSpec::op_b}) {
    GroupedSpec other = spec;
    Op& changed = other.gemm.*op;
    changed = changed == Op::none ? Op::transpose : Op::none;
    other.gemm.n = 8;
    other.gemm.k = spec.kind == GroupKind::k_grouped ? 0 : 64;
    other.groups = 2;
    if (c.random().one_in(2) && c.engine().supports_grouped(other)) spec.gemm.*op = changed;
  }
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
  const bool scaled = one.spec.reads_scales();
  const std::int64_t blocks = one.scale_b.values.rows;
  if (scaled) {
    request.scale_a = noise(c, one.scale_a, all);
    request.scale_b = one.scale_b;
    request.scale_b.values =
        Elements(one.scale_b.values.dtype, count * blocks, one.scale_b.values.cols);
  }
  for (std::size_t g = 0; g < arrangement.groups.size(); ++g) {
    const auto& [expert, rows] = arrangement.groups[g];
    paste_rows(request.b, static_cast<std::int64_t>(g) * k, experts[expert].request.b);
    if (scaled) {
      paste_rows(request.scale_b.values, static_cast<std::int64_t>(g) * blocks,
                 experts[expert].request.scale_b.values);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      paste_rows(request.a, begins[g] + static_cast<std::int64_t>(i),
                 row_slice(experts[expert].request.a, rows[i], rows[i] + 1));
      if (scaled) {
        paste_rows(request.scale_a.values, begins[g] + static_cast<std::int64_t>(i),
                   row_slice(experts[expert].request.scale_a.values, rows[i], rows[i] + 1));
      }
      if (reads_c) {
        paste_rows(request.c, begins[g] + static_cast<std::int64_t>(i),
                   row_slice(experts[expert].request.c, rows[i], rows[i] + 1));
      }
    }
    const auto size = static_cast<std::int64_t>(rows.size());
    request.offsets.push_back(masked ? size : begins[g] + size + arrangement.padding);
  }
  if (one.spec.bias) {
    request.bias = Elements(*one.spec.bias, count, n);
    for (std::int64_t g = 0; g < count; ++g) {
      const Group& group = arrangement.groups[static_cast<std::size_t>(g)];
      paste_rows(request.bias, g, experts[group.expert].request.bias);
    }
  }
  draw_operations(c, request.spec);
  request.in_place = reads_c && one.c.dtype == one.spec.contract.output && c.random().one_in(2);
  draw_layouts(c.random(), request);
  const auto got = c.run(request);
  if (!got) return false;
  // Rows of noise within a group are what they are; those of no group keep their bytes.
  Elements expected = got->d;
  const auto untouched = [&](std::int64_t begin, std::int64_t end) {
    Elements rows(expected.dtype, end - begin, n);
    std::fill(rows.bytes.begin(), rows.bytes.end(), request.fill);
    paste_rows(expected, begin, request.in_place ? row_slice(request.c, begin, end) : rows);
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

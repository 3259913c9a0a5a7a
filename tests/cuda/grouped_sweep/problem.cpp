// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/grouped_sweep/problem.hpp"

#include <algorithm>
#include <array>

namespace detgemm::test {
namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(mix(key_++) % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T pick(const std::array<T, N>& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(N)))];
  }

 private:
  std::uint64_t key_;
};

std::int64_t up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

std::int64_t draw_rows(Draws& r) {
  constexpr std::array<std::int64_t, 9> off{-8, -4, -1, 0, 0, 0, 1, 4, 8};
  if (r.one_in(4)) return 1 + r.below(70);
  if (r.one_in(3)) return 4 * (1 + r.below(120));
  return std::max<std::int64_t>(1, 64 * (1 + r.below(8)) + r.pick(off));
}

/// Where C and D may lie.
GroupLayout draw_result(Draws& r, std::int64_t rows, std::int64_t cols, std::int64_t groups) {
  GroupLayout l;
  l.col_major = r.one_in(2);
  const std::int64_t line = l.col_major ? rows : cols;
  const std::int64_t lines = l.col_major ? cols : rows;
  const auto pitch = [&] {
    const std::int64_t way = r.below(4);
    return way == 0 ? line + 1 + r.below(9) : way == 1 ? line : up(line, 8) + (way == 3 ? 8 : 0);
  };
  l.ld = pitch();
  if (r.one_in(6)) l.offset = 1 + r.below(15);
  if (groups == 1) return l;
  switch (r.below(4)) {
    case 0:
      l.how = "gaps";
      l.distance = l.ld * lines + (r.one_in(2) ? 8 * r.below(5) : r.below(40));
      return l;
    case 1:
      l.how = "stack";
      l.distance = l.ld * lines;
      return l;
    default:
      l.how = "side by side";
      l.distance = l.ld;
      l.ld = l.distance * groups + (r.one_in(2) ? 0 : r.one_in(2) ? 8 : r.below(20));
      return l;
  }
}

/// Where A and B may lie: most of them where TMA takes them. `lines` x `length` numbers.
GroupLayout draw_operand(Draws& r, std::int64_t lines, std::int64_t length, std::int64_t groups,
                         std::int64_t unit) {
  GroupLayout l;
  const bool suits = !r.one_in(10);
  l.ld = suits ? up(length, unit) + unit * (r.one_in(3) ? r.below(3) : 0) : length + r.below(5);
  if (!suits && r.one_in(2)) l.offset = r.below(16);
  if (groups == 1 || r.one_in(16)) return l;
  if (r.one_in(6)) {
    l.how = "side by side";
    l.distance = l.ld;
    l.ld *= groups;
    return l;
  }
  l.how = "stack";
  l.distance = l.ld * lines;
  return l;
}

void draw_epilogue(Draws& r, GemmSpec& spec) {
  constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
  constexpr std::array<float, 4> factors{0.5F, -1.0F, 1.1F, 0.0F};
  constexpr std::array activations{Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                   Activation::silu};
  const ReductionKind kind = spec.contract.reduction.kind;
  if (kind != ReductionKind::tree && r.one_in(4)) {
    spec.continue_from_c = true;
  } else if (r.one_in(3)) {
    spec.beta = r.one_in(2) ? 1.0F : -0.75F;
  }
  if (r.one_in(2)) return;
  if (r.one_in(3)) spec.alpha = r.pick(factors);
  if (r.one_in(2)) spec.bias = r.pick(types);
  if (r.one_in(3)) spec.activation = r.pick(activations);
}

/// A layout of scales for so many lines and leaves, and the elements between groups.
ScaleLayout draw_scales(Draws& r, std::int64_t per, std::int64_t lines, std::int64_t leaves,
                        std::int64_t& distance) {
  const std::int64_t blocks = (lines + per - 1) / per;
  ScaleLayout s{r.one_in(4) ? ScaleType::e8m0 : ScaleType::fp32, per, 0, 0};
  const std::int64_t pad = r.one_in(4) ? r.below(5) : 0;
  if (r.one_in(8)) {  // one scale for all
    distance = r.below(2);
    return s;
  }
  if (r.one_in(2)) {  // leaf by leaf
    s.stride = 1, s.leaf_stride = blocks + pad;
    distance = s.leaf_stride * leaves;
  } else {
    s.stride = leaves + pad, s.leaf_stride = 1;
    distance = s.stride * blocks;
  }
  distance += r.one_in(4) ? r.below(7) : 0;
  return s;
}

Contract draw_contract(Draws& r, bool e4m3, GroupKind kind) {
  constexpr std::array outputs{DType::bf16, DType::fp16, DType::fp32};
  constexpr std::array<std::int64_t, 4> leaves{64, 128, 128, 256};
  Reduction reduction;
  const std::int64_t which = r.below(8);
  const std::int64_t leaf = e4m3 ? 128 * (1 + r.below(2)) : r.pick(leaves);
  if (e4m3 && which < 4 && kind != GroupKind::k_grouped) reduction = {ReductionKind::scaled, leaf};
  if (e4m3 && which >= 4 && which < 6) reduction = {ReductionKind::fold, leaf};
  if (!e4m3 && which == 0) reduction = {ReductionKind::fold, leaf};
  if (!e4m3 && which == 1) reduction = {ReductionKind::tree, leaf};
  const DType input = e4m3 ? DType::e4m3 : r.one_in(2) ? DType::bf16 : DType::fp16;
  return *Contract::make(Arithmetic::hopper, input, reduction, r.pick(outputs));
}

/// Rows or products of each group, and how many there are in all.
void draw_sizes(Draws& r, GroupProblem& p) {
  const auto groups = static_cast<std::size_t>(p.spec.groups);
  if (p.spec.kind == GroupKind::batched) {
    p.sizes.assign(groups, p.m);
    return;
  }
  if (p.spec.kind == GroupKind::m_masked) {
    const bool full = r.one_in(3);
    for (std::size_t g = 0; g < groups; ++g) p.sizes.push_back(full ? p.m : r.below(p.m + 1));
    return;
  }
  const std::int64_t unit = r.one_in(4) ? 8 : 1;
  const bool by_k = p.spec.kind == GroupKind::k_grouped;
  std::int64_t all = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    std::int64_t size = r.one_in(8) ? 0 : by_k ? 1 + r.below(260) : draw_rows(r);
    size = up(size, unit);
    p.sizes.push_back(size);
    all += size;
  }
  all += r.one_in(3) ? r.below(40) : 0;
  (by_k ? p.k : p.m) = std::max<std::int64_t>(all, 1);
}

bool many_a(GroupKind kind) { return kind == GroupKind::batched || kind == GroupKind::m_masked; }

std::string lies(const char* what, const GroupLayout& l) {
  return std::string(", ") + what + (l.col_major ? " col " : " row ") + l.how + " ld " +
         std::to_string(l.ld) + " distance " + std::to_string(l.distance) + " +" +
         std::to_string(l.offset);
}

ConstMatrix view(const void* data, const GroupLayout& l, std::int64_t rows, std::int64_t cols,
                 DType type) {
  return l.col_major ? col_major(data, rows, cols, type, l.ld)
                     : row_major(data, rows, cols, type, l.ld);
}

const void* moved(const void* data, std::int64_t elements, std::size_t bytes) {
  return static_cast<const char*>(data) + elements * static_cast<std::int64_t>(bytes);
}

}  // namespace

std::string GroupProblem::d_layout() const {
  return std::string(d.col_major ? "columns" : "rows") + ", " + d.how;
}

std::string GroupProblem::text() const {
  const GemmSpec& g = spec.gemm;
  std::string s = g.contract.text() + " " + std::string(detgemm::name(spec.kind)) + " m " +
                  std::to_string(m) + " n " + std::to_string(g.n) + " k " + std::to_string(k) +
                  " sizes";
  for (const std::int64_t size : sizes) s += " " + std::to_string(size);
  s += lies("A", a) + lies("B", b) + lies("D", d);
  if (g.reads_c()) s += in_place ? ", C is D" : lies("C", c);
  if (g.continue_from_c) s += ", continue";
  if (g.line_scales) s += ", line scales";
  s += ", alpha " + std::to_string(g.alpha) + ", beta " + std::to_string(g.beta);
  if (g.bias) s += ", bias " + std::string(detgemm::name(*g.bias));
  return s + ", " + std::string(detgemm::name(g.activation)) + ", " + std::string(test::name(data));
}

std::int64_t GroupProblem::outputs() const {
  if (spec.kind == GroupKind::k_grouped) return spec.groups * m * spec.gemm.n;
  std::int64_t rows = 0;
  for (const std::int64_t size : sizes) rows += size;
  return rows * spec.gemm.n;
}

GroupProblem draw_group_problem(std::uint64_t seed, std::uint64_t index, bool e4m3) {
  Draws r(mix(seed) ^ mix(~index) ^ (e4m3 ? 0xf8 : 0));
  constexpr std::array<std::int64_t, 7> counts{1, 2, 2, 3, 5, 8, 20};
  constexpr std::array<std::int64_t, 7> depths{8, 64, 64, 72, 128, 200, 320};
  constexpr std::array<std::int64_t, 6> e4m3_depths{64, 128, 256, 272, 384, 512};
  constexpr std::array<std::int32_t, 4> shifts{0, 1, 3, 4};
  GroupProblem p;
  p.spec.kind = static_cast<GroupKind>(r.below(4));
  if (e4m3 && r.one_in(2)) p.spec.kind = r.one_in(2) ? GroupKind::m_grouped : GroupKind::m_masked;
  const GroupKind kind = p.spec.kind;
  const bool by_k = kind == GroupKind::k_grouped;
  p.spec.groups = r.pick(counts);
  GemmSpec& g = p.spec.gemm;
  g.contract = draw_contract(r, e4m3, kind);
  g.n = r.one_in(4) ? 1 + r.below(300) : 8 * (1 + r.below(48));
  p.m = draw_rows(r);
  p.k = e4m3 ? r.pick(e4m3_depths) : r.pick(depths);
  if (r.one_in(12)) p.k -= 3;
  draw_sizes(r, p);
  g.k = by_k ? 0 : p.k;
  draw_epilogue(r, g);
  const ReductionKind reduction = g.contract.reduction.kind;
  g.line_scales = e4m3 && !by_k && reduction != ReductionKind::scaled && r.one_in(2);
  const std::int64_t groups = p.spec.groups;
  const std::int64_t of_d = kind == GroupKind::m_grouped ? 1 : groups;
  p.d = draw_result(r, p.m, g.n, of_d);
  p.in_place =
      g.reads_c() && r.one_in(3) && (!g.continue_from_c || g.contract.output == DType::fp32);
  p.c = p.in_place || r.one_in(2) ? p.d : draw_result(r, p.m, g.n, of_d);
  g.op_a = r.one_in(2) ? Op::transpose : Op::none;
  g.op_b = r.one_in(2) ? Op::transpose : Op::none;
  // wgmma takes e4m3 along k alone; segments of products along M and N.
  const bool a_along_k = e4m3 ? !r.one_in(12) : by_k ? r.one_in(8) : !r.one_in(8);
  const bool b_along_k = e4m3 ? !r.one_in(12) : by_k ? r.one_in(8) : r.one_in(2);
  const std::int64_t unit = e4m3 ? 16 : 8;
  const auto operand = [&](bool along_k, std::int64_t rows, bool many) {
    const std::int64_t count = many ? groups : 1;
    return along_k ? draw_operand(r, rows, p.k, count, unit)
                   : draw_operand(r, p.k, rows, count, unit);
  };
  p.a = operand(a_along_k, p.m, many_a(kind));
  p.b = operand(b_along_k, g.n, !by_k);
  p.a.col_major = (g.op_a == Op::transpose) == a_along_k;
  p.b.col_major = (g.op_b == Op::transpose) != b_along_k;
  if (g.reads_scales()) {
    const std::int64_t leaves = g.scale_leaves();
    const bool rows_alone = kind == GroupKind::m_grouped || !r.one_in(4);
    p.scale_a = draw_scales(r, rows_alone ? 1 : 128, p.m, leaves, p.scale_a_distance);
    p.scale_b = draw_scales(r, r.one_in(2) ? 128 : 1, g.n, leaves, p.scale_b_distance);
    if (kind == GroupKind::m_grouped) p.scale_a_distance = 0;
  }
  if (g.bias) p.bias_distance = r.one_in(4) ? 0 : g.n + (r.one_in(2) ? r.below(5) : 0);
  p.offset_type = r.one_in(2) ? OffsetType::i32 : OffsetType::i64;
  p.data = static_cast<Data>(r.below(kDataKinds));
  p.shift = r.pick(shifts);
  p.key = mix(seed * 31 + index);
  p.poison = r.one_in(2) ? 0xff : 0xa5;
  return p;
}

GroupedOperands operands_of(const GroupProblem& p, const Addresses& at, const void* offsets) {
  const GemmSpec& g = p.spec.gemm;
  const bool ta = g.op_a == Op::transpose, tb = g.op_b == Op::transpose;
  const DType input = stored(g.contract.input), output = g.contract.output;
  GroupedOperands x;
  Operands& o = x.arrays;
  o.a = view(at.a, p.a, ta ? p.k : p.m, ta ? p.m : p.k, input);
  o.b = view(at.b, p.b, tb ? g.n : p.k, tb ? p.k : g.n, input);
  const ConstMatrix d = view(at.d, p.d, p.m, g.n, output);
  o.d = {at.d, d.rows, d.cols, d.row_stride, d.col_stride, output};
  x.group.a = p.a.distance;
  x.group.b = p.b.distance;
  x.group.d = p.d.distance;
  if (g.reads_c()) {
    const DType type = g.continue_from_c ? DType::fp32 : output;
    o.c = view(p.in_place ? at.d : at.c, p.c, p.m, g.n, type);
    x.group.c = p.c.distance;
  }
  if (g.bias) {
    o.bias = {at.bias, g.n, *g.bias};
    x.group.bias = p.bias_distance;
  }
  if (g.reads_scales()) {
    const std::int64_t leaves = g.scale_leaves();
    const auto scales = [&](const void* data, const ScaleLayout& s, std::int64_t lines) {
      return BlockScales{data,   s.type,   s.per,        (lines + s.per - 1) / s.per,
                         leaves, s.stride, s.leaf_stride};
    };
    o.scale_a = scales(at.scale_a, p.scale_a, p.m);
    o.scale_b = scales(at.scale_b, p.scale_b, g.n);
    x.group.scale_a = p.scale_a_distance;
    x.group.scale_b = p.scale_b_distance;
  }
  if (p.spec.kind != GroupKind::batched) x.offsets = {offsets, p.spec.groups, p.offset_type};
  return x;
}

std::pair<GemmSpec, Operands> slice_of(const GroupProblem& p, const GroupedOperands& all,
                                       std::size_t group, std::int64_t begin) {
  const auto i = static_cast<std::int64_t>(group);
  const std::int64_t size = p.sizes[group];
  const GroupKind kind = p.spec.kind;
  GemmSpec one = p.spec.gemm;
  Operands y = all.arrays;
  const bool ta = one.op_a == Op::transpose, tb = one.op_b == Op::transpose;
  const bool by_k = kind == GroupKind::k_grouped;
  const bool segments = kind == GroupKind::m_grouped;
  const std::int64_t row = segments ? begin : 0;
  const auto move = [](ConstMatrix& m, std::int64_t elements) {
    m.data = moved(m.data, elements, size_of(m.dtype));
  };
  move(y.a, i * all.group.a + (by_k ? begin * (ta ? y.a.row_stride : y.a.col_stride)
                                    : row * (ta ? y.a.col_stride : y.a.row_stride)));
  move(y.b, i * all.group.b + (by_k ? begin * (tb ? y.b.col_stride : y.b.row_stride) : 0));
  move(y.c, i * all.group.c + row * y.c.row_stride);
  y.d.data = const_cast<void*>(
      moved(y.d.data, i * all.group.d + row * y.d.row_stride, size_of(y.d.dtype)));
  if (one.bias) y.bias.data = moved(y.bias.data, i * all.group.bias, size_of(y.bias.dtype));
  const std::int64_t m = by_k ? p.m : size;
  (ta ? y.a.cols : y.a.rows) = m;
  y.c.rows = y.d.rows = m;
  if (by_k) {
    (ta ? y.a.rows : y.a.cols) = size;
    (tb ? y.b.cols : y.b.rows) = size;
    one.k = size;
  }
  if (one.reads_scales()) {
    BlockScales& a = y.scale_a;
    a.data = moved(a.data, i * all.group.scale_a + row * a.stride, size_of(a.type));
    a.blocks = (m + a.per - 1) / a.per;
    y.scale_b.data = moved(y.scale_b.data, i * all.group.scale_b, size_of(y.scale_b.type));
  }
  return {one, y};
}

}  // namespace detgemm::test

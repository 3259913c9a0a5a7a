// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/problem.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace detgemm::test {
namespace {

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}
  std::uint64_t next() { return mix(state_++); }
  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T, std::size_t N>
  T pick(const std::array<T, N>& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(N) - 1))];
  }

 private:
  std::uint64_t state_;
};

struct Shape {
  const char* name;
  std::int64_t m, n, k;
};

/// Next to a multiple of something a tile, a cluster or an instruction is made of.
std::int64_t edge(Random& r) {
  constexpr std::array<std::int64_t, 11> units{8, 16, 32, 64, 96, 128, 160, 192, 256, 384, 512};
  constexpr std::array<std::int64_t, 7> off{-8, -1, 0, 0, 0, 1, 8};
  return std::max<std::int64_t>(1, r.pick(units) * r.between(1, 4) + r.pick(off));
}

std::int64_t short_k(Random& r) {
  constexpr std::array<std::int64_t, 8> off{-8, -1, 0, 0, 0, 0, 1, 8};
  if (r.one_in(40)) return 0;
  if (r.one_in(3)) return r.between(1, 200);
  return std::max<std::int64_t>(1, 16 * r.between(1, 32) + r.pick(off));
}

Shape draw_shape(Random& r) {
  switch (r.between(0, 7)) {
    case 0:
      return {"small", r.between(1, 300), r.between(1, 300), r.between(0, 300)};
    case 1:
    case 2:
      return {"edge", edge(r), edge(r), short_k(r)};
    case 3:
      return {"decode", r.between(1, 64), 8 * r.between(1, 2048), 8 * r.between(1, 240)};
    case 4:
      return {"decode", r.between(1, 64), r.between(1, 16384), r.between(1, 1024)};
    case 5:
      return {"wide", r.between(1, 512), 8 * r.between(64, 512), short_k(r)};
    case 6:
      return {"large", edge(r) + 128 * r.between(4, 20), edge(r) + 128 * r.between(4, 20),
              short_k(r)};
    default:
      return {"long", r.between(1, 300), r.between(1, 300), 8 * r.between(128, 1024)};
  }
}

/// Several tiles of 128 x 128 for each of 132 CTAs.
Shape draw_many_tiles(Random& r) {
  return {"many", 8 * r.between(128, 400), 8 * r.between(128, 400), 64 * r.between(1, 6)};
}

/// Shrinks what would take too long or too much memory.
Shape limited(Shape s) {
  const auto products = [&] {
    return static_cast<double>(s.m) * static_cast<double>(s.n) *
           static_cast<double>(std::max<std::int64_t>(s.k, 1));
  };
  while (products() > kMaxProducts) {
    if (s.k > 256) {
      s.k /= 2;
    } else {
      (s.m > s.n ? s.m : s.n) /= 2;
    }
  }
  return s;
}

Layout draw_layout(Random& r, bool col_major, std::int64_t rows, std::int64_t cols, bool aligned) {
  Layout layout;
  layout.col_major = col_major;
  const std::int64_t packed = layout.col_major ? rows : cols;
  layout.ld = (packed + 7) / 8 * 8 + 8 * (r.one_in(2) ? 0 : r.between(0, 4));
  if (aligned) return layout;
  if (r.one_in(2)) layout.ld = packed + (r.one_in(2) ? 0 : r.between(0, 9));
  if (r.one_in(2)) layout.offset = r.between(1, 15);
  return layout;
}

void draw_epilogue(Random& r, Problem& p) {
  constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
  constexpr std::array activations{Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                   Activation::silu};
  constexpr std::array<float, 5> factors{0.5F, -1.0F, 1.1F, 3.0e-39F, 0.0F};
  if (r.one_in(2)) return;
  if (r.one_in(2)) p.spec.alpha = r.pick(factors);
  if (r.one_in(2)) p.spec.bias = r.pick(types);
  if (r.one_in(3)) p.spec.activation = r.pick(activations);
  if (r.one_in(3)) {
    p.spec.continue_from_c = true;
  } else if (r.one_in(2)) {
    p.spec.beta = r.one_in(2) ? 1.0F : -0.75F;
  }
}

/// The stored rows and columns of an operand whose logical ones are these.
Layout stored(Random& r, Op op, bool col_major, std::int64_t rows, std::int64_t cols,
              bool aligned) {
  return op == Op::transpose ? draw_layout(r, col_major, cols, rows, aligned)
                             : draw_layout(r, col_major, rows, cols, aligned);
}

ConstMatrix view(const void* data, const Layout& layout, std::int64_t rows, std::int64_t cols,
                 DType type) {
  return layout.col_major ? col_major(data, rows, cols, type, layout.ld)
                          : row_major(data, rows, cols, type, layout.ld);
}

}  // namespace

std::string_view name(Data data) {
  constexpr std::array<std::string_view, kDataKinds> names{
      "normal", "wide", "windows", "subnormal", "cancel", "overflow", "specials"};
  return names[static_cast<std::size_t>(data)];
}

std::string Problem::layout() const {
  return std::string(a_along_k() ? "A k" : "A m") + (b_along_k() ? ", B k" : ", B n");
}

std::string Problem::text() const {
  const auto lies = [](const char* what, const Layout& l) {
    return std::string(", ") + what + (l.col_major ? " col" : " row") + " ld " +
           std::to_string(l.ld) + " +" + std::to_string(l.offset);
  };
  std::string s = spec.contract.text() + " m=" + std::to_string(m) +
                  " n=" + std::to_string(spec.n) + " k=" + std::to_string(spec.k) + " (" + shape +
                  ", " + std::string(name(data)) + ") op " + std::string(detgemm::name(spec.op_a)) +
                  "/" + std::string(detgemm::name(spec.op_b));
  s += lies("A", a) + lies("B", b) + lies("D", d);
  if (spec.reads_c()) s += in_place ? ", C is D" : lies("C", c);
  const auto scaled = [](const char* what, const ScaleLayout& l) {
    return std::string(", ") + what + " " + std::string(detgemm::name(l.type)) + " per " +
           std::to_string(l.per) + " strides " + std::to_string(l.stride) + " " +
           std::to_string(l.leaf_stride);
  };
  if (spec.reads_scales()) s += scaled("sa", scale_a) + scaled("sb", scale_b);
  if (spec.continue_from_c) s += ", continue";
  s += ", alpha " + std::to_string(spec.alpha) + ", beta " + std::to_string(spec.beta);
  if (spec.bias) s += ", bias " + std::string(detgemm::name(*spec.bias));
  s += ", " + std::string(detgemm::name(spec.activation));
  if (spec.a_snapped) s += ", A snapped";
  if (spec.b_snapped) s += ", B snapped";
  s += ", stable " + std::string(detgemm::name(stable));
  return s + ", workers " + std::to_string(max_workers);
}

namespace {

/// Fold or tree of leaves of a length that kernels like, or of any that the contract allows; k is
/// drawn anew now and then, so that leaves are many, or whole.
void draw_leaves(Problem& p, std::uint64_t key) {
  Random r(key);
  Reduction& reduction = p.spec.contract.reduction;
  reduction.kind = r.one_in(2) ? ReductionKind::tree : ReductionKind::fold;
  constexpr std::array<std::int64_t, 8> usual{64, 128, 128, 256, 256, 512, 1024, 192};
  reduction.leaf_k = r.one_in(8) ? 16 * r.between(1, 40) : r.pick(usual);
  const auto products = [&] {
    return static_cast<double>(p.m) * static_cast<double>(p.spec.n) * static_cast<double>(p.spec.k);
  };
  if (r.one_in(2)) p.spec.k = reduction.leaf_k * r.between(1, 17) + (r.one_in(2) ? 8 : 0);
  if (r.one_in(4)) p.spec.k = reduction.leaf_k * (std::int64_t{1} << r.between(1, 4));
  const auto elements = [&] { return (std::max(p.m, p.spec.n) + 64) * (p.spec.k + 64); };
  while ((products() > kMaxProducts || elements() > kMaxElements) && p.spec.k > 64) {
    p.spec.k /= 2;
  }
}

}  // namespace

Problem draw_problem(std::uint64_t seed, std::uint64_t index, Reductions reductions) {
  Random r(mix(seed) ^ mix(~index));
  constexpr std::array inputs{DType::bf16, DType::fp16};
  constexpr std::array outputs{DType::bf16, DType::fp16, DType::fp32};
  constexpr std::array<std::int32_t, 5> shifts{0, 1, 3, 4, 6};
  constexpr std::array<std::int32_t, 5> workers{0, 0, 0, 1, 17};
  Problem p;
  const std::uint64_t leaves_key = mix(seed * 3 + 1) ^ mix(index);
  const bool leaves =
      reductions == Reductions::leaves || (reductions == Reductions::all && leaves_key % 2 != 0);
  // Every other fold that goes on from C, and as many others, have more tiles than the GPU runs at
  // once: what a tile leaves in shared memory must not reach the next one.
  const std::uint64_t kind_of_leaves = mix(leaves_key);
  const bool many_tiles = leaves && kind_of_leaves % 4 >= 2;
  const Shape shape = limited(many_tiles ? draw_many_tiles(r) : draw_shape(r));
  p.shape = shape.name;
  p.m = shape.m;
  p.spec.n = shape.n;
  p.spec.k = shape.k;
  p.spec.contract =
      *Contract::make(Arithmetic::hopper, r.pick(inputs), Reduction{}, r.pick(outputs));
  if (leaves) draw_leaves(p, leaves_key);
  const ReductionKind kind = p.spec.contract.reduction.kind;
  p.spec.op_a = r.one_in(2) ? Op::transpose : Op::none;
  p.spec.op_b = r.one_in(2) ? Op::transpose : Op::none;
  // Half of all problems are what models ask for, since most kernels take only those: aligned,
  // lines of D of whole 16 bytes, for half of them no epilogue; half with both operands along k.
  const bool plain = r.one_in(2);
  const bool along_k = plain && r.one_in(2);
  const bool aligned = plain || r.one_in(2);
  const bool d_col_major = r.one_in(plain ? 4 : 2);
  if (plain) {
    std::int64_t& line = d_col_major ? p.m : p.spec.n;
    line = std::max<std::int64_t>(8, line / 8 * 8);
    // A fold's C has a path of its own where D is plain.
    p.spec.continue_from_c = kind == ReductionKind::fold && kind_of_leaves % 2 != 0;
  }
  if (!plain || (!p.spec.continue_from_c && r.one_in(2))) draw_epilogue(r, p);
  // A tree's shape depends on the whole of K.
  if (kind == ReductionKind::tree) p.spec.continue_from_c = false;
  const bool a_col_major = along_k ? p.spec.op_a == Op::transpose : r.one_in(2);
  const bool b_col_major = along_k ? p.spec.op_b == Op::none : r.one_in(2);
  p.a = stored(r, p.spec.op_a, a_col_major, p.m, p.spec.k, aligned);
  p.b = stored(r, p.spec.op_b, b_col_major, p.spec.k, p.spec.n, aligned);
  p.c = draw_layout(r, r.one_in(2), p.m, p.spec.n, aligned);
  p.d = draw_layout(r, d_col_major, p.m, p.spec.n, aligned);
  p.in_place = p.spec.reads_c() && r.one_in(2) &&
               (!p.spec.continue_from_c || p.spec.contract.output == DType::fp32);
  if (p.in_place) p.c = p.d;
  p.data = static_cast<Data>(r.between(0, kDataKinds - 1));
  p.shift = r.pick(shifts);
  p.key = r.next();
  p.poison = r.one_in(2) ? 0xff : 0xa5;
  p.max_workers = r.pick(workers);
  p.stable = static_cast<Stable>(r.between(0, 2));
  return p;
}

void misalign_operands(Problem& p) {
  Random r(mix(p.key + 0x0dd));
  const auto move = [&](Layout& layout, Op op, std::int64_t rows, std::int64_t cols) {
    if (op == Op::transpose) std::swap(rows, cols);
    if (r.one_in(8)) return;  // one aligned operand beside one that is not
    layout.ld = (layout.col_major ? rows : cols) + (r.one_in(2) ? 0 : r.between(0, 9));
    layout.offset = r.between(0, 15);
  };
  move(p.a, p.spec.op_a, p.m, p.spec.k);
  move(p.b, p.spec.op_b, p.spec.k, p.spec.n);
  Reduction& reduction = p.spec.contract.reduction;
  if (reduction.kind == ReductionKind::chain || !r.one_in(3)) return;
  // At most as many leaves as before, since each may keep a sum in the workspace.
  reduction.leaf_k = std::max(reduction.leaf_k / 16, std::int64_t{1}) * 16 + 16 * r.between(0, 3);
}

bool gets_kernel(const Problem& problem, std::size_t index, std::size_t count) {
  if (problem.spec.contract.reduction.kind == ReductionKind::chain || count <= 110) return true;
  return mix(problem.key + index) % (count / 12) == 0;
}

void set_input(Contract& contract, DType input) {
  contract.input = input;
  contract.k_block = *k_block_of(contract.arithmetic, input);
}

Operands operands_of(const Problem& p, const Addresses& at) {
  const bool ta = p.spec.op_a == Op::transpose;
  const bool tb = p.spec.op_b == Op::transpose;
  const DType input = stored(p.spec.contract.input);
  const DType output = p.spec.contract.output;
  Operands o;
  o.a = view(at.a, p.a, ta ? p.spec.k : p.m, ta ? p.m : p.spec.k, input);
  o.b = view(at.b, p.b, tb ? p.spec.n : p.spec.k, tb ? p.spec.k : p.spec.n, input);
  const ConstMatrix d = view(at.d, p.d, p.m, p.spec.n, output);
  o.d = {at.d, d.rows, d.cols, d.row_stride, d.col_stride, output};
  if (p.spec.reads_c()) {
    o.c = p.in_place
              ? d
              : view(at.c, p.c, p.m, p.spec.n, p.spec.continue_from_c ? DType::fp32 : output);
  }
  if (p.spec.reads_scales()) {
    const std::int64_t leaves = p.spec.scale_leaves();
    const auto scales = [&](const void* data, const ScaleLayout& s, std::int64_t lines) {
      return BlockScales{data,   s.type,   s.per,        (lines + s.per - 1) / s.per,
                         leaves, s.stride, s.leaf_stride};
    };
    o.scale_a = scales(at.scale_a, p.scale_a, p.m);
    o.scale_b = scales(at.scale_b, p.scale_b, p.spec.n);
  }
  if (p.spec.bias) o.bias = {at.bias, p.spec.n, *p.spec.bias};
  return o;
}

}  // namespace detgemm::test

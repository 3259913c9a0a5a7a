// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Many products in one call. The dimensions of the operands say which kind it is, as for
// torch.nn.functional.grouped_mm:
//
//   a            b            with      D
//   R x K        G x K x N    offs      R x N        segments of rows: experts
//   G x M x K    K x R        offs      M x R        segments of columns: the same, transposed
//   M x R        R x N        offs      G x M x N    segments of products: gradients of weights
//   G x M x K    G x K x N              G x M x N    a batch
//   G x M x K    G x K x N    counts    G x M x N    a batch of which so many rows of each count

#include <optional>
#include <string>
#include <vector>

#include "python/torch_ops/gemm.hpp"
#include "python/torch_ops/platform.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

/// One matrix, or several at one distance, which is what the number of dimensions says.
class Operand {
 public:
  Operand(const Tensor& tensor, std::string_view name, Copies copies) {
    const std::size_t dim = describe(tensor, name).sizes.size();
    if (dim == 2) {
      const MatrixOf& m = one_.emplace(tensor, name, copies);
      matrix = m.input();
      place = m.description().place;
    } else if (dim == 3) {
      const BatchOf& m = many_.emplace(tensor, name, copies);
      matrix = m.input(0);
      place = m.description().place;
      groups = m.count();
      distance = m.batch_stride();
    } else {
      refuse(std::string(name) + " has " + std::to_string(dim) +
             " dimensions: it must have two or three");
    }
  }
  bool many() const { return many_.has_value(); }
  bool copied() const { return many() ? many_->copied() : one_->copied(); }

  detgemm_const_matrix_t matrix{};
  std::int64_t groups = 0;
  std::int64_t distance = 0;
  Place place;

 private:
  std::optional<MatrixOf> one_;
  std::optional<BatchOf> many_;
};

std::string number(std::int64_t value) { return std::to_string(value); }

/// What a call gives beside a, b and the result.
struct Call {
  Tensor a, b, offs, bias, counts;
  ScaleTensors scales;
  Problem problem;
  bool out_is_c = false;

  Call() = default;
  explicit Call(Arguments& from) {
    a = from.tensor();
    b = from.tensor();
    offs = from.optional_tensor();
    problem.contract = from.text();
    bias = from.optional_tensor();
    counts = from.optional_tensor();
    scales.a = from.optional_tensor();
    scales.b = from.optional_tensor();
    problem.activation = from.optional_text();
    problem.stable = from.integer();
    problem.backend = from.optional_text();
    problem.variant = from.optional_text();
    problem.a_snapped = from.boolean();
    problem.b_snapped = from.boolean();
  }
};

/// The kind, and how many groups there are.
struct Groups {
  detgemm_group_kind_t kind = DETGEMM_BATCHED;
  std::int64_t count = 0;
  bool columns = false;  ///< segments of columns: A and B change places
};

Groups groups_of(const Operand& a, const Operand& b, const Call& call, const OffsetsOf* offs) {
  Groups g;
  const bool batch = a.many() && b.many();
  if (batch && call.offs) {
    refuse("offs is given and a and b have three dimensions: segments need one operand of two");
  }
  if (!batch && !call.offs) {
    refuse("offs is None: it must hold the end of each group, since a has " +
           std::string(a.many() ? "three" : "two") + " dimensions and b " +
           (b.many() ? "three" : "two"));
  }
  if (!batch && call.counts) {
    refuse("counts is given: it counts the rows of a and b of three dimensions");
  }
  if (batch) {
    g = {call.counts ? DETGEMM_M_MASKED : DETGEMM_BATCHED, a.groups, false};
    if (b.groups != a.groups) {
      refuse("b has " + number(b.groups) + " matrices and a has " + number(a.groups) +
             ": the numbers must be equal");
    }
  } else if (!a.many() && !b.many()) {
    g = {DETGEMM_K_GROUPED, offs->count(), false};
  } else {
    g = {DETGEMM_M_GROUPED, a.many() ? a.groups : b.groups, a.many()};
  }
  if (offs != nullptr && offs->count() != g.count) {
    refuse(std::string(call.counts ? "counts" : "offs") + " has " + number(offs->count()) +
           " elements: it must have one for each of " + number(g.count) + " groups");
  }
  return g;
}

/// The scales of both operands: those of segments of rows lie as A's rows do, others by groups.
struct Scales {
  Scales(const ScaleTensors& given, const Problem& problem, const Groups& groups, std::int64_t m,
         std::int64_t n, std::int64_t k) {
    if (!given.a || !given.b) refuse("scale_a and scale_b must both be given, or neither");
    if (groups.columns) refuse("scale_a is given: segments of columns take no scales");
    if (groups.kind == DETGEMM_K_GROUPED) {
      refuse("scale_a is given: segments of products take no scales");
    }
    const std::int64_t leaves = leaves_of(problem, k);
    if (groups.kind == DETGEMM_M_GROUPED) {
      rows.emplace(given.a, "scale_a", m, leaves, Lines::first);
    } else {
      of_a.emplace(given.a, "scale_a", groups.count, m, leaves, Lines::first);
    }
    of_b.emplace(given.b, "scale_b", groups.count, n, leaves, Lines::last);
  }
  void put(detgemm_operands_t& arrays, detgemm_grouped_operands_t& operands) const {
    arrays.scale_a = rows ? &rows->scales() : &of_a->scales();
    arrays.scale_b = &of_b->scales();
    operands.scale_a_group = rows ? 0 : of_a->distance();
    operands.scale_b_group = of_b->distance();
  }
  void check(const Place& place) const {
    check_same_place(rows ? rows->place() : of_a->place(), "scale_a", place, "a");
    check_same_place(of_b->place(), "scale_b", place, "a");
  }
  std::optional<ScalesOf> rows;
  std::optional<GroupScalesOf> of_a, of_b;
};

/// A bias of N elements per group, and from one to the next.
struct Bias {
  Bias(const Tensor& tensor, const Groups& groups, std::int64_t n)
      : rows(tensor, "bias", Copies::allowed) {
    if (groups.columns) refuse("bias is given: segments of columns take none");
    const detgemm_const_matrix_t& m = rows.input();
    if (rows.description().sizes.size() != 2 || m.rows != groups.count || m.cols != n) {
      refuse("bias is " + number(m.rows) + " x " + number(m.cols) + ": it must be " +
             number(groups.count) + " x " + number(n) + " (groups x N)");
    }
    if (m.col_stride != 1 && n > 1) refuse("bias has other strides than a row-major matrix");
    detgemm_vector_init(&vector, sizeof vector);
    vector.dtype = m.dtype;
    vector.data = m.data;
    vector.size = n;
    distance = m.rows > 1 ? m.row_stride : 0;
  }
  MatrixOf rows;
  detgemm_vector_t vector{};
  std::int64_t distance = 0;
};

Tensor new_result(const Groups& g, std::int64_t m, std::int64_t n, detgemm_dtype_t type,
                  const Place& place) {
  const bool rows = g.kind == DETGEMM_M_GROUPED;
  std::vector<std::int64_t> sizes{m, n};
  if (g.columns) std::swap(sizes[0], sizes[1]);
  if (!rows) sizes.insert(sizes.begin(), g.count);
  Tensor out = empty(sizes, type, place);
  // Rows of no group are not computed; here they are zeros, and never what memory held.
  if (rows || g.kind == DETGEMM_M_MASKED) check(aoti_torch_zero_(out.get()), "zero a result");
  return out;
}

Tensor multiply_groups(const Call& call, Tensor out) {
  Operand a(call.a, "a", Copies::allowed);
  Operand b(call.b, "b", Copies::allowed);
  const Place place = a.place;
  check_same_place(b.place, "b", place, "a");
  std::optional<OffsetsOf> offs;
  const char* const named = call.offs ? "offs" : "counts";
  if (call.offs || call.counts) {
    offs.emplace(call.offs ? call.offs : call.counts, named);
    check_same_place(offs->place(), named, place, "a");
  }
  const Groups g = groups_of(a, b, call, offs ? &*offs : nullptr);
  if (a.matrix.cols != b.matrix.rows) {
    refuse("a has " + number(a.matrix.cols) + " columns and b has " + number(b.matrix.rows) +
           " rows: both are K and must be equal");
  }
  Problem problem = call.problem;
  problem.stable = stable_of(problem.stable, a.copied(), b.copied());
  if (g.columns) {  // D^T = B^T A^T: a product of two numbers does not know their order
    std::swap(a.matrix, b.matrix);
    std::swap(a.distance, b.distance);
    std::swap(problem.a_snapped, problem.b_snapped);
    transpose(a.matrix);
    transpose(b.matrix);
    if (problem.stable == DETGEMM_STABLE_A || problem.stable == DETGEMM_STABLE_B) {
      problem.stable = DETGEMM_STABLE_A + DETGEMM_STABLE_B - problem.stable;
    }
  }
  const std::int64_t m = a.matrix.rows, n = b.matrix.cols;
  if (!out) out = new_result(g, m, n, parsed(problem.contract).contract.output, place);
  Operand result(out, "out", Copies::refused);
  check_same_place(result.place, "out", place, "a");
  if (g.columns) transpose(result.matrix);
  const bool many = g.kind != DETGEMM_M_GROUPED;
  if (result.many() != many || (many && result.groups != g.count) || result.matrix.rows != m ||
      result.matrix.cols != n) {
    refuse("out has another shape than the result: it must be " +
           (many ? number(g.count) + " x " : std::string()) + number(g.columns ? n : m) + " x " +
           number(g.columns ? m : n));
  }
  std::optional<Bias> bias;
  if (call.bias) {
    bias.emplace(call.bias, g, n);
    check_same_place(bias->rows.description().place, "bias", place, "a");
  }
  const std::int64_t k = a.matrix.cols;
  std::optional<Scales> scales;
  if (call.scales.a || call.scales.b) {
    scales.emplace(call.scales, problem, g, m, n, k);
    scales->check(place);
  }
  if (g.count == 0) return out;

  const CurrentStream stream(place);
  check_host(place);
  const bool by_k = g.kind == DETGEMM_K_GROUPED;
  PlanKey key = key_of(problem, n, by_k ? 0 : k, place,
                       bias ? bias->vector.dtype : detgemm_dtype_t{DETGEMM_NONE});
  key.line_scales = scales && key.contract->contract.reduction != DETGEMM_SCALED;
  const GroupedPlan plan = plan_of(GroupedKey{key, g.kind, g.count});
  std::size_t bytes = 0;
  if (detgemm_grouped_plan_workspace_size(plan.get(), m, by_k ? k : 0, &bytes) != DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
  const Workspace workspace(bytes, place);
  const detgemm_matrix_t d = writable(result.matrix);
  detgemm_operands_t arrays{};
  detgemm_operands_init(&arrays, sizeof arrays);
  arrays.a = &a.matrix;
  arrays.b = &b.matrix;
  arrays.d = &d;
  if (call.out_is_c) arrays.c = &result.matrix;
  if (bias) arrays.bias = &bias->vector;
  detgemm_grouped_operands_t operands{};
  detgemm_grouped_operands_init(&operands, sizeof operands);
  operands.arrays = &arrays;
  operands.a_group = a.distance;
  operands.b_group = b.distance;
  operands.d_group = result.distance;
  if (call.out_is_c) operands.c_group = result.distance;
  if (bias) operands.bias_group = bias->distance;
  if (scales) scales->put(arrays, operands);
  if (offs) {
    operands.offsets = offs->data();
    operands.offset_count = offs->count();
    operands.offset_type = offs->type();
  }
  if (detgemm_grouped_plan_run(plan.get(), &stream.stream(), &operands, workspace.data(),
                               workspace.bytes(), nullptr) != DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
  return out;
}

}  // namespace

void grouped_gemm(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Call call(from);
  give(stack, multiply_groups(call, Tensor()));
}

void grouped_gemm_out(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Call call(from);
  Tensor out = from.tensor();
  refuse_forward_level("grouped_gemm.out");
  multiply_groups(call, std::move(out));
}

void grouped_accumulate(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  Tensor sum = from.tensor();
  Call call;
  call.a = from.tensor();
  call.b = from.tensor();
  call.offs = from.optional_tensor();
  call.problem.contract = from.text();
  call.problem.stable = from.integer();
  call.problem.a_snapped = from.boolean();
  call.problem.b_snapped = from.boolean();
  call.problem.continue_from_c = true;
  call.out_is_c = true;
  refuse_forward_level("grouped_accumulate_");
  multiply_groups(call, std::move(sum));
}

}  // namespace detgemm::torch_ops

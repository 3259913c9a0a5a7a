// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/run.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <vector>

namespace detgemm::torch_ops {
namespace {

/// From this many products on, the first call that the reference computes on a CPU says what it
/// takes.
constexpr double kManyProducts = 1e10;

std::atomic<bool> host_forbidden{false};

std::string shape(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

/// Tells a user once that the reference is no way of computing much.
void warn_once(double products, double seconds) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  const std::string text =
      "detgemm: one product on the CPU took " + std::to_string(seconds) + " s (" +
      std::to_string(products / seconds / 1e9) +
      " billion products per second): the reference defines bits and is not meant to be fast";
  aoti_torch_warn("detgemm", "detgemm", 0, text.c_str());
}

/// What the epilogue reads must be there.
void check_c(const Problem& problem, bool given) {
  if (given || (problem.beta == 0 && !problem.continue_from_c)) return;
  refuse("c is None: " + (problem.continue_from_c
                              ? std::string("continue_from_c starts from it")
                              : "beta is " + std::to_string(problem.beta) + ", which reads it"));
}

void check_k(std::int64_t of_a, std::int64_t of_b, bool rows_of_b) {
  if (of_a == of_b) return;
  refuse("a has " + std::to_string(of_a) + " columns and b has " + std::to_string(of_b) +
         (rows_of_b ? " columns" : " rows") + ": both are K and must be equal");
}

detgemm_dtype_t output_of(const Problem& problem) {
  return parsed(problem.contract).contract.output;
}

}  // namespace

std::int64_t leaves_of(const Problem& problem, std::int64_t k) {
  const detgemm_contract_t& contract = parsed(problem.contract).contract;
  if (contract.reduction == DETGEMM_TREE) {
    refuse(
        "contract is \"" + problem.contract +
        "\": scaled_gemm needs a reduction of scaled:LEAF, such as "
        "hopper/e4m3/scaled:128->bf16, or of fold:LEAF or chain with a scale per row and column");
  }
  if (contract.reduction != DETGEMM_SCALED) return 1;
  return k / contract.leaf_k + (k % contract.leaf_k == 0 ? 0 : 1);
}

PlanKey key_of(const Problem& problem, std::int64_t n, std::int64_t k, const Place& place,
               detgemm_dtype_t bias) {
  PlanKey key;
  key.contract = &parsed(problem.contract);
  key.n = n;
  key.k = k;
  key.place = place;
  key.alpha = static_cast<float>(problem.alpha);
  key.beta = static_cast<float>(problem.beta);
  if ((key.alpha == 0 && problem.alpha != 0) || (key.beta == 0 && problem.beta != 0)) {
    const bool alpha = key.alpha == 0 && problem.alpha != 0;
    refuse(std::string(alpha ? "alpha" : "beta") +
           " is too small: fp32 would make it 0; it must be 0 or a number that fp32 holds");
  }
  if (!problem.activation.empty() && problem.activation != "none" &&
      detgemm_activation_parse(whole("activation", problem.activation), &key.activation) !=
          DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
  key.bias = bias;
  key.stable = static_cast<detgemm_stable_t>(problem.stable);
  if (problem.stable < DETGEMM_STABLE_NONE || problem.stable > DETGEMM_STABLE_B) {
    refuse("stable is " + std::to_string(problem.stable) +
           ": it must be 0 (no promise), 1 (a) or 2 (b)");
  }
  key.continue_from_c = problem.continue_from_c;
  whole("backend", problem.backend);
  whole("variant", problem.variant);
  key.backend = &interned(problem.backend);
  key.variant = &interned(problem.variant);
  key.a_snapped = problem.a_snapped;
  key.b_snapped = problem.b_snapped;
  return key;
}

std::int64_t stable_of(std::int64_t promised, bool a_copied, bool b_copied) {
  const bool broken =
      promised == DETGEMM_STABLE_A ? a_copied : promised == DETGEMM_STABLE_B && b_copied;
  return broken ? static_cast<std::int64_t>(DETGEMM_STABLE_NONE) : promised;
}

namespace {

std::size_t scratch_of(const detgemm_plan_t* plan, std::int64_t m) {
  std::size_t bytes = 0;
  if (detgemm_plan_workspace_size(plan, m, &bytes) != DETGEMM_OK) refuse(detgemm_last_error());
  return bytes;
}

/// Whether all rows, or all columns, begin at multiples of 16 bytes.
bool begins_at_16(const detgemm_const_matrix_t& x) {
  const auto size = static_cast<std::int64_t>(detgemm_dtype_size(x.dtype));
  const auto step = x.col_stride == 1 ? x.row_stride : x.col_stride;
  return reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && step * size % 16 == 0;
}

std::size_t fast_scratch_of(const detgemm_plan_t* plan, const detgemm_operands_t& operands) {
  std::size_t bytes = 0;
  if (detgemm_plan_fast_workspace_size(plan, &operands, &bytes) != DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
  return bytes;
}

std::atomic<std::int64_t> fast_count{0};
std::atomic<std::int64_t> slow_count{0};

/// Copies of A and B may be as large as they are: without room for them the run loads rows more
/// slowly.
Workspace workspace_of(const detgemm_plan_t* plan, const detgemm_operands_t& operands,
                       const Place& place) {
  if (!begins_at_16(*operands.a) || !begins_at_16(*operands.b)) {
    const std::size_t fast = fast_scratch_of(plan, operands);
    try {
      Workspace workspace(fast, place);
      fast_count.fetch_add(1, std::memory_order_relaxed);
      return workspace;
    } catch (const NoRoom&) {
      if (fast == scratch_of(plan, operands.d->rows)) throw;
      slow_count.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return {plan, operands.d->rows, place};
}

}  // namespace

OddCounts odd_counts() {
  return {fast_count.load(std::memory_order_relaxed), slow_count.load(std::memory_order_relaxed)};
}

Workspace::Workspace(const detgemm_plan_t* plan, std::int64_t m, const Place& place)
    : Workspace(scratch_of(plan, m), place) {}

Workspace::Workspace(std::size_t bytes, const Place& place) {
  if (bytes == 0) return;
  constexpr std::uintptr_t kAlignment = DETGEMM_WORKSPACE_ALIGNMENT;
  memory_ = empty_bytes(bytes + kAlignment, place);
  void* start = nullptr;
  check(aoti_torch_get_data_ptr(memory_.get(), &start), "give a workspace");
  const auto at = reinterpret_cast<std::uintptr_t>(start);
  data_ = reinterpret_cast<void*>((at + kAlignment - 1) / kAlignment * kAlignment);
  bytes_ = bytes;
}

void forbid_host() { host_forbidden = true; }

void check_host(const Place& place) {
  if (place.kind != DETGEMM_HOST || !host_forbidden) return;
  refuse(
      "this process was forked after detgemm.start was called for several threads: they are the "
      "parent's; start the reference with one thread, or in the child alone");
}

void run(const detgemm_plan_t* plan, const CurrentStream& stream,
         const detgemm_operands_t& operands, const Workspace& workspace) {
  check_host({stream.stream().kind, 0});
  if (detgemm_plan_run(plan, &stream.stream(), &operands, workspace.data(), workspace.bytes(),
                       nullptr) != DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
}

Tensor multiply(const Problem& problem, const Tensor& a, const Tensor& b, const Tensor& c,
                const Tensor& bias, Tensor out, Meaning meaning, const ScaleTensors* scales) {
  const MatrixOf left(a, "a", Copies::allowed);
  const MatrixOf right(b, "b", Copies::allowed);
  const Place place = left.description().place;
  check_same_place(right.description().place, "b", place, "a");
  if (right.description().sizes.size() != 2) {
    refuse("b has " + std::to_string(right.description().sizes.size()) +
           " dimensions: it must have two (bmm takes lists of matrices)");
  }
  detgemm_const_matrix_t factor = right.input();
  check_c(problem, static_cast<bool>(c) || meaning.out_is_c);
  if (meaning.rows_of_b) transpose(factor);  // B as K x N
  check_k(left.cols(), factor.rows, meaning.rows_of_b);

  std::optional<ScalesOf> of_a;
  std::optional<ScalesOf> of_b;
  if (scales != nullptr) {
    const std::int64_t leaves = leaves_of(problem, factor.rows);
    of_a.emplace(scales->a, "scale_a", left.rows(), leaves, Lines::first);
    of_b.emplace(scales->b, "scale_b", factor.cols, leaves, Lines::last);
    check_same_place(of_a->place(), "scale_a", place, "a");
    check_same_place(of_b->place(), "scale_b", place, "a");
  }
  std::optional<VectorOf> addend;
  if (bias) {
    addend.emplace(bias, "bias");
    check_same_place(addend->description().place, "bias", place, "a");
  }
  if (!out) {
    const auto leading = left.description().sizes;
    std::vector<std::int64_t> sizes(leading.begin(), leading.end());
    sizes.back() = factor.cols;
    out = empty(sizes, output_of(problem), place);
  }
  const MatrixOf result(out, "out", Copies::refused);
  check_same_place(result.description().place, "out", place, "a");
  if (result.rows() != left.rows() || result.cols() != factor.cols) {
    refuse("out is " + shape(result.rows(), result.cols()) + ": it must be " +
           shape(left.rows(), factor.cols) + " (M x N)");
  }
  std::optional<MatrixOf> start;
  if (c) {
    start.emplace(c, "c", Copies::allowed);
    check_same_place(start->description().place, "c", place, "a");
  }

  const CurrentStream stream(place);
  PlanKey key = key_of(problem, factor.cols, factor.rows, place,
                       addend ? addend->vector().dtype : detgemm_dtype_t{DETGEMM_NONE});
  key.stable = static_cast<detgemm_stable_t>(stable_of(key.stable, left.copied(), right.copied()));
  key.line_scales = scales != nullptr && key.contract->contract.reduction != DETGEMM_SCALED;
  const Plan plan = plan_of(key);
  const detgemm_matrix_t d = result.output();
  detgemm_operands_t operands{};
  detgemm_operands_init(&operands, sizeof operands);
  operands.a = &left.input();
  operands.b = &factor;
  operands.d = &d;
  if (start) operands.c = &start->input();
  if (meaning.out_is_c) operands.c = &result.input();
  if (addend) operands.bias = &addend->vector();
  if (of_a) operands.scale_a = &of_a->scales();
  if (of_b) operands.scale_b = &of_b->scales();
  const Workspace workspace = workspace_of(plan.get(), operands, place);
  if (place.kind != DETGEMM_HOST) {
    run(plan.get(), stream, operands, workspace);
    return out;
  }
  const double products = static_cast<double>(left.rows()) * static_cast<double>(left.cols()) *
                          static_cast<double>(factor.cols);
  const auto from = std::chrono::steady_clock::now();
  run(plan.get(), stream, operands, workspace);
  if (products > kManyProducts) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
    warn_once(products, took.count());
  }
  return out;
}

Tensor multiply_batch(const Problem& problem, const Tensor& a, const Tensor& b, const Tensor& c,
                      Tensor out) {
  const BatchOf left(a, "a", Copies::allowed);
  const BatchOf right(b, "b", Copies::allowed);
  const Place place = left.description().place;
  check_same_place(right.description().place, "b", place, "a");
  check_k(left.cols(), right.rows(), false);
  check_c(problem, static_cast<bool>(c));
  const auto check_count = [&left](std::int64_t count, const char* name) {
    if (count == left.count()) return;
    refuse(std::string(name) + " has " + std::to_string(count) + " matrices and a has " +
           std::to_string(left.count()) + ": the numbers must be equal");
  };
  check_count(right.count(), "b");
  if (!out) {
    const std::array<std::int64_t, 3> sizes{left.count(), left.rows(), right.cols()};
    out = empty(sizes, output_of(problem), place);
  }
  const BatchOf result(out, "out", Copies::refused);
  check_same_place(result.description().place, "out", place, "a");
  check_count(result.count(), "out");
  if (result.rows() != left.rows() || result.cols() != right.cols()) {
    refuse("out has matrices of " + shape(result.rows(), result.cols()) + ": they must be " +
           shape(left.rows(), right.cols()) + " (M x N)");
  }
  std::optional<BatchOf> start;
  if (c) {
    start.emplace(c, "c", Copies::allowed);
    check_same_place(start->description().place, "c", place, "a");
    check_count(start->count(), "c");
  }
  const CurrentStream stream(place);
  PlanKey key = key_of(problem, right.cols(), left.cols(), place, DETGEMM_NONE);
  key.stable = static_cast<detgemm_stable_t>(stable_of(key.stable, left.copied(), right.copied()));
  const Plan plan = plan_of(key);
  const Workspace workspace(plan.get(), left.rows(), place);
  for (std::int64_t i = 0; i < left.count(); ++i) {
    const detgemm_const_matrix_t ai = left.input(i);
    const detgemm_const_matrix_t bi = right.input(i);
    const detgemm_matrix_t di = result.output(i);
    detgemm_const_matrix_t ci{};
    detgemm_operands_t operands{};
    detgemm_operands_init(&operands, sizeof operands);
    operands.a = &ai;
    operands.b = &bi;
    operands.d = &di;
    if (start) {
      ci = start->input(i);
      operands.c = &ci;
    }
    run(plan.get(), stream, operands, workspace);
  }
  return out;
}

}  // namespace detgemm::torch_ops

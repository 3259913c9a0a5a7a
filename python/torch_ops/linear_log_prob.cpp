// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Both passes of a linear layer with log-probabilities, each in one operator: for few tokens the
// host's calls would take longer than the kernels.
//
//   forward    logits that are kept: Z = X W^T, then its rows; else the kernel of a whole layer, or
//              Z of some rows at a time, whichever is faster
//   backward   for each stripe of columns:  Z (kept, or again) -> G, in bf16
//              dX = dX + G W_c in fp32, rounded with the last stripe;  dW_c = G^T X, or continued
//
// Stripes end where the contract of dX allows a cut, so they move no bit (docs/log-prob.md).

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "python/torch_ops/gemm.hpp"
#include "python/torch_ops/log_prob.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

/// A view of a tensor of one or two dimensions.
Tensor view_of(const Tensor& tensor, std::span<const std::int64_t> sizes,
               std::span<const std::int64_t> strides, std::int64_t first = 0) {
  AtenTensorHandle view = nullptr;
  check(aoti_torch__reinterpret_tensor(tensor.get(), static_cast<std::int64_t>(sizes.size()),
                                       sizes.data(), strides.data(), first, &view),
        "make a view");
  return Tensor(view);
}

void check_dimensions(const char* name, const Tensor& tensor, std::size_t dimensions) {
  const std::size_t found = describe(tensor, name).sizes.size();
  if (found == dimensions) return;
  refuse(std::string(name) + " has " + std::to_string(found) + " dimensions: it must have " +
         std::to_string(dimensions));
}

/// Refuses a tensor, which may be absent, of other dimensions, or with fewer rows, columns or
/// elements than the vocabulary has columns that exist.
struct Sized {
  const char* name;
  const Tensor& tensor;
  const char* lines;  ///< "rows", "columns" or "elements"
  std::size_t dimensions = 2;
  std::size_t dim = 0;
};
void check_lines(std::initializer_list<Sized> all, std::int64_t valid) {
  if (valid < 0) refuse("valid is " + std::to_string(valid) + ": it must not be negative");
  for (const Sized& each : all) {
    if (!each.tensor) continue;
    check_dimensions(each.name, each.tensor, each.dimensions);
    const std::int64_t found = describe(each.tensor, each.name).sizes[each.dim];
    if (found >= valid) continue;
    refuse(std::string(each.name) + " has " + std::to_string(found) + " " + each.lines +
           " and valid is " + std::to_string(valid) + ": it must have at least as many");
  }
}

/// `count` lines from `first` on, of dimension `dim`, which the tensor has (`check_lines`).
Tensor part_of(const char* name, const Tensor& tensor, std::size_t dim, std::int64_t first,
               std::int64_t count) {
  const Description d = describe(tensor, name);
  std::array<std::int64_t, 2> sizes{};
  std::copy(d.sizes.begin(), d.sizes.end(), sizes.begin());
  sizes[dim] = count;
  return view_of(tensor, std::span(sizes).first(d.sizes.size()), d.strides, first * d.strides[dim]);
}

Tensor transposed(const Tensor& tensor) {
  const Description d = describe(tensor, "a gradient");
  const std::array sizes{d.sizes[1], d.sizes[0]}, strides{d.strides[1], d.strides[0]};
  return view_of(tensor, sizes, strides);
}

/// One line of numbers as a matrix of one row.
Tensor as_row(const Tensor& line) {
  const Description d = describe(line, "a gradient");
  const std::array sizes{std::int64_t{1}, d.sizes[0]}, strides{d.sizes[0], d.strides[0]};
  return view_of(line, sizes, strides);
}

/// The tensor itself, or a copy of this type.
Tensor as_type(Tensor tensor, detgemm_dtype_t type) {
  const Description d = describe(tensor, "a gradient");
  if (d.dtype == type) return tensor;
  Tensor copy = empty(d.sizes, type, d.place);
  check(aoti_torch_copy_(copy.get(), tensor.get(), 0), "convert a gradient");
  return copy;
}

/// The contract with outputs of this type.
std::string with_output(const std::string& contract, detgemm_dtype_t type) {
  return contract.substr(0, contract.find("->")) + "->" + detgemm_dtype_name(type);
}

Problem product(const std::string& contract, double alpha = 1) {
  Problem problem;
  problem.contract = contract;
  problem.alpha = alpha;
  return problem;
}

/// Columns of an array of logits or of G: rows begin at multiples of 16 bytes, so that products and
/// the kernels of rows move 16 bytes at a time, whatever the vocabulary.
std::int64_t padded(std::int64_t columns) { return (columns + 7) / 8 * 8; }

/// A new matrix with such rows.
Tensor rows_of_16(std::int64_t rows, std::int64_t columns, detgemm_dtype_t type,
                  const Place& place) {
  const std::int64_t shape[] = {rows, padded(columns)};
  Tensor whole = empty(shape, type, place);
  return shape[1] == columns ? std::move(whole) : part_of("logits", whole, 1, 0, columns);
}

/// Z of the columns from `first` on, into `out`.
void logits_of(const Tensor& x, const Tensor& weight, const Tensor& bias,
               const std::string& contract, double alpha, std::int64_t first, std::int64_t count,
               const Tensor& out) {
  const auto columns = [&](std::int64_t from, std::int64_t many) {
    const Tensor part = part_of("weight", weight, 0, first + from, many);
    const Tensor addend = bias ? part_of("bias", bias, 0, first + from, many) : Tensor();
    multiply(product(contract, alpha), x, part, {}, addend, part_of("logits", out, 1, from, many),
             {.rows_of_b = true});
  };
  // Rows of whole 16 bytes are stored by TMA: up to a quarter faster, and a few columns more in a
  // product of their own take microseconds (docs/log/log-prob.md).
  constexpr std::int64_t kFewRows = 64;
  const std::int64_t rest = describe(x, "x").sizes[0] > kFewRows && count > 8 ? count % 8 : 0;
  columns(0, count - rest);
  if (rest > 0) columns(count - rest, rest);
}

/// Rows whose logits exist at a time, in at most so many bytes, where a forward pass keeps none. 0:
/// they are never stored, in the kernel of a whole layer. A choice of time: the bits are the same.
///
///   a whole layer   tokens by 128, or 192 of them; sums after each tile, then a join of nodes
///   stored          tokens by 8; then a kernel of rows reads the logits, perhaps in turns
///
/// Times are per logit, in those of a product per number along H (docs/log/log-prob.md).
std::int64_t stored_rows(std::int64_t t, std::int64_t h, std::int64_t columns,
                         detgemm_dtype_t logits, std::int64_t bytes) {
  constexpr std::int64_t kTile = 128;
  constexpr double kSum = 240, kJoin = 3e9, kRead = 360, kTurns = 1.03;
  const std::int64_t size = logits == DETGEMM_FP32 ? 4 : 2;
  const std::int64_t fit = bytes / (size * std::max<std::int64_t>(padded(columns), 1));
  const auto tiles = [](std::int64_t rows) { return (rows + kTile - 1) / kTile; };
  const bool by_192 = t > 160 && t <= 192;
  if (t <= kTile || by_192 || fit < kTile || columns < 1) return 0;
  const auto along = static_cast<double>(h);
  const double fused =
      static_cast<double>(tiles(t) * kTile) * (along + kSum) + kJoin / static_cast<double>(columns);
  const double stored = static_cast<double>(t) * (along + kRead * static_cast<double>(size) / 2) *
                        (t <= fit ? 1 : kTurns);
  if (fused <= stored) return 0;
  if (t <= fit) return t;
  const std::int64_t at_once = fit / kTile;  // tiles; turns are of about the same size
  const std::int64_t turns = (tiles(t) + at_once - 1) / at_once;
  return (tiles(t) + turns - 1) / turns * kTile;
}

/// What the backward pass of a layer reads, and what it computes.
struct Backward {
  Tensor d_logp, d_lse, d_entropy, x, weight, targets, scale, bias, k, r, lse, entropy, kept;
  Tensor main_grad, bias_main_grad, ones;
  std::string forward, dgrad, wgrad;
  std::int64_t valid, stripe_bytes;
  bool of_x, of_weight, of_bias;
  double alpha;

  explicit Backward(Arguments& from) {
    d_logp = from.optional_tensor();
    d_lse = from.optional_tensor();
    d_entropy = from.optional_tensor();
    x = from.tensor();
    weight = from.tensor();
    targets = from.tensor();
    scale = from.optional_tensor();
    bias = from.optional_tensor();
    k = from.tensor();
    r = from.tensor();
    lse = from.tensor();
    entropy = from.tensor();
    kept = from.tensor();
    main_grad = from.optional_tensor();
    bias_main_grad = from.optional_tensor();
    ones = from.optional_tensor();
    forward = from.text();
    dgrad = from.text();
    wgrad = from.text();
    valid = from.integer();
    stripe_bytes = from.integer();
    of_x = from.boolean();
    of_weight = from.boolean();
    of_bias = from.boolean();
    alpha = from.real();
  }
};

/// A new gradient of a parameter, of which lines from `here` on do not exist and are +0.
Tensor new_gradient(const Tensor& parameter, std::int64_t here) {
  const Description d = describe(parameter, "weight");
  Tensor made = empty(d.sizes, d.dtype, d.place);
  if (here < d.sizes[0]) {
    const Tensor rest = part_of("a gradient", made, 0, here, d.sizes[0] - here);
    check(aoti_torch_zero_(rest.get()), "clear a gradient");
  }
  return made;
}

class Gradients {
 public:
  explicit Gradients(const Backward& call)
      : c_(call),
        x_(describe(call.x, "x")),
        here_(call.valid),
        keeps_(describe(call.kept, "kept").sizes[1] > 0),
        logits_(parsed(call.forward).contract.output),
        in_place_(!keeps_ && logits_ == DETGEMM_BF16),
        stripe_(
            gradient_stripe(call.dgrad, (keeps_ ? 4 : 1) * call.stripe_bytes, x_.sizes[0], here_)),
        wide_(with_output(call.dgrad, DETGEMM_FP32)) {
    if (c_.of_weight && !c_.main_grad) dw_ = new_gradient(c_.weight, here_);
    if (c_.of_bias && !c_.bias_main_grad) db_ = new_gradient(c_.bias, here_);
  }

  void run() {
    for (std::int64_t first = 0; first < here_; first += stripe_) {
      stripe(first, std::min(stripe_, here_ - first));
    }
    if (c_.of_x) dx_ = as_type(std::move(dx_), x_.dtype);
  }

  void give_to(StableIValue* stack) {
    std::size_t at = 0;
    for (Tensor* each : {&dx_, &dw_, &db_}) {
      const std::int64_t none[] = {0};
      give(stack, *each ? std::move(*each) : empty(none, x_.dtype, x_.place), at++);
    }
  }

 private:
  void stripe(std::int64_t first, std::int64_t count) {
    Tensor z;
    if (keeps_) {
      z = part_of("kept", c_.kept, 1, first, count);
    } else {
      z = rows_of_16(x_.sizes[0], count, logits_, x_.place);
      logits_of(c_.x, c_.weight, c_.bias, c_.forward, c_.alpha, first, count, z);
    }
    Tensor g;
    if (c_.of_bias) {  // alpha is the product's alone
      g = gradient(z, first, count, 1.0, false);
      sum_rows(g, first, count);
    }
    if (!g || c_.alpha != 1.0) g = gradient(z, first, count, c_.alpha, in_place_);
    z = {};
    if (c_.of_x) add_dx(g, first, count);
    if (c_.of_weight) add_dw(g, first, count);
  }

  Tensor gradient(const Tensor& z, std::int64_t first, std::int64_t count, double factor,
                  bool in_place) const {
    Tensor g = in_place ? part_of("logits", z, 1, 0, count)
                        : rows_of_16(x_.sizes[0], count, DETGEMM_BF16, x_.place);
    const Tensor none;
    const bool sums = static_cast<bool>(c_.d_entropy);
    gradient_of_logits(z,
                       {c_.targets, c_.scale, c_.k, c_.r, sums ? c_.lse : none,
                        sums ? c_.entropy : none, c_.d_logp, c_.d_lse, c_.d_entropy},
                       first, here_, factor, g);
    return as_type(std::move(g), x_.dtype);
  }

  void add_dx(const Tensor& g, std::int64_t first, std::int64_t count) {
    const Tensor weight = part_of("weight", c_.weight, 0, first, count);
    const bool last = first + count == here_;
    Problem problem = product(last ? c_.dgrad : wide_);
    problem.continue_from_c = first > 0;
    const Tensor before = std::move(dx_);
    dx_ = multiply(problem, g, weight, before, {}, {});
  }

  void add_dw(const Tensor& g, std::int64_t first, std::int64_t count) {
    add(c_.main_grad, dw_, transposed(g), c_.x, first, count);
  }
  void sum_rows(const Tensor& g, std::int64_t first, std::int64_t count) {
    const Tensor main = c_.bias_main_grad ? as_row(c_.bias_main_grad) : Tensor();
    const Tensor mine = db_ ? as_row(db_) : Tensor();
    add(main, mine, c_.ones, g, first, count, 1);
  }
  /// a b under wgrad: added to lines of `main`, or else these lines of `made`.
  void add(const Tensor& main, const Tensor& made, const Tensor& a, const Tensor& b,
           std::int64_t first, std::int64_t count, std::size_t dim = 0) const {
    if (!main) {
      const std::string narrow = with_output(c_.wgrad, describe(made, "a gradient").dtype);
      multiply(product(narrow), a, b, {}, {}, part_of("a gradient", made, dim, first, count));
      return;
    }
    Problem problem = product(c_.wgrad);
    problem.continue_from_c = true;
    multiply(problem, a, b, {}, {}, part_of("main_grad", main, dim, first, count),
             {.out_is_c = true});
  }

  const Backward& c_;
  Description x_;
  std::int64_t here_;
  bool keeps_;
  detgemm_dtype_t logits_;
  bool in_place_;
  std::int64_t stripe_;
  std::string wide_;
  Tensor dx_, dw_, db_;
};

}  // namespace

std::int64_t gradient_stripe(const std::string& dgrad, std::int64_t bytes, std::int64_t t,
                             std::int64_t columns) {
  const detgemm_contract_t& contract = parsed(dgrad).contract;
  if (contract.reduction == DETGEMM_TREE) return std::max<std::int64_t>(columns, 1);
  const std::int64_t unit = contract.leaf_k != 0 ? contract.leaf_k : contract.k_block;
  return std::max<std::int64_t>(1, bytes / (2 * std::max<std::int64_t>(t, 1) * unit)) * unit;
}

void linear_log_prob(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Tensor x = from.tensor(), weight = from.tensor(), targets = from.tensor();
  const Tensor scale = from.optional_tensor(), bias = from.optional_tensor();
  const Tensor main_grad = from.optional_tensor();  // for the backward pass alone
  const Tensor bias_main_grad = from.optional_tensor();
  const std::string forward = from.text(), dgrad = from.text(), wgrad = from.text();
  const std::int64_t valid = from.integer();
  const bool entropy = from.boolean(), keeps = from.boolean();
  from.boolean();  // zero_gradient
  const double alpha = from.real();
  const std::int64_t stripe_bytes = from.integer();
  check_dimensions("x", x, 2);
  check_lines({{"weight", weight, "rows"}, {"bias", bias, "elements", 1}}, valid);
  const Description rows = describe(x, "x");
  const std::int64_t t = rows.sizes[0];
  const detgemm_dtype_t type = parsed(forward).contract.output;
  RowResults results = row_results(t, t, entropy, rows.place);
  const std::int64_t step = keeps ? t : stored_rows(t, rows.sizes[1], valid, type, stripe_bytes);
  const std::int64_t shape[] = {step, step > 0 || keeps ? padded(valid) : 0};
  Tensor stored = empty(shape, type, rows.place);
  if (step == 0) {
    log_probs_of_layer({x, weight, targets, scale, bias, forward, valid, entropy, alpha}, results);
  }
  for (std::int64_t first = 0; first < t && step > 0; first += step) {
    const std::int64_t count = std::min(step, t - first);
    const Tensor z = part_of("logits", stored, 0, 0, count);
    logits_of(part_of("x", x, 0, first, count), weight, bias, forward, alpha, 0, valid,
              part_of("logits", z, 1, 0, valid));
    log_probs_of_rows(z, targets, scale, valid, results, first);
  }
  for (std::size_t i = 0; i < results.size(); ++i) give(stack, std::move(results[i]), i);
  const std::int64_t none[] = {t, 0};
  give(stack, keeps ? std::move(stored) : empty(none, type, rows.place), results.size());
}

void linear_log_prob_backward(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Backward call(from);
  check_dimensions("x", call.x, 2);
  check_dimensions("kept", call.kept, 2);
  const Tensor none;
  const Tensor& kept = describe(call.kept, "kept").sizes[1] == 0 ? none : call.kept;
  check_lines({{"weight", call.weight, "rows"},
               {"bias", call.bias, "elements", 1},
               {"kept", kept, "columns", 2, 1},
               {"main_grad", call.main_grad, "rows"},
               {"bias_main_grad", call.bias_main_grad, "elements", 1}},
              call.valid);
  if (call.of_bias && !call.ones)
    refuse("ones is absent: the gradient of bias needs a row of ones");
  Gradients gradients(call);
  gradients.run();
  gradients.give_to(stack);
}

}  // namespace detgemm::torch_ops

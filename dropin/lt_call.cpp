// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/lt_call.hpp"

#include <algorithm>
#include <string>

#include "core/arithmetic/floating_point_mode.hpp"

namespace detgemm::dropin {
namespace {

Outcome invalid_call(std::string sentence) { return {Fate::invalid, std::move(sentence)}; }
Outcome passed(std::string sentence) { return {Fate::passed, std::move(sentence)}; }

std::string shape(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

/// op(X) as a view.
ConstMatrix view(const LtMatrix& x, BlasOp op) {
  ConstMatrix v = x.row_order ? row_major(x.data, x.rows, x.cols, dtype_of(x.type), x.ld)
                              : col_major(x.data, x.rows, x.cols, dtype_of(x.type), x.ld);
  if (op == BlasOp::transpose) {
    std::swap(v.rows, v.cols);
    std::swap(v.row_stride, v.col_stride);
  }
  return v;
}

ConstMatrix transposed(ConstMatrix v) {
  std::swap(v.rows, v.cols);
  std::swap(v.row_stride, v.col_stride);
  return v;
}

Matrix writable(const ConstMatrix& v, const void* data) {
  return {const_cast<void*>(data), v.rows, v.cols, v.row_stride, v.col_stride, v.dtype};
}

/// Whether the elements of op(X) that follow each other in a column do so in memory. X's own ld
/// decides, so that a matrix of one row counts as its description says.
bool runs_down(const LtMatrix& x, BlasOp op) { return x.row_order == (op == BlasOp::transpose); }

/// Why the call has no contract; empty if it may have one.
std::string not_taken(const LtCall& c) {
  if (!c.a.known || !c.b.known || !c.c.known || !c.d.known) {
    return "a matrix is tiled, in planes or an array of addresses";
  }
  if (c.epilogue == LtEpilogue::other) return "its epilogue has no contract";
  if (!c.whole) return "a triangle of C or its transpose is requested";
  if (c.scaled) return "factors or maxima of its matrices are requested";
  if (c.mode == LtPointers::vector) return "alpha is a vector on the device";
  const bool half = c.compute == BlasCompute::fp16;
  if (c.scalars != (half ? LtScalars::fp16 : LtScalars::fp32)) {
    return "the type of alpha and beta has no contract with its compute type";
  }
  if (c.with_bias && c.bias_type_known && c.bias_type == BlasType::other) {
    return "the type of its bias has no contract";
  }
  return {};
}

/// The rules that hold for every cuBLASLt; empty if all do.
std::string broken_rule(const LtCall& c) {
  if (c.op_a == BlasOp::unknown) return "TRANSA is not an operation: it must be N, T or C";
  if (c.op_b == BlasOp::unknown) return "TRANSB is not an operation: it must be N, T or C";
  for (const auto& [what, x] : {std::pair{"A", &c.a}, {"B", &c.b}, {"C", &c.c}, {"D", &c.d}}) {
    const std::int64_t extent = std::max<std::int64_t>(1, x->row_order ? x->cols : x->rows);
    if (x->ld < extent) {
      return std::string(what) + " has a leading dimension of " + std::to_string(x->ld) +
             ": it must be at least " + std::to_string(extent);
    }
    if (x->batch != c.d.batch) {
      return std::string(what) + " has a batch of " + std::to_string(x->batch) + ": D has " +
             std::to_string(c.d.batch);
    }
  }
  const ConstMatrix a = view(c.a, c.op_a);
  const ConstMatrix b = view(c.b, c.op_b);
  if (a.cols != b.rows || a.rows != c.d.rows || b.cols != c.d.cols) {
    return "op(A) is " + shape(a.rows, a.cols) + ", op(B) " + shape(b.rows, b.cols) + " and D " +
           shape(c.d.rows, c.d.cols) + ": they do not multiply";
  }
  if (c.c.rows != c.d.rows || c.c.cols != c.d.cols) {
    return "C is " + shape(c.c.rows, c.c.cols) + ": D is " + shape(c.d.rows, c.d.cols);
  }
  return {};
}

/// The product without its numbers.
Outcome translate(const LtCall& c, Product& p) {
  std::string why;
  if (why = not_taken(c); !why.empty()) return passed(std::move(why));
  const auto kind = kind_of(c.a.type, c.b.type, c.d.type, c.compute, false, why);
  if (!kind) return passed(std::move(why));
  if (why = broken_rule(c); !why.empty()) return invalid_call(std::move(why));
  p.kind = *kind;
  p.output = dtype_of(c.d.type);
  const ConstMatrix a = view(c.a, c.op_a);
  const ConstMatrix b = view(c.b, c.op_b);
  const ConstMatrix cc = view(c.c, BlasOp::none);
  const ConstMatrix d = view(c.d, BlasOp::none);
  // A bias has an element per row of the vendor's D: a row of our D must then be a column of it.
  const bool as_it_is = c.d.row_order && !c.with_bias;
  p.a = as_it_is ? a : transposed(b);
  p.b = as_it_is ? b : transposed(a);
  p.c = as_it_is ? cc : transposed(cc);
  p.d = writable(as_it_is ? d : transposed(d), c.d.data);
  p.stride_a = as_it_is ? c.a.batch_stride : c.b.batch_stride;
  p.stride_b = as_it_is ? c.b.batch_stride : c.a.batch_stride;
  p.stride_c = c.c.batch_stride;
  p.stride_d = c.d.batch_stride;
  p.batch = c.d.batch;
  // The letters are those of the column-major product with the same D: of B^T * A^T for a D in
  // rows.
  const bool first = c.d.row_order ? !runs_down(c.b, c.op_b) : runs_down(c.a, c.op_a);
  const bool second = c.d.row_order ? !runs_down(c.a, c.op_a) : runs_down(c.b, c.op_b);
  p.direction = static_cast<Direction>((first ? 0 : 2) + (second ? 0 : 1));
  p.activation = c.epilogue == LtEpilogue::relu   ? Activation::relu
                 : c.epilogue == LtEpilogue::gelu ? Activation::gelu_tanh
                                                  : Activation::none;
  if (c.with_bias) {
    p.bias = {c.bias, c.d.rows, c.bias_type_known ? dtype_of(c.bias_type) : p.output};
    p.stride_bias = c.bias_batch_stride;
  }
  p.stream.handle = c.stream;
  p.workspace = c.workspace;
  return {};
}

Outcome run(const LtCall& c) {
  const arithmetic::FloatingPointMode ieee;  // as in compute()
  Product p;
  if (Outcome o = translate(c, p); o.fate != Fate::taken) return o;
  if (c.alpha == nullptr || c.beta == nullptr) {
    return invalid_call("alpha or beta is null: it must be the address of a number");
  }
  if (c.with_bias && c.bias == nullptr && c.d.rows > 0) {
    return invalid_call("the epilogue adds a bias whose address is null");
  }
  if (p.d.rows > 0 && p.d.cols > 0 && p.batch > 0) {
    const bool device = c.mode == LtPointers::device;
    const bool half = c.scalars == LtScalars::fp16;
    if (Status s = read_scalar(c.alpha, half, device, c.stream, p.alpha); !s) {
      return passed(s.message());
    }
    if (Status s = read_scalar(c.beta, half, device, c.stream, p.beta); !s) {
      return passed(s.message());
    }
  }
  if (p.beta != 0.0F && c.c.type != c.d.type) return passed("C and D have different types");
  return compute(c.function, p);
}

}  // namespace

Known known(const LtCall& c) noexcept {
  const bool as_it_is = c.d.row_order && !c.with_bias;
  const std::int64_t k = c.op_a == BlasOp::transpose ? c.a.rows : c.a.cols;
  return {c.function, "",       as_it_is ? c.d.rows : c.d.cols, as_it_is ? c.d.cols : c.d.rows,
          k,          c.d.batch};
}

Outcome compute(const LtCall& call) noexcept try {
  return run(call);
} catch (const std::exception& error) {
  return {Fate::failed, error.what()};
}

std::optional<std::size_t> workspace_of(const LtCall& call) noexcept try {
  Product p;
  if (translate(call, p).fate != Fate::taken) return {};
  // The question comes before the numbers and the bias are known; neither needs workspace.
  p.bias = {};
  return workspace_of(p);
} catch (const std::exception&) {
  return {};
}

}  // namespace detgemm::dropin

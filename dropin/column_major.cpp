// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/column_major.hpp"

#include <algorithm>
#include <string>

namespace detgemm::dropin {
namespace {

Outcome invalid_call(std::string sentence) { return {Fate::invalid, std::move(sentence)}; }
Outcome passed(std::string sentence) { return {Fate::passed, std::move(sentence)}; }

std::string is(const char* what, std::int64_t value, const char* rule) {
  return std::string(what) + " is " + std::to_string(value) + ": it must be " + rule;
}

/// Leading dimensions count the elements between columns as stored.
std::string leading(const char* what, std::int64_t value, std::int64_t rows) {
  if (value >= std::max<std::int64_t>(1, rows)) return {};
  return is(what, value, ("at least " + std::to_string(std::max<std::int64_t>(1, rows))).c_str());
}

/// The rules of the BLAS for a product, in the order of its arguments; empty if all hold.
std::string broken_rule(const ColumnMajorCall& c) {
  if (c.op_a == BlasOp::unknown) return "transa is not an operation: it must be N, T or C";
  if (c.op_b == BlasOp::unknown) return "transb is not an operation: it must be N, T or C";
  for (const auto& [what, value] :
       {std::pair{"m", c.m}, {"n", c.n}, {"k", c.k}, {"batchCount", c.batch}}) {
    if (value < 0) return is(what, value, "0 or more");
  }
  if (auto s = leading("lda", c.lda, c.op_a == BlasOp::none ? c.m : c.k); !s.empty()) return s;
  if (auto s = leading("ldb", c.ldb, c.op_b == BlasOp::none ? c.k : c.n); !s.empty()) return s;
  if (auto s = leading("ldc", c.ldc, c.m); !s.empty()) return s;
  if (c.alpha == nullptr) return "alpha is null: it must be the address of a number";
  if (c.beta == nullptr) return "beta is null: it must be the address of a number";
  return {};
}

/// op(X)^T of a column-major X as a row-major view: rows x cols, where op(X) is cols x rows.
ConstMatrix transposed(const void* data, BlasOp op, std::int64_t rows, std::int64_t cols,
                       std::int64_t ld, DType type) {
  return op == BlasOp::none ? row_major(data, rows, cols, type, ld)
                            : col_major(data, rows, cols, type, ld);
}

Direction direction_of(BlasOp a, BlasOp b) {
  return static_cast<Direction>((a == BlasOp::transpose ? 2 : 0) +
                                (b == BlasOp::transpose ? 1 : 0));
}

Status read_scalars(Product& p, const void* alpha, const void* beta, bool fp16,
                    const HandleState& handle) {
  const bool device = handle.scalars_on_device;
  if (Status s = read_scalar(alpha, fp16, device, handle.stream, p.alpha); !s) return s;
  return read_scalar(beta, fp16, device, handle.stream, p.beta);
}

Outcome translate(const ColumnMajorCall& c, const HandleState& handle) {
  std::string why;
  const auto kind = kind_of(c.type_a, c.type_b, c.type_c, c.compute, handle.fewer_bits, why);
  if (!kind) return passed(why);
  if (auto rule = broken_rule(c); !rule.empty()) return invalid_call(std::move(rule));
  Product p;
  p.kind = *kind;
  p.direction = direction_of(c.op_a, c.op_b);
  p.output = dtype_of(c.type_c);
  const DType input = dtype_of(c.type_a);
  p.a = transposed(c.addresses ? nullptr : c.b, c.op_b, c.n, c.k, c.ldb, input);
  p.b = transposed(c.addresses ? nullptr : c.a, c.op_a, c.k, c.m, c.lda, input);
  p.d = row_major(c.addresses ? nullptr : c.c, c.n, c.m, p.output, c.ldc);
  p.c = p.d;
  p.batch = c.batch;
  p.stride_a = c.stride_b;
  p.stride_b = c.stride_a;
  p.stride_d = p.stride_c = c.stride_c;
  if (c.addresses) {
    p.addresses_a = static_cast<const void* const*>(c.b);
    p.addresses_b = static_cast<const void* const*>(c.a);
    p.addresses_d = static_cast<void* const*>(c.c);
  }
  p.stream.handle = handle.stream;
  p.workspace = handle.workspace;
  if (c.m > 0 && c.n > 0 && c.batch > 0) {
    if (Status s = read_scalars(p, c.alpha, c.beta, c.compute == BlasCompute::fp16, handle); !s) {
      return passed(s.message());
    }
  }
  return compute(c.function, p);
}

std::string broken_rule(const VectorCall& c) {
  if (c.op == BlasOp::unknown) return "trans is not an operation: it must be N, T or C";
  for (const auto& [what, value] : {std::pair{"m", c.m}, {"n", c.n}, {"batchCount", c.batch}}) {
    if (value < 0) return is(what, value, "0 or more");
  }
  if (auto s = leading("lda", c.lda, c.m); !s.empty()) return s;
  if (c.incx == 0) return is("incx", c.incx, "another number");
  if (c.incy == 0) return is("incy", c.incy, "another number");
  if (c.alpha == nullptr) return "alpha is null: it must be the address of a number";
  if (c.beta == nullptr) return "beta is null: it must be the address of a number";
  return {};
}

/// y^T = x^T * op(A)^T, a product of one row: row i of x's matrix in any batch gives the same bits.
Outcome translate(const VectorCall& c, const HandleState& handle) {
  std::string why;
  const BlasCompute as = c.fp16_scalars ? BlasCompute::fp16 : BlasCompute::fp32;
  const auto kind = kind_of(c.type, c.type, c.type_y, as, handle.fewer_bits, why);
  if (!kind) return passed(why);
  if (auto rule = broken_rule(c); !rule.empty()) return invalid_call(std::move(rule));
  if (c.incx < 0 || c.incy < 0) return passed("a vector runs backwards (incx or incy below 0)");
  const bool transposes = c.op == BlasOp::transpose;
  const std::int64_t n = transposes ? c.n : c.m;
  const std::int64_t k = transposes ? c.m : c.n;
  const DType input = dtype_of(c.type);
  Product p;
  p.kind = *kind;
  p.direction = direction_of(c.op, BlasOp::none);
  p.output = dtype_of(c.type_y);
  p.a = {c.addresses ? nullptr : c.x, 1, k, 0, c.incx, input};
  p.b = transposed(c.addresses ? nullptr : c.a, c.op, k, n, c.lda, input);
  p.d = {c.addresses ? nullptr : c.y, 1, n, 0, c.incy, p.output};
  p.c = p.d;
  p.batch = c.batch;
  p.stride_a = c.stride_x;
  p.stride_b = c.stride_a;
  p.stride_d = p.stride_c = c.stride_y;
  if (c.addresses) {
    p.addresses_a = static_cast<const void* const*>(c.x);
    p.addresses_b = static_cast<const void* const*>(c.a);
    p.addresses_d = static_cast<void* const*>(c.y);
  }
  p.stream.handle = handle.stream;
  p.workspace = handle.workspace;
  if (n > 0 && c.batch > 0) {
    if (Status s = read_scalars(p, c.alpha, c.beta, c.fp16_scalars, handle); !s) {
      return passed(s.message());
    }
  }
  return compute(c.function, p);
}

}  // namespace

Outcome compute(const ColumnMajorCall& call, const HandleState& handle) noexcept try {
  return translate(call, handle);
} catch (const std::exception& error) {
  return {Fate::failed, error.what()};
}

Outcome compute(const VectorCall& call, const HandleState& handle) noexcept try {
  return translate(call, handle);
} catch (const std::exception& error) {
  return {Fate::failed, error.what()};
}

}  // namespace detgemm::dropin

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/checks.hpp"

#include <limits>
#include <string>

namespace detgemm {
namespace {

std::string shape(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

/// a * b in int64, or false.
bool product(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

Status check_type(std::string_view what, DType type, DType expected, std::string_view why) {
  if (type == expected) return {};
  return invalid(std::string(what) + ".dtype is " + std::string(name(type)) + ": " +
                 std::string(why) + " needs " + std::string(name(expected)));
}

Status check_shape(std::string_view what, const ConstMatrix& view, std::int64_t rows,
                   std::int64_t cols, std::string_view rule) {
  if (view.rows == rows && view.cols == cols) return {};
  return invalid(std::string(what) + " is " + shape(view.rows, view.cols) + ": it must be " +
                 shape(rows, cols) + " (" + std::string(rule) + ")");
}

/// tf32 lives in fp32 containers.
DType stored_type(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

bool same_view(const ConstMatrix& x, const ConstMatrix& y) {
  return x.data == y.data && x.dtype == y.dtype && x.row_stride == y.row_stride &&
         x.col_stride == y.col_stride;
}

Extent extent_of(const ConstVector& vector) {
  const auto begin = reinterpret_cast<std::uintptr_t>(vector.data);
  return {begin, begin + static_cast<std::uintptr_t>(vector.size) * size_of(vector.dtype)};
}

Status check_bias(const GemmSpec& spec, const ConstVector& bias) {
  if (Status s = check_type("bias", bias.dtype, *spec.bias, "the plan"); !s) return s;
  if (bias.size != spec.n) {
    return invalid("bias.size is " + std::to_string(bias.size) +
                   ": it must be n = " + std::to_string(spec.n));
  }
  if (bias.size > 0 && bias.data == nullptr) {
    return invalid("bias.data is null: the plan adds a bias of " + std::to_string(spec.n) +
                   " elements");
  }
  if (reinterpret_cast<std::uintptr_t>(bias.data) % size_of(bias.dtype) != 0) {
    return invalid("bias.data is not aligned to its elements of " +
                   std::to_string(size_of(bias.dtype)) + " bytes");
  }
  return {};
}

}  // namespace

Status check_view(std::string_view what, const ConstMatrix& view) {
  const std::string label(what);
  if (size_of(view.dtype) == 0 || view.dtype == DType::tf32) {
    return invalid(label + ".dtype is " + std::string(name(view.dtype)) + " (" +
                   std::to_string(static_cast<int>(view.dtype)) +
                   "): memory holds bf16, fp16, fp32, e4m3 or e5m2");
  }
  if (view.rows < 0) {
    return invalid(label + ".rows is " + std::to_string(view.rows) + ": it must not be negative");
  }
  if (view.cols < 0) {
    return invalid(label + ".cols is " + std::to_string(view.cols) + ": it must not be negative");
  }
  if (view.rows == 0 || view.cols == 0) return {};
  const bool one_row = view.rows == 1;
  const bool one_col = view.cols == 1;
  const bool unit_cols = one_col || view.col_stride == 1;
  const bool unit_rows = one_row || view.row_stride == 1;
  const bool row_major = unit_cols && (one_row || view.row_stride >= view.cols);
  const bool col_major = unit_rows && (one_col || view.col_stride >= view.rows);
  if (!row_major && !col_major) {
    return invalid(label + " is " + shape(view.rows, view.cols) + " with strides (" +
                   std::to_string(view.row_stride) + ", " + std::to_string(view.col_stride) +
                   "): one stride must be 1 and the other at least the extent along it");
  }
  std::int64_t rows_span = 0;
  std::int64_t cols_span = 0;
  std::int64_t last = 0;
  std::int64_t bytes = 0;
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  if (!product(view.rows - 1, one_row ? 0 : view.row_stride, rows_span) ||
      !product(view.cols - 1, one_col ? 0 : view.col_stride, cols_span) ||
      __builtin_add_overflow(rows_span, cols_span, &last) ||
      last == std::numeric_limits<std::int64_t>::max() || !product(last + 1, size, bytes)) {
    return invalid(label + " is " + shape(view.rows, view.cols) + " with strides (" +
                   std::to_string(view.row_stride) + ", " + std::to_string(view.col_stride) +
                   "): its bytes must fit 2^63");
  }
  if (view.data == nullptr) {
    return invalid(label + ".data is null: the view has " + shape(view.rows, view.cols) +
                   " elements");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  if (address % static_cast<std::uintptr_t>(size) != 0) {
    return invalid(label + ".data is not aligned to its elements of " + std::to_string(size) +
                   " bytes");
  }
  if (static_cast<std::uintptr_t>(bytes) > std::numeric_limits<std::uintptr_t>::max() - address) {
    return invalid(label + " is " + shape(view.rows, view.cols) +
                   ": it must end within the address space");
  }
  return {};
}

Extent extent_of(const ConstMatrix& view) {
  if (view.rows <= 0 || view.cols <= 0) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
  const std::int64_t last = (view.rows > 1 ? (view.rows - 1) * view.row_stride : 0) +
                            (view.cols > 1 ? (view.cols - 1) * view.col_stride : 0);
  return {begin, begin + static_cast<std::uintptr_t>(last + 1) * size_of(view.dtype)};
}

Status check_output_side(const GemmSpec& spec, const Operands& operands) {
  const Matrix& d = operands.d;
  if (Status s = check_view("d", d); !s) return s;
  if (Status s = check_type("d", d.dtype, spec.contract.output, "the contract"); !s) return s;
  if (d.cols != spec.n) return check_shape("d", d, d.rows, spec.n, "m x n");
  std::int64_t outputs = 0;
  if (!product(d.rows, spec.n, outputs)) {
    return invalid("d is " + shape(d.rows, d.cols) + ": m * n must fit 2^63");
  }
  const Extent out = extent_of(ConstMatrix(d));
  if (spec.reads_c()) {
    const DType type = spec.continue_from_c ? DType::fp32 : spec.contract.output;
    if (Status s = check_view("c", operands.c); !s) return s;
    if (Status s =
            check_type("c", operands.c.dtype, type, spec.continue_from_c ? "continue" : "beta");
        !s) {
      return s;
    }
    if (Status s = check_shape("c", operands.c, d.rows, spec.n, "m x n"); !s) return s;
    if (out.overlaps(extent_of(operands.c)) && !same_view(operands.c, d)) {
      return invalid("d overlaps c: d may be c itself (same pointer, strides and dtype) or apart");
    }
  }
  if (spec.bias) {
    if (Status s = check_bias(spec, operands.bias); !s) return s;
    if (out.overlaps(extent_of(operands.bias)))
      return invalid("d overlaps bias: it must lie apart");
  }
  return {};
}

Status validate(const GemmSpec& spec, const Operands& operands) {
  if (Status s = check_output_side(spec, operands); !s) return s;
  const DType input = stored_type(spec.contract.input);
  const std::int64_t m = operands.d.rows;
  const bool at = spec.op_a == Op::transpose;
  const bool bt = spec.op_b == Op::transpose;
  if (Status s = check_view("a", operands.a); !s) return s;
  if (Status s = check_type("a", operands.a.dtype, input, "the contract"); !s) return s;
  if (Status s = check_shape("a", operands.a, at ? spec.k : m, at ? m : spec.k,
                             at ? "k x m, transposed" : "m x k");
      !s) {
    return s;
  }
  if (Status s = check_view("b", operands.b); !s) return s;
  if (Status s = check_type("b", operands.b.dtype, input, "the contract"); !s) return s;
  if (Status s = check_shape("b", operands.b, bt ? spec.n : spec.k, bt ? spec.k : spec.n,
                             bt ? "n x k, transposed" : "k x n");
      !s) {
    return s;
  }
  const Extent out = extent_of(ConstMatrix(operands.d));
  if (out.overlaps(extent_of(operands.a))) return invalid("d overlaps a: it must lie apart");
  if (out.overlaps(extent_of(operands.b))) return invalid("d overlaps b: it must lie apart");
  return {};
}

Status check_workspace(const Workspace& workspace, std::size_t needed, const Operands& operands,
                       const GemmSpec& spec, bool reads_ab) {
  if (workspace.bytes < needed) {
    return invalid("workspace.bytes is " + std::to_string(workspace.bytes) +
                   ": this m needs at least " + std::to_string(needed));
  }
  if (needed == 0) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(workspace.data);
  if (workspace.data == nullptr) {
    return invalid("workspace.data is null: this m needs " + std::to_string(needed) + " bytes");
  }
  if (begin % kWorkspaceAlignment != 0) {
    return invalid("workspace.data is not aligned to " + std::to_string(kWorkspaceAlignment) +
                   " bytes");
  }
  const Extent scratch{begin, begin + needed};
  const auto clash = [&](std::string_view what) {
    return invalid("workspace overlaps " + std::string(what) + ": it must lie apart");
  };
  if (scratch.overlaps(extent_of(ConstMatrix(operands.d)))) return clash("d");
  if (spec.reads_c() && scratch.overlaps(extent_of(operands.c))) return clash("c");
  if (spec.bias && scratch.overlaps(extent_of(operands.bias))) return clash("bias");
  if (reads_ab && scratch.overlaps(extent_of(operands.a))) return clash("a");
  if (reads_ab && scratch.overlaps(extent_of(operands.b))) return clash("b");
  return {};
}

}  // namespace detgemm

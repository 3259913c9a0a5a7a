// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/checks.hpp"

#include <limits>
#include <string>

#include "core/api/scale_checks.hpp"
#include "core/arithmetic/step.hpp"
#include "core/contract/cover.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/plan.hpp"

namespace detgemm {
namespace {

/// A refusal. Its sentence is built out of the way of calls that are good, which these checks are
/// in each time.
template <class Sentence>
__attribute__((cold, noinline)) Status refuse(const Sentence& sentence) {
  return invalid(sentence());
}

std::string shape(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

/// a * b in int64, or false.
bool product(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

Status check_type(std::string_view what, DType type, DType expected, std::string_view why) {
  if (type == expected) return {};
  return refuse([&] {
    return std::string(what) + ".dtype is " + std::string(name(type)) + ": " + std::string(why) +
           " needs " + std::string(name(expected));
  });
}

Status check_shape(std::string_view what, const ConstMatrix& view, std::int64_t rows,
                   std::int64_t cols, std::string_view rule) {
  if (view.rows == rows && view.cols == cols) return {};
  return refuse([&] {
    return std::string(what) + " is " + shape(view.rows, view.cols) + ": it must be " +
           shape(rows, cols) + " (" + std::string(rule) + ")";
  });
}

std::string address(std::uintptr_t at) { return "0x" + hex(at); }

std::string span(const Extent& extent) {
  return "[" + address(extent.begin) + ", " + address(extent.end) + ")";
}

Status overlap(std::string_view what, const Extent& x, std::string_view other, const Extent& y,
               std::string_view rule = "they must not share memory") {
  return refuse([&] {
    return std::string(what) + " at " + span(x) + " overlaps " + std::string(other) + " at " +
           span(y) + ": " + std::string(rule);
  });
}

/// `what` and `member` make the name of the pointer, which is put together where it is needed.
Status check_alignment(std::string_view what, std::string_view member, const void* data,
                       std::size_t alignment) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (at % alignment == 0) return {};
  return refuse([&] {
    return std::string(what) + std::string(member) + " is " + address(at) +
           ": it must be a multiple of " + std::to_string(alignment);
  });
}

/// Whether `bytes` from `data` on are addresses at all.
Status check_end(std::string_view what, std::string_view member, const void* data,
                 std::uintptr_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (bytes <= std::numeric_limits<std::uintptr_t>::max() - at) return {};
  return refuse([&] {
    return std::string(what) + std::string(member) + " is " + address(at) + ": " +
           std::to_string(bytes) + " bytes from there must end within the address space";
  });
}

/// tf32 is stored in fp32.
DType stored_type(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

bool same_view(const ConstMatrix& x, const ConstMatrix& y) {
  return x.data == y.data && x.dtype == y.dtype && (x.rows <= 1 || x.row_stride == y.row_stride) &&
         (x.cols <= 1 || x.col_stride == y.col_stride);
}

Extent extent_of(const ConstVector& vector) {
  const auto begin = reinterpret_cast<std::uintptr_t>(vector.data);
  return {begin, begin + static_cast<std::uintptr_t>(vector.size) * size_of(vector.dtype)};
}

Status check_bias(const GemmSpec& spec, const ConstVector& bias) {
  if (bias.size != spec.n) {
    return invalid("bias.size is " + std::to_string(bias.size) +
                   ": it must be n = " + std::to_string(spec.n));
  }
  if (bias.size > 0 && bias.data == nullptr) {
    return invalid("bias.data is null: the plan adds a bias of " + std::to_string(spec.n) +
                   " elements");
  }
  if (Status s = check_type("bias", bias.dtype, *spec.bias, "the plan"); !s) return s;
  const std::size_t size = size_of(bias.dtype);
  if (Status s = check_alignment("bias", ".data", bias.data, size); !s) return s;
  std::int64_t bytes = 0;
  if (!product(bias.size, static_cast<std::int64_t>(size), bytes)) {
    return invalid("bias.size is " + std::to_string(bias.size) + ": its bytes must fit 2^63");
  }
  return check_end("bias", ".data", bias.data, static_cast<std::uintptr_t>(bytes));
}

}  // namespace

Status check_view(std::string_view what, const ConstMatrix& view) {
  const auto label = [what] { return std::string(what); };
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  if (size == 0 || view.dtype == DType::tf32) {
    return refuse([&] {
      return label() + ".dtype is " + described(view.dtype) +
             ": memory holds bf16, fp16, fp32, e4m3 or e5m2";
    });
  }
  const auto negative = [&](const char* member, std::int64_t value) {
    return refuse([&] {
      return label() + member + " is " + std::to_string(value) + ": it must not be negative";
    });
  };
  if (view.rows < 0) return negative(".rows", view.rows);
  if (view.cols < 0) return negative(".cols", view.cols);
  if (view.rows == 0 || view.cols == 0) return {};
  const bool one_row = view.rows == 1;
  const bool one_col = view.cols == 1;
  const bool unit_cols = one_col || view.col_stride == 1;
  const bool unit_rows = one_row || view.row_stride == 1;
  const bool row_major = unit_cols && (one_row || view.row_stride >= view.cols);
  const bool col_major = unit_rows && (one_col || view.col_stride >= view.rows);
  const auto wrong_strides = [&](const char* rule) {
    return refuse([&] {
      return label() + " is " + shape(view.rows, view.cols) + " with strides (" +
             std::to_string(view.row_stride) + ", " + std::to_string(view.col_stride) +
             "): " + rule;
    });
  };
  if (!row_major && !col_major) {
    return wrong_strides("one stride must be 1 and the other at least the extent along it");
  }
  std::int64_t rows_span = 0;
  std::int64_t cols_span = 0;
  std::int64_t last = 0;
  std::int64_t bytes = 0;
  if (!product(view.rows - 1, one_row ? 0 : view.row_stride, rows_span) ||
      !product(view.cols - 1, one_col ? 0 : view.col_stride, cols_span) ||
      __builtin_add_overflow(rows_span, cols_span, &last) ||
      last == std::numeric_limits<std::int64_t>::max() || !product(last + 1, size, bytes)) {
    return wrong_strides("its bytes must fit 2^63");
  }
  if (view.data == nullptr) {
    return refuse([&] {
      return label() + ".data is null: the view has " + shape(view.rows, view.cols) + " elements";
    });
  }
  if (Status s = check_alignment(what, ".data", view.data, static_cast<std::size_t>(size)); !s) {
    return s;
  }
  return check_end(what, ".data", view.data, static_cast<std::uintptr_t>(bytes));
}

Extent extent_of(const ConstMatrix& view) {
  if (view.rows <= 0 || view.cols <= 0) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
  const std::int64_t last = (view.rows > 1 ? (view.rows - 1) * view.row_stride : 0) +
                            (view.cols > 1 ? (view.cols - 1) * view.col_stride : 0);
  return {begin, begin + static_cast<std::uintptr_t>(last + 1) * size_of(view.dtype)};
}

Status check_in_place(std::string_view what, const ConstMatrix& out, std::string_view other,
                      const ConstMatrix& in) {
  const Extent written = extent_of(out);
  const Extent read = extent_of(in);
  if (!written.overlaps(read) || same_view(out, in)) return {};
  return overlap(what, written, other, read,
                 "it must be " + std::string(other) +
                     " itself (same pointer, strides and dtype) or share no memory with it");
}

Status check_output_side(const GemmSpec& spec, const Operands& operands) {
  const Matrix& d = operands.d;
  if (Status s = check_view("d", d); !s) return s;
  if (Status s = check_type("d", d.dtype, spec.contract.output, "the contract"); !s) return s;
  if (Status s = check_shape("d", d, d.rows, spec.n, "m x n"); !s) return s;
  const Extent out = extent_of(ConstMatrix(d));
  if (spec.reads_c()) {
    const DType type = spec.continue_from_c ? DType::fp32 : spec.contract.output;
    if (Status s = check_view("c", operands.c); !s) return s;
    // The shape is checked first: a C that was forgotten is 0 x 0, and its type means nothing.
    if (Status s = check_shape("c", operands.c, d.rows, spec.n, "m x n"); !s) return s;
    if (Status s =
            check_type("c", operands.c.dtype, type, spec.continue_from_c ? "continue" : "beta");
        !s) {
      return s;
    }
    const Extent start = extent_of(operands.c);
    if (out.overlaps(start) && !same_view(operands.c, d)) {
      return overlap(
          "d", out, "c", start,
          "it must be c itself (same pointer, strides and dtype) or share no memory with it");
    }
  }
  if (spec.bias) {
    if (Status s = check_bias(spec, operands.bias); !s) return s;
    const Extent bias = extent_of(operands.bias);
    if (out.overlaps(bias)) return overlap("d", out, "bias", bias);
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
  const Extent left = extent_of(operands.a);
  const Extent right = extent_of(operands.b);
  if (out.overlaps(left)) return overlap("d", out, "a", left);
  if (out.overlaps(right)) return overlap("d", out, "b", right);
  return check_scales(spec, operands, m);
}

Status check_root_count(const GemmSpec& spec, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (count == 0 || (count & (count - 1)) != 0) {
    return invalid("roots.size() is " + std::to_string(count) + ": it must be a power of two");
  }
  const std::int64_t leaves = spec.contract.leaves(spec.k);
  if (leaves % count != 0) {
    return invalid("roots.size() is " + std::to_string(count) + ": it must divide the " +
                   std::to_string(leaves) + " leaves of k = " + std::to_string(spec.k));
  }
  return {};
}

Status check_nodes(const GemmSpec& spec, std::span<const LeafRange> nodes) {
  const std::int64_t sums = arithmetic::sums_per_leaf(spec.contract.arithmetic);
  const std::int64_t count = spec.contract.leaves(spec.k);
  const auto all = std::to_string(count) + " leaves of k = " + std::to_string(spec.k);
  if (nodes.size() > kMaxNodeRoots) {
    return invalid("roots.size() is " + std::to_string(nodes.size()) + ": one call joins at most " +
                   std::to_string(kMaxNodeRoots));
  }
  std::int64_t at = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const LeafRange& node = nodes[i];
    const std::string what = "roots[" + std::to_string(i) + "].leaves is [" +
                             std::to_string(node.begin) + ", " + std::to_string(node.end) + ")";
    if (node.begin != at) {
      return invalid(what + ": it must begin at " + std::to_string(at) +
                     ", where the one before it ends");
    }
    if (!is_node({node.begin * sums, node.end * sums}, count * sums))
      return invalid(what + ": it is not a node of the tree over " + all);
    at = node.end;
  }
  if (at == count && count > 0) return {};
  return invalid("roots end at leaf " + std::to_string(at) + ": they must hold all " + all);
}

Status check_roots(const GemmSpec& spec, std::span<const ConstMatrix> roots, const Matrix& d) {
  const Extent out = extent_of(ConstMatrix(d));
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::string what = "roots[" + std::to_string(i) + "]";
    if (Status s = check_view(what, roots[i]); !s) return s;
    if (Status s = check_shape(what, roots[i], d.rows, spec.n, "m x n"); !s) return s;
    if (Status s = check_type(what, roots[i].dtype, DType::fp32, "combine"); !s) return s;
    const Extent root = extent_of(roots[i]);
    if (out.overlaps(root)) return overlap("d", out, what, root);
  }
  return {};
}

Status check_workspace(const Workspace& workspace, std::size_t needed, const GemmSpec& spec,
                       const Operands& operands, std::span<const NamedView> inputs) {
  if (workspace.bytes < needed) {
    return invalid("workspace.bytes is " + std::to_string(workspace.bytes) +
                   ": this m needs at least " + std::to_string(needed));
  }
  if (needed == 0) return {};
  if (workspace.data == nullptr) {
    return invalid("workspace.data is null: this m needs " + std::to_string(needed) + " bytes");
  }
  if (Status s = check_alignment("workspace", ".data", workspace.data, kWorkspaceAlignment); !s) {
    return s;
  }
  if (Status s = check_end("workspace", ".data", workspace.data, workspace.bytes); !s) return s;
  const auto begin = reinterpret_cast<std::uintptr_t>(workspace.data);
  const Extent scratch{begin, begin + needed};
  const auto apart = [&](std::string_view what, const Extent& other) {
    return scratch.overlaps(other) ? overlap("workspace", scratch, what, other) : Status{};
  };
  if (Status s = apart("d", extent_of(ConstMatrix(operands.d))); !s) return s;
  if (spec.reads_c()) {
    if (Status s = apart("c", extent_of(operands.c)); !s) return s;
  }
  if (spec.bias) {
    if (Status s = apart("bias", extent_of(operands.bias)); !s) return s;
  }
  if (Status s = apart("scale_a", extent_of(operands.scale_a)); !s) return s;
  if (Status s = apart("scale_b", extent_of(operands.scale_b)); !s) return s;
  for (const NamedView& input : inputs) {
    if (Status s = apart(input.what, extent_of(input.view)); !s) return s;
  }
  return {};
}

}  // namespace detgemm

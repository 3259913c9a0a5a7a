// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/quantize.hpp"

#include <new>
#include <string>

#include "core/api/checks.hpp"
#include "core/api/plan_checks.hpp"
#include "core/api/scale_checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"
#include "core/contract/reduction.hpp"
#include "detgemm/backend.hpp"

namespace detgemm {
namespace {

Status check_spec(const QuantizeSpec& spec) {
  if (spec.leaf_k < 1 || spec.leaf_k > kMaxLeaf) {
    return invalid("leaf_k is " + std::to_string(spec.leaf_k) + ": it must be from 1 to 2^31");
  }
  if (spec.per != 1 && spec.per != 128) {
    return invalid("per is " + std::to_string(spec.per) + ": a scale is that of 1 or 128 lines");
  }
  if (spec.k == KDimension::cols || spec.k == KDimension::rows) return {};
  return invalid("k is " + std::to_string(static_cast<int>(spec.k)) +
                 ": it must be cols (0) or rows (1)");
}

/// Scales are written, so no two may be one.
Status check_apart(const BlockScales& s) {
  const bool by_leaf = s.leaves <= 1 || (s.leaf_stride >= 1 && (s.blocks <= 1 || s.stride > 0));
  const bool rows = s.blocks <= 1 || s.leaves <= 1 || s.stride > (s.leaves - 1) * s.leaf_stride ||
                    s.leaf_stride > (s.blocks - 1) * s.stride;
  if (by_leaf && rows && (s.blocks <= 1 || s.stride >= 1)) return {};
  return invalid("scales has " + std::to_string(s.blocks) + " x " + std::to_string(s.leaves) +
                 " scales with strides (" + std::to_string(s.stride) + ", " +
                 std::to_string(s.leaf_stride) + "): no two scales may overlap");
}

Status shares_memory(std::string_view what, std::string_view other) {
  return invalid(std::string(what) + " overlaps " + std::string(other) +
                 ": they must not share memory");
}

}  // namespace

Status validate(const QuantizeSpec& spec, const ConstMatrix& from, const Matrix& to,
                const ScalesOut& scales) {
  if (Status s = check_spec(spec); !s) return s;
  if (Status s = check_view("from", from); !s) return s;
  if (from.dtype != DType::bf16 && from.dtype != DType::fp16 && from.dtype != DType::fp32) {
    return invalid("from.dtype is " + described(from.dtype) +
                   ": quantize takes bf16, fp16 and fp32");
  }
  if (Status s = check_view("to", to); !s) return s;
  if (to.dtype != DType::e4m3) {
    return invalid("to.dtype is " + described(to.dtype) + ": quantize makes e4m3");
  }
  if (from.rows != to.rows || from.cols != to.cols) {
    return invalid("to is " + std::to_string(to.rows) + " x " + std::to_string(to.cols) +
                   ": it must be " + std::to_string(from.rows) + " x " + std::to_string(from.cols) +
                   ", the shape of from");
  }
  const bool along = spec.k == KDimension::cols;
  const std::int64_t lines = along ? from.rows : from.cols;
  const std::int64_t k = along ? from.cols : from.rows;
  const BlockScales blocks = scales_of(spec, scales);
  if (Status s =
          check_scale_array("scales", blocks, ceil_div(lines, spec.per), ceil_div(k, spec.leaf_k));
      !s) {
    return s;
  }
  if (Status s = check_apart(blocks); !s) return s;
  const Extent in = extent_of(from);
  const Extent out = extent_of(ConstMatrix(to));
  if (out.overlaps(in)) return shares_memory("to", "from");
  if (out.overlaps(extent_of(blocks))) return shares_memory("to", "scales");
  if (in.overlaps(extent_of(blocks))) return shares_memory("from", "scales");
  return {};
}

Status Backend::quantize(Stream, const QuantizeSpec&, const ConstMatrix&, const Matrix&,
                         const ScalesOut&) const {
  return unsupported(std::string(name()) + ": this backend does not quantise matrices");
}

Status quantize(const Backend& backend, Stream stream, const QuantizeSpec& spec,
                const ConstMatrix& from, const Matrix& to, const ScalesOut& scales) try {
  const arithmetic::FloatingPointMode ieee;
  if (Status s = validate(spec, from, to, scales); !s) return s;
  if (Status s = check_stream(backend, stream); !s) return s;
  if (Status s = backend.available(); !s) return s;
  if (from.rows == 0 || from.cols == 0) return {};
  return backend.quantize(stream, spec, from, to, scales);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace detgemm

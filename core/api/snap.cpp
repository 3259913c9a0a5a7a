// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/snap.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "core/api/checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"
#include "core/arithmetic/snap.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/backend.hpp"

namespace detgemm {
namespace {

Status check_spec(const SnapSpec& spec) {
  if (spec.leaf_k < 1 || spec.leaf_k > kMaxLeaf || spec.leaf_k % arithmetic::kSnapMultiple != 0) {
    return invalid("leaf_k is " + std::to_string(spec.leaf_k) +
                   ": it must be a multiple of 64 between 64 and 2^31");
  }
  if (spec.k == KDimension::cols || spec.k == KDimension::rows) return {};
  return invalid("k is " + std::to_string(static_cast<int>(spec.k)) +
                 ": it must be cols (0) or rows (1)");
}

Status check_bf16(std::string_view what, const ConstMatrix& view) {
  if (Status s = check_view(what, view); !s) return s;
  if (view.dtype == DType::bf16) return {};
  return invalid(std::string(what) + ".dtype is " + described(view.dtype) +
                 ": snap is defined for bf16");
}

Status check_place(const Backend& backend, Stream stream) {
  const DeviceKind kind = backend.device().kind();
  if (stream.kind != kind) {
    return invalid("stream.kind is " + described(stream.kind) + ": backend " +
                   std::string(backend.name()) + " needs " + std::string(name(kind)));
  }
  return backend.available();
}

/// Whether snapping the view, which lies in host memory, would change no value.
bool snapped_on_host(const SnapSpec& spec, const ConstMatrix& view) {
  const bool along = spec.k == KDimension::cols;
  const std::int64_t lines = along ? view.rows : view.cols;
  const std::int64_t k = along ? view.cols : view.rows;
  const std::int64_t line_stride = lines > 1 ? (along ? view.row_stride : view.col_stride) : 0;
  const std::int64_t k_stride = k > 1 ? (along ? view.col_stride : view.row_stride) : 0;
  const auto* data = static_cast<const std::uint16_t*>(view.data);
  for (std::int64_t begin = 0; begin < k; begin += std::min(spec.leaf_k, k - begin)) {
    const std::int64_t count = std::min(spec.leaf_k, k - begin);
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::uint16_t* leaf = data + line * line_stride + begin * k_stride;
      const auto load = [&](std::int64_t i) { return leaf[i * k_stride]; };
      const int t = arithmetic::snap_grid(count, load);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint16_t bits = load(i);
        if (!arithmetic::same_bf16_value(bits, arithmetic::snapped(bits, t))) return false;
      }
    }
  }
  return true;
}

}  // namespace

Status validate(const SnapSpec& spec, const ConstMatrix& from, const Matrix& to) {
  if (Status s = check_spec(spec); !s) return s;
  if (Status s = check_bf16("from", from); !s) return s;
  if (Status s = check_bf16("to", to); !s) return s;
  if (from.rows != to.rows || from.cols != to.cols) {
    return invalid("to is " + std::to_string(to.rows) + " x " + std::to_string(to.cols) +
                   ": it must be " + std::to_string(from.rows) + " x " + std::to_string(from.cols) +
                   ", the shape of from");
  }
  return check_in_place("to", to, "from", from);
}

Status Backend::snap(Stream, const SnapSpec&, const ConstMatrix&, const Matrix&) const {
  return unsupported(std::string(name()) + ": this backend does not snap matrices");
}

Result<bool> Backend::is_snapped(Stream stream, const SnapSpec& spec,
                                 const ConstMatrix& matrix) const {
  if (Status s = device().synchronize(stream); !s) return s;
  if (device().kind() == DeviceKind::host) return snapped_on_host(spec, matrix);
  const Extent extent = extent_of(matrix);
  std::vector<std::uint16_t> copy((extent.end - extent.begin) / sizeof(std::uint16_t));
  if (Status s = device().to_host(copy.data(), matrix.data, copy.size() * sizeof copy[0]); !s) {
    return s;
  }
  ConstMatrix here = matrix;
  here.data = copy.data();
  return snapped_on_host(spec, here);
}

Status snap(const Backend& backend, Stream stream, const SnapSpec& spec, const ConstMatrix& from,
            const Matrix& to) try {
  const arithmetic::FloatingPointMode ieee;
  if (Status s = validate(spec, from, to); !s) return s;
  if (Status s = check_place(backend, stream); !s) return s;
  if (from.rows == 0 || from.cols == 0) return {};
  return backend.snap(stream, spec, from, to);
} catch (const std::bad_alloc&) {
  return {Errc::internal, "out of memory"};
}

Result<bool> is_snapped(const Backend& backend, Stream stream, const SnapSpec& spec,
                        const ConstMatrix& matrix) try {
  const arithmetic::FloatingPointMode ieee;
  if (Status s = check_spec(spec); !s) return s;
  if (Status s = check_bf16("matrix", matrix); !s) return s;
  if (Status s = check_place(backend, stream); !s) return s;
  if (matrix.rows == 0 || matrix.cols == 0) return true;
  return backend.is_snapped(stream, spec, matrix);
} catch (const std::bad_alloc&) {
  return Status{Errc::internal, "out of memory"};
}

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// Matrices that arrive as DLPack tensors: borrowed, never owned or copied. The header needs no
/// dlpack.h: any struct with the members of a DLTensor will do, whichever release declares it.
///
///   auto a = detgemm::from_dlpack(managed->dl_tensor);   // a Matrix, or why not
///   auto status = detgemm::dlpack::gemm(stream, a_tensor, b_tensor, d_tensor, contract);
///
/// The numbers below are DLPack's: https://dmlc.github.io/dlpack/latest/c_api.html

#include <concepts>
#include <cstdint>
#include <string>

#include "detgemm/matrix.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// A DLTensor by its members.
template <class T>
concept DlpackTensor = requires(const T& tensor) {
  { tensor.data } -> std::convertible_to<void*>;
  { tensor.device.device_type } -> std::convertible_to<std::int32_t>;
  { tensor.ndim } -> std::convertible_to<std::int32_t>;
  { tensor.dtype.code } -> std::convertible_to<std::uint8_t>;
  { tensor.dtype.bits } -> std::convertible_to<std::uint8_t>;
  { tensor.dtype.lanes } -> std::convertible_to<std::uint16_t>;
  { tensor.shape[0] } -> std::convertible_to<std::int64_t>;
  { tensor.strides[0] } -> std::convertible_to<std::int64_t>;
  { tensor.byte_offset } -> std::convertible_to<std::uint64_t>;
};

namespace dlpack {

/// The kind of device whose memory holds the tensor: of kDLCPU, kDLCUDAHost and kDLROCMHost the
/// host, of kDLCUDA and kDLCUDAManaged cuda, of kDLROCM hip. Anything else is `unsupported`.
template <DlpackTensor T>
Result<DeviceKind> device_kind(const T& tensor) {
  const auto type = static_cast<std::int32_t>(tensor.device.device_type);
  switch (type) {
    case 1:
    case 3:
    case 11:
      return DeviceKind::host;
    case 2:
    case 13:
      return DeviceKind::cuda;
    case 10:
      return DeviceKind::hip;
    default:
      return unsupported("tensor.device.device_type is " + std::to_string(type) +
                         ": it must be that of a CPU (1), CUDA (2) or ROCm (10)");
  }
}

/// The element type, or `unsupported`. fp32 is also what a contract with tf32 inputs reads.
template <DlpackTensor T>
Result<DType> dtype(const T& tensor) {
  const int code = tensor.dtype.code, bits = tensor.dtype.bits, lanes = tensor.dtype.lanes;
  if (lanes == 1 && code == 2 && bits == 32) return DType::fp32;
  if (lanes == 1 && code == 2 && bits == 16) return DType::fp16;
  if (lanes == 1 && code == 4 && bits == 16) return DType::bf16;
  if (lanes == 1 && code == 10 && bits == 8) return DType::e4m3;
  if (lanes == 1 && code == 12 && bits == 8) return DType::e5m2;
  return unsupported("tensor.dtype is code " + std::to_string(code) + " with " +
                     std::to_string(bits) + " bits and " + std::to_string(lanes) +
                     " lanes: it must be float32, float16, bfloat16, float8_e4m3fn or float8_e5m2 "
                     "with 1 lane");
}

}  // namespace dlpack

/// The tensor as a view of the same memory, whose lifetime stays the caller's. It must have two
/// dimensions; strides count elements, and none (null) means row-major and packed. Refused in a
/// sentence: other types, devices and ranks, negative extents, no memory, an offset inside an
/// element. Strides under which elements would overlap are refused where the view is used.
template <DlpackTensor T>
Result<Matrix> from_dlpack(const T& tensor) {
  if (auto kind = dlpack::device_kind(tensor); !kind) return kind.status();
  const auto type = dlpack::dtype(tensor);
  if (!type) return type.status();
  if (tensor.ndim != 2) {
    return invalid("tensor.ndim is " + std::to_string(tensor.ndim) + ": a matrix has 2 dimensions");
  }
  if (tensor.shape == nullptr) return invalid("tensor.shape is null: it must hold 2 extents");
  const std::int64_t rows = tensor.shape[0], cols = tensor.shape[1];
  if (rows < 0 || cols < 0) {
    return invalid("tensor.shape is " + std::to_string(rows) + " x " + std::to_string(cols) +
                   ": extents must not be negative");
  }
  const auto offset = static_cast<std::uint64_t>(tensor.byte_offset);
  if (offset % size_of(*type) != 0) {
    return invalid("tensor.byte_offset is " + std::to_string(offset) +
                   ": it must be a multiple of " + std::to_string(size_of(*type)) +
                   ", the bytes of an element");
  }
  auto* data = static_cast<char*>(static_cast<void*>(tensor.data));
  const bool empty = rows == 0 || cols == 0;
  if (data == nullptr && !empty) {
    return invalid("tensor.data is null: it must point to " + std::to_string(rows) + " x " +
                   std::to_string(cols) + " elements");
  }
  Matrix view{data == nullptr ? nullptr : data + offset, rows, cols, cols, 1, *type};
  if (tensor.strides != nullptr) {
    view.row_stride = tensor.strides[0];
    view.col_stride = tensor.strides[1];
  }
  return view;
}

namespace dlpack {

/// D = op(A) * op(B) as detgemm::gemm, after a check that the stream's work can reach all three
/// tensors: memory of its kind of device, or, for a stream of the host, the host's.
template <DlpackTensor A, DlpackTensor B, DlpackTensor D>
Status gemm(Stream stream, const A& a, const B& b, const D& d, const Contract& contract,
            const GemmOptions& options = {}) {
  const auto view = [&](const char* what, const auto& tensor) -> Result<Matrix> {
    auto matrix = from_dlpack(tensor);
    if (!matrix) {
      return Status{matrix.status().code(), std::string(what) + ": " + matrix.status().message()};
    }
    const auto kind = device_kind(tensor);
    if (kind && *kind != stream.kind) {
      return invalid(std::string(what) + " is in memory of kind " + std::string(name(*kind)) +
                     ": the stream's kind is " + std::string(name(stream.kind)));
    }
    return matrix;
  };
  const auto left = view("a", a), right = view("b", b), out = view("d", d);
  if (!left) return left.status();
  if (!right) return right.status();
  if (!out) return out.status();
  return detgemm::gemm(stream, *left, *right, *out, contract, options);
}

}  // namespace dlpack
}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include "detgemm/detgemm_grouped.h"
#include "python/torch_ops/stack.hpp"

/// Tensors as the matrices and vectors of the C interface.
namespace detgemm::torch_ops {

/// Where a tensor lies. The index of the host is 0.
struct Place {
  detgemm_device_kind_t kind = DETGEMM_HOST;
  std::int32_t index = 0;
  bool operator==(const Place&) const = default;
};

/// A tensor's description, read once; the spans are borrowed from the tensor.
struct Description {
  void* data = nullptr;
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;
  detgemm_dtype_t dtype = DETGEMM_NONE;
  Place place;
};

/// Refuses a type that no contract reads or writes, and a device that is neither a CPU nor CUDA;
/// the sentence calls the tensor `name`.
Description describe(const Tensor& tensor, std::string_view name);

/// Ends of groups, or counts: one dimension of int32 or int64. Where its stride is not 1 it is a
/// copy, which it owns and which `copies()` counts.
class OffsetsOf {
 public:
  OffsetsOf(const Tensor& tensor, std::string_view name);
  const void* data() const { return data_; }
  std::int64_t count() const { return count_; }
  detgemm_offset_type_t type() const { return type_; }
  const Place& place() const { return place_; }

 private:
  Tensor copy_;
  void* data_ = nullptr;
  std::int64_t count_ = 0;
  detgemm_offset_type_t type_ = DETGEMM_I32;
  Place place_;
};

/// Which dimension of a tensor of scales counts lines (rows of A, columns of B); the other one
/// counts leaves of K.
enum class Lines { first, last };

/// The scales of one operand: fp32 or e8m0, for lines one by one or in blocks of 128, which the
/// shape says. Strides of 0 are fine; leading dimensions that no stride flattens make a copy, which
/// `copies()` counts.
class ScalesOf {
 public:
  ScalesOf(const Tensor& tensor, std::string_view name, std::int64_t lines, std::int64_t leaves,
           Lines where);
  const detgemm_block_scales_t& scales() const { return scales_; }
  const Place& place() const { return place_; }

 private:
  Tensor copy_;
  detgemm_block_scales_t scales_{};
  Place place_;
};

/// The scales of one operand in several groups: three dimensions, of which the first counts groups.
class GroupScalesOf {
 public:
  GroupScalesOf(const Tensor& tensor, std::string_view name, std::int64_t groups,
                std::int64_t lines, std::int64_t leaves, Lines where);
  /// Those of the first group.
  const detgemm_block_scales_t& scales() const { return scales_; }
  std::int64_t distance() const { return distance_; }
  const Place& place() const { return place_; }

 private:
  detgemm_block_scales_t scales_{};
  std::int64_t distance_ = 0;
  Place place_;
};

/// How a copy of an operand is allowed: outputs are never copied.
enum class Copies { allowed, refused };

/// One matrix: N dimensions with the leading ones flattened into rows. Where no strides describe
/// that, or where strides overlap (an expanded tensor), the matrix is a copy, which it owns and
/// which `copies()` counts.
class MatrixOf {
 public:
  MatrixOf(const Tensor& tensor, std::string_view name, Copies copies);

  const Description& description() const { return description_; }
  bool copied() const { return static_cast<bool>(copy_); }
  const detgemm_const_matrix_t& input() const { return matrix_; }
  detgemm_matrix_t output() const;
  std::int64_t rows() const { return matrix_.rows; }
  std::int64_t cols() const { return matrix_.cols; }

 private:
  Tensor copy_;
  Description description_;
  detgemm_const_matrix_t matrix_{};
};

/// A list of matrices in one tensor of three dimensions, all with the same shape and strides. The
/// `batch_stride` between them may be 0.
class BatchOf {
 public:
  BatchOf(const Tensor& tensor, std::string_view name, Copies copies);

  const Description& description() const { return description_; }
  bool copied() const { return static_cast<bool>(copy_); }
  std::int64_t count() const { return count_; }
  std::int64_t batch_stride() const { return batch_stride_; }
  detgemm_const_matrix_t input(std::int64_t index) const;
  detgemm_matrix_t output(std::int64_t index) const;
  std::int64_t rows() const { return matrix_.rows; }
  std::int64_t cols() const { return matrix_.cols; }

 private:
  Tensor copy_;
  Description description_;
  detgemm_const_matrix_t matrix_{};
  std::int64_t count_ = 0;
  std::int64_t batch_stride_ = 0;
};

/// A bias: one dimension with stride 1, or a copy that has it.
class VectorOf {
 public:
  VectorOf(const Tensor& tensor, std::string_view name);
  const Description& description() const { return description_; }
  const detgemm_vector_t& vector() const { return vector_; }

 private:
  Tensor copy_;
  Description description_;
  detgemm_vector_t vector_{};
};

/// The same matrix to write into: the operator's schema says which of its tensors are written.
detgemm_matrix_t writable(const detgemm_const_matrix_t& view);
/// Rows for columns, in place.
void transpose(detgemm_const_matrix_t& m);

/// A new tensor with row-major strides.
Tensor empty(std::span<const std::int64_t> sizes, detgemm_dtype_t dtype, const Place& place);
/// The same for scales. Refuses e8m0 where this PyTorch has no number for its type.
Tensor empty_scales(std::span<const std::int64_t> sizes, detgemm_scale_type_t type,
                    const Place& place);
/// A refusal of PyTorch's allocator. Its C interface gives no reason: no memory, as a rule.
struct NoRoom : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A new tensor of bytes, or NoRoom.
Tensor empty_bytes(std::size_t bytes, const Place& place);

/// "cpu" or "cuda:0".
std::string name_of(const Place& place);
/// Refuses where two operands lie on different devices.
void check_same_place(const Place& x, std::string_view x_name, const Place& y,
                      std::string_view y_name);

/// How many operands were copied since the process started.
std::int64_t copies();

}  // namespace detgemm::torch_ops

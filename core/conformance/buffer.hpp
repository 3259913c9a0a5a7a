// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "core/conformance/elements.hpp"
#include "detgemm/device.hpp"
#include "detgemm/matrix.hpp"

namespace detgemm::conformance {

/// How a stored matrix lies in memory, which may not change a bit of the result.
struct Layout {
  bool col_major = false;
  std::int64_t ld_padding = 0;  ///< elements between one line's end and the next one's start
  std::int64_t offset = 0;      ///< elements between an address aligned to 256 bytes and the first
};

/// A matrix in a device's memory, with every byte around and between its lines filled with one
/// value: 0xff is a NaN in all formats, so an engine that reads a neighbour is found.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// Uploads `contents`, stored transposed if asked (the view then is cols x rows).
  static Result<Buffer> holding(Device& device, const Elements& contents, bool transposed,
                                const Layout& layout, std::uint8_t fill);
  /// `bytes` of scratch between two guards, all of it filled; aligned to 256 bytes.
  static Result<Buffer> scratch(Device& device, std::size_t bytes, std::uint8_t fill);

  /// The stored matrix.
  Matrix view() const { return view_; }
  void* data() const { return view_.data; }

  /// Writes again what was uploaded.
  Status restore();
  /// Reads the logical matrix back.
  Result<Elements> read() const;
  /// Reads everything back; false if a byte outside of the matrix (or, for an operand that may
  /// not be `written`, inside of it) is not what was uploaded.
  Result<bool> intact(bool written) const;

 private:
  Status upload(Device& device);
  std::size_t at(std::int64_t row, std::int64_t col) const {
    return first_ + static_cast<std::size_t>(row * row_step_ + col * col_step_) * size_;
  }
  /// Copies lines of the logical matrix between packed elements and an image.
  template <class Move>
  void for_lines(Move&& move) const;

  Device* device_ = nullptr;
  void* memory_ = nullptr;
  std::vector<std::uint8_t> image_;
  Matrix view_;
  std::size_t first_ = 0;  // bytes before logical element (0, 0)
  std::size_t size_ = 1;
  std::size_t payload_ = 0;  // scratch: bytes after first_ that may change
  DType dtype_ = DType::fp32;
  std::int64_t rows_ = 0, cols_ = 0;  // logical
  std::int64_t row_step_ = 0, col_step_ = 0;
};

}  // namespace detgemm::conformance

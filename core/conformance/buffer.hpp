// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/conformance/elements.hpp"
#include "core/conformance/guarded_memory.hpp"
#include "detgemm/device.hpp"
#include "detgemm/matrix.hpp"

namespace detgemm::conformance {

/// How a stored matrix lies in memory, which may not change a bit of the result.
struct Layout {
  bool col_major = false;
  std::int64_t ld_padding = 0;  ///< elements between one line's end and the next one's start
  std::int64_t offset = 0;      ///< elements between an address aligned to 256 bytes and the first
  bool at_front = false;        ///< in host memory: as close to the guard in front as the offset
                                ///< allows, otherwise as close to the one behind

  bool operator==(const Layout&) const = default;
};

/// Gives back a device's memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(Device& device, void* memory) : device_(&device), memory_(memory) {}
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~DeviceMemory() {
    if (memory_ != nullptr) device_->release(memory_);
  }
  void* get() const { return memory_; }

 private:
  Device* device_ = nullptr;
  void* memory_ = nullptr;
};

/// A matrix in a device's memory, with every byte around and between its lines filled with one
/// value: 0xff is a NaN in all formats, so an engine that reads a neighbour is found. In host
/// memory there are guards beside it that nobody may touch.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;

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
  /// Empty, or how far outside of the array a guard was touched.
  std::string touched() const;
  /// Host memory: writes to an input, or to pages between an output's lines, are recorded from now
  /// on, whether they are undone or not. `restore` and `replace` may write.
  Status freeze(bool written);
  /// Empty, or where such a write went.
  std::string rewritten() const;
  /// Writes other contents of the same shape into the same memory.
  Status replace(const Elements& contents);

  /// Whether `close` works: the memory is the host's.
  bool has_gate() const { return guarded_; }
  /// The next touch waits at the gate; see GuardedMemory.
  Status close(Gate& gate) { return host_.close(gate); }
  Status close_to_writes(Gate& gate) { return host_.close_to_writes(gate); }
  void open() { host_.open(); }

 private:
  /// Finds memory for `span` bytes at `offset` bytes from an aligned address, and fills the image.
  Status allocate(Device& device, std::size_t span, std::size_t offset, bool at_front,
                  std::uint8_t fill);
  void* memory() const { return guarded_ ? host_.data() : device_memory_.get(); }
  Status fetch(std::vector<std::uint8_t>& now) const;
  /// A piece of memory that the image holds.
  struct Piece {
    std::size_t at;     ///< bytes from the memory's begin
    std::size_t image;  ///< bytes from the image's begin
    std::size_t bytes;
  };
  std::int64_t lines() const { return col_step_ == 1 ? rows_ : cols_; }
  std::size_t line_begin(std::int64_t line) const {
    return first_ +
           static_cast<std::size_t>(line * (col_step_ == 1 ? row_step_ : col_step_)) * size_;
  }
  std::size_t line_bytes() const {
    return static_cast<std::size_t>(col_step_ == 1 ? cols_ : rows_) * size_;
  }
  /// Where the element lies in the image.
  std::size_t at(std::int64_t row, std::int64_t col) const {
    const std::size_t place =
        first_ + static_cast<std::size_t>(row * row_step_ + col * col_step_) * size_;
    if (pieces_.empty()) return place;
    const Piece& piece = pieces_[static_cast<std::size_t>(col_step_ == 1 ? row : col)];
    return piece.image + place - piece.at;
  }
  void cut_into_pieces(std::uint8_t fill);
  /// Copies lines of the logical matrix between packed elements and an image.
  template <class Move>
  void for_lines(Move&& move) const;

  Device* device_ = nullptr;
  DeviceMemory device_memory_;
  GuardedMemory host_;
  bool guarded_ = false;
  bool sparse_ = false;        // the image holds the lines alone, and what is close to them
  std::vector<Piece> pieces_;  // one per line where it is sparse
  int frozen_ = 0;             // 0: not, 1: as an input, 2: as an output
  std::size_t memory_bytes_ = 0;
  std::vector<std::uint8_t> image_;
  Matrix view_;
  std::size_t first_ = 0;  // bytes before logical element (0, 0)
  std::size_t span_ = 0;   // bytes from there to the end of the last one
  std::size_t size_ = 1;
  std::size_t payload_ = 0;  // scratch: bytes after first_ that may change
  DType dtype_ = DType::fp32;
  std::int64_t rows_ = 0, cols_ = 0;  // logical
  std::int64_t row_step_ = 0, col_step_ = 0;
};

}  // namespace detgemm::conformance

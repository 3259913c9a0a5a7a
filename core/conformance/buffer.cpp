// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/buffer.hpp"

#include <cstring>
#include <utility>

namespace detgemm::conformance {
namespace {

constexpr std::size_t kGuard = 512;  // bytes before and after; keeps the alignment

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  if (memory_ != nullptr) device_->release(memory_);
  device_ = other.device_;
  memory_ = std::exchange(other.memory_, nullptr);
  image_ = std::move(other.image_);
  view_ = other.view_;
  first_ = other.first_;
  size_ = other.size_;
  payload_ = other.payload_;
  dtype_ = other.dtype_;
  rows_ = other.rows_;
  cols_ = other.cols_;
  row_step_ = other.row_step_;
  col_step_ = other.col_step_;
  return *this;
}

Buffer::~Buffer() {
  if (memory_ != nullptr) device_->release(memory_);
}

Status Buffer::upload(Device& device) {
  device_ = &device;
  auto memory = device.allocate(image_.size());
  if (!memory) return memory.status();
  memory_ = *memory;
  return restore();
}

Status Buffer::restore() { return device_->to_device(memory_, image_.data(), image_.size()); }

template <class Move>
void Buffer::for_lines(Move&& move) const {
  if (col_step_ == 1) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      move(at(i, 0), static_cast<std::size_t>(i * cols_) * size_,
           static_cast<std::size_t>(cols_) * size_);
    }
    return;
  }
  for (std::int64_t i = 0; i < rows_; ++i) {
    for (std::int64_t j = 0; j < cols_; ++j) {
      move(at(i, j), static_cast<std::size_t>(i * cols_ + j) * size_, size_);
    }
  }
}

Result<Buffer> Buffer::holding(Device& device, const Elements& contents, bool transposed,
                               const Layout& layout, std::uint8_t fill) {
  Buffer b;
  b.dtype_ = contents.dtype;
  b.size_ = contents.element_size();
  b.rows_ = contents.rows;
  b.cols_ = contents.cols;
  const std::int64_t rows = transposed ? contents.cols : contents.rows;
  const std::int64_t cols = transposed ? contents.rows : contents.cols;
  const std::int64_t ld = (layout.col_major ? rows : cols) + layout.ld_padding;
  const std::int64_t lines = layout.col_major ? cols : rows;
  b.first_ = kGuard + static_cast<std::size_t>(layout.offset) * b.size_;
  b.image_.assign(b.first_ + static_cast<std::size_t>(lines * ld) * b.size_ + kGuard, fill);
  void* nowhere = nullptr;  // until the memory is allocated
  b.view_ = layout.col_major ? col_major(nowhere, rows, cols, b.dtype_, ld)
                             : row_major(nowhere, rows, cols, b.dtype_, ld);
  b.row_step_ = transposed ? b.view_.col_stride : b.view_.row_stride;
  b.col_step_ = transposed ? b.view_.row_stride : b.view_.col_stride;
  b.for_lines([&](std::size_t image, std::size_t packed, std::size_t bytes) {
    if (bytes != 0) std::memcpy(b.image_.data() + image, contents.bytes.data() + packed, bytes);
  });
  if (Status s = b.upload(device); !s) return s;
  b.view_.data = static_cast<std::uint8_t*>(b.memory_) + b.first_;
  return b;
}

Result<Buffer> Buffer::scratch(Device& device, std::size_t bytes, std::uint8_t fill) {
  Buffer b;
  b.first_ = kGuard;
  b.payload_ = bytes;
  b.image_.assign(kGuard + bytes + kGuard, fill);
  if (Status s = b.upload(device); !s) return s;
  b.view_.data = static_cast<std::uint8_t*>(b.memory_) + b.first_;
  return b;
}

Result<Elements> Buffer::read() const {
  std::vector<std::uint8_t> now(image_.size());
  if (Status s = device_->to_host(now.data(), memory_, now.size()); !s) return s;
  Elements e(dtype_, rows_, cols_);
  for_lines([&](std::size_t image, std::size_t packed, std::size_t bytes) {
    if (bytes != 0) std::memcpy(e.bytes.data() + packed, now.data() + image, bytes);
  });
  return e;
}

Result<bool> Buffer::intact(bool written) const {
  std::vector<std::uint8_t> now(image_.size());
  if (Status s = device_->to_host(now.data(), memory_, now.size()); !s) return s;
  if (written) {
    std::memcpy(now.data() + first_, image_.data() + first_, payload_);
    for_lines([&](std::size_t image, std::size_t, std::size_t bytes) {
      std::memcpy(now.data() + image, image_.data() + image, bytes);
    });
  }
  return std::memcmp(now.data(), image_.data(), now.size()) == 0;
}

}  // namespace detgemm::conformance

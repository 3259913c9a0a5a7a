// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/buffer.hpp"

#include <cstring>
#include <utility>

namespace detgemm::conformance {
namespace {

constexpr std::size_t kAligned = 256;
constexpr std::size_t kGuard = 4096;  // bytes before and after in a device's memory

}  // namespace

Status Buffer::allocate(Device& device, std::size_t span, std::size_t offset, bool at_front,
                        std::uint8_t fill) {
  device_ = &device;
  span_ = span;
  guarded_ = device.kind() == DeviceKind::host;
  if (!guarded_) {
    first_ = kGuard + offset;
    image_.assign(first_ + span + kGuard, fill);
    auto memory = device.allocate(image_.size());
    if (!memory) return memory.status();
    device_memory_ = DeviceMemory(device, *memory);
    return {};
  }
  const std::size_t residue = offset % kAligned;
  auto memory = GuardedMemory::map(residue + span);
  if (!memory) return memory.status();
  host_ = std::move(memory).value();
  image_.assign(host_.bytes(), fill);
  const std::size_t room = host_.bytes() - residue - span;
  first_ = residue + (at_front ? 0 : room / kAligned * kAligned);
  return {};
}

Status Buffer::restore() {
  if (!guarded_) return device_->to_device(memory(), image_.data(), image_.size());
  std::memcpy(memory(), image_.data(), image_.size());
  return {};
}

Status Buffer::fetch(std::vector<std::uint8_t>& now) const {
  now.resize(image_.size());
  if (!guarded_) return device_->to_host(now.data(), memory(), now.size());
  std::memcpy(now.data(), memory(), now.size());
  return {};
}

std::string Buffer::touched() const {
  const std::uintptr_t at = host_.touched();
  if (at == 0) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(memory()) + first_;
  if (at < begin) return std::to_string(begin - at) + " bytes before its first element";
  return std::to_string(at - begin - span_) + " bytes after its last element";
}

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
  // Nothing behind the last line belongs to it.
  const std::int64_t elements = lines == 0 ? 0 : lines * ld - layout.ld_padding;
  if (Status s =
          b.allocate(device, static_cast<std::size_t>(elements) * b.size_,
                     static_cast<std::size_t>(layout.offset) * b.size_, layout.at_front, fill);
      !s) {
    return s;
  }
  void* nowhere = nullptr;  // until the memory is allocated
  b.view_ = layout.col_major ? col_major(nowhere, rows, cols, b.dtype_, ld)
                             : row_major(nowhere, rows, cols, b.dtype_, ld);
  b.row_step_ = transposed ? b.view_.col_stride : b.view_.row_stride;
  b.col_step_ = transposed ? b.view_.row_stride : b.view_.col_stride;
  b.for_lines([&](std::size_t image, std::size_t packed, std::size_t bytes) {
    if (bytes != 0) std::memcpy(b.image_.data() + image, contents.bytes.data() + packed, bytes);
  });
  if (Status s = b.restore(); !s) return s;
  b.view_.data = static_cast<std::uint8_t*>(b.memory()) + b.first_;
  return b;
}

Result<Buffer> Buffer::scratch(Device& device, std::size_t bytes, std::uint8_t fill) {
  Buffer b;
  b.payload_ = bytes;
  if (Status s = b.allocate(device, bytes, 0, false, fill); !s) return s;
  if (Status s = b.restore(); !s) return s;
  b.view_.data = static_cast<std::uint8_t*>(b.memory()) + b.first_;
  return b;
}

Result<Elements> Buffer::read() const {
  std::vector<std::uint8_t> now;
  if (Status s = fetch(now); !s) return s;
  Elements e(dtype_, rows_, cols_);
  for_lines([&](std::size_t image, std::size_t packed, std::size_t bytes) {
    if (bytes != 0) std::memcpy(e.bytes.data() + packed, now.data() + image, bytes);
  });
  return e;
}

Result<bool> Buffer::intact(bool written) const {
  std::vector<std::uint8_t> now;
  if (Status s = fetch(now); !s) return s;
  if (written) {
    std::memcpy(now.data() + first_, image_.data() + first_, payload_);
    for_lines([&](std::size_t image, std::size_t, std::size_t bytes) {
      std::memcpy(now.data() + image, image_.data() + image, bytes);
    });
  }
  return std::memcmp(now.data(), image_.data(), now.size()) == 0;
}

}  // namespace detgemm::conformance

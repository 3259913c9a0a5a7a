// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/conformance/random.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::size_t kAligned = 256;
// Bytes before and after in a device's memory.
constexpr std::size_t kGuard = 8192;
constexpr std::size_t kWideGuard = 144 * 1024;
constexpr std::size_t kSparse = std::size_t{1}
                                << 28;      // bytes; of larger arrays only lines are held
constexpr std::size_t kSurroundings = 256;  // of a line of those
constexpr std::int64_t kFrozenLines = 64;   // each of them costs a call of the system

}  // namespace

Status Buffer::allocate(Device& device, std::size_t span, std::size_t offset, bool at_front,
                        std::uint8_t fill) {
  device_ = &device;
  span_ = span;
  guarded_ = device.kind() == DeviceKind::host;
  if (!guarded_) {
    // Wide guards are copied with every call, so one array in four has them.
    const bool wide = scramble(span + 31 * offset) % 4 == 0;
    const std::size_t guard = wide ? kWideGuard : kGuard;
    first_ = guard + offset;
    memory_bytes_ = first_ + span + guard;
    if (!sparse_) image_.assign(memory_bytes_, fill);
    auto memory = device.allocate(memory_bytes_);
    if (!memory) return memory.status();
    device_memory_ = DeviceMemory(device, *memory);
    return {};
  }
  const std::size_t residue = offset % kAligned;
  auto memory = GuardedMemory::map(residue + span,
                                   sparse_ ? GuardedMemory::kWideGuard : GuardedMemory::kGuard);
  if (!memory) return memory.status();
  host_ = std::move(memory).value();
  memory_bytes_ = host_.bytes();
  if (!sparse_) image_.assign(memory_bytes_, fill);
  const std::size_t room = host_.bytes() - residue - span;
  first_ = residue + (at_front ? 0 : room / kAligned * kAligned);
  return {};
}

Status Buffer::restore() {
  const int frozen = frozen_;
  if (frozen != 0) host_.thaw();
  frozen_ = 0;
  const auto put = [&](const Piece& piece) -> Status {
    auto* to = static_cast<std::uint8_t*>(memory()) + piece.at;
    const std::uint8_t* from = image_.data() + piece.image;
    if (!guarded_) return device_->to_device(to, from, piece.bytes);
    std::memcpy(to, from, piece.bytes);
    return {};
  };
  for (const Piece& piece : pieces_) {
    if (Status s = put(piece); !s) return s;
  }
  if (pieces_.empty()) {
    if (Status s = put({0, 0, image_.size()}); !s) return s;
  }
  return frozen == 0 ? Status{} : freeze(frozen == 2);
}

Status Buffer::fetch(std::vector<std::uint8_t>& now) const {
  now.resize(image_.size());
  const auto get = [&](const Piece& piece) -> Status {
    const auto* from = static_cast<const std::uint8_t*>(memory()) + piece.at;
    std::uint8_t* to = now.data() + piece.image;
    if (!guarded_) return device_->to_host(to, from, piece.bytes);
    std::memcpy(to, from, piece.bytes);
    return {};
  };
  if (pieces_.empty()) return get({0, 0, image_.size()});
  for (const Piece& piece : pieces_) {
    if (Status s = get(piece); !s) return s;
  }
  return {};
}

void Buffer::cut_into_pieces(std::uint8_t fill) {
  std::size_t image = 0;
  for (std::int64_t line = 0; line < lines(); ++line) {
    const std::size_t begin = line_begin(line);
    const std::size_t from = begin - std::min(begin, kSurroundings);
    const std::size_t to = std::min(begin + line_bytes() + kSurroundings, memory_bytes_);
    pieces_.push_back({from, image, to - from});
    image += to - from;
  }
  image_.assign(image, fill);
}

Status Buffer::freeze(bool written) {
  if (!guarded_ || frozen_ != 0) return {};
  frozen_ = written ? 2 : 1;
  if (!written) return host_.freeze(0, memory_bytes_);
  // Each line may end, or begin, where a page does.
  for (std::int64_t line = 0; line + 1 < lines() && lines() <= kFrozenLines; ++line) {
    if (Status s = host_.freeze(line_begin(line) + line_bytes(), line_begin(line + 1)); !s)
      return s;
  }
  return {};
}

std::string Buffer::rewritten() const {
  if (frozen_ == 0 || host_.written() == 0) return {};
  const std::uintptr_t at = host_.written() - reinterpret_cast<std::uintptr_t>(memory());
  const auto place = static_cast<std::int64_t>(at) - static_cast<std::int64_t>(first_);
  return "byte " + std::to_string(place) + (frozen_ == 2 ? ", between its lines" : "");
}

Status Buffer::replace(const Elements& contents) {
  for_lines([&](std::size_t image, std::size_t packed, auto bytes) {
    if (bytes != 0) std::memcpy(image_.data() + image, contents.bytes.data() + packed, bytes);
  });
  return restore();
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
  with_size(size_, [&](auto size) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < cols_; ++j) {
        move(at(i, j), static_cast<std::size_t>(i * cols_ + j) * size, size);
      }
    }
  });
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
  b.sparse_ = static_cast<std::size_t>(elements) * b.size_ > kSparse;
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
  if (b.sparse_) b.cut_into_pieces(fill);
  if (Status s = b.replace(contents); !s) return s;
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
  for_lines([&](std::size_t image, std::size_t packed, auto bytes) {
    if (bytes != 0) std::memcpy(e.bytes.data() + packed, now.data() + image, bytes);
  });
  return e;
}

Result<bool> Buffer::intact(bool written) const {
  std::vector<std::uint8_t> now;
  if (Status s = fetch(now); !s) return s;
  if (written) {
    if (payload_ != 0) std::memcpy(now.data() + first_, image_.data() + first_, payload_);
    for_lines([&](std::size_t image, std::size_t, auto bytes) {
      std::memcpy(now.data() + image, image_.data() + image, bytes);
    });
  }
  return std::memcmp(now.data(), image_.data(), now.size()) == 0;
}

}  // namespace detgemm::conformance

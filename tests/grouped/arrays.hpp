// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "detgemm/device.hpp"
#include "detgemm/types.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::grouped_tests {

/// What a property throws when it finds a difference, or a call that should have succeeded did not.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void ok(const Status& status) {
  if (!status) throw Failure(status.message());
}
template <class T>
T ok(Result<T> result) {
  if (!result) throw Failure(result.status().message());
  return std::move(result).value();
}

/// Memory of a backend's device, with margins around it that nobody may change.
class Array {
 public:
  static constexpr std::size_t kMargin = 512;

  /// `bytes` bytes, displaced by `shift` bytes from an address that is a multiple of 256.
  Array(Device& device, std::size_t bytes, std::size_t shift = 0)
      : device_(&device), shift_(shift), bytes_(bytes), image_(bytes + 2 * kMargin) {
    std::memset(image_.data(), 0x3c, image_.size());
    data_ = ok(device.allocate(image_.size()));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { device_->release(data_); }

  /// Where the elements are on the device.
  void* at() const { return static_cast<std::byte*>(data_) + kMargin / 2 + shift_; }
  /// The elements as the host knows them: `upload` sends them, `download` brings them.
  std::byte* host() { return image_.data() + kMargin / 2 + shift_; }
  std::size_t bytes() const { return bytes_; }
  void upload() { ok(device_->to_device(data_, image_.data(), image_.size())); }
  void download() { ok(device_->to_host(image_.data(), data_, image_.size())); }
  /// Everything, margins included.
  const std::vector<std::byte>& image() const { return image_; }

 private:
  Device* device_;
  std::size_t shift_, bytes_;
  std::vector<std::byte> image_;
  void* data_ = nullptr;
};

/// Random elements of a type (fp32 in memory for tf32).
inline void fill(test::Random& random, test::Data data, DType type, std::byte* to,
                 std::int64_t count) {
  const auto put = [&]<DType T>() {
    const auto list = test::random_elements<T>(random, data, count);
    if (count > 0) std::memcpy(to, list.data(), list.size() * sizeof(list[0]));
  };
  switch (type) {
    case DType::bf16:
      return put.operator()<DType::bf16>();
    case DType::fp16:
      return put.operator()<DType::fp16>();
    case DType::e4m3:
      return put.operator()<DType::e4m3>();
    case DType::e5m2:
      return put.operator()<DType::e5m2>();
    default:
      return put.operator()<DType::fp32>();
  }
}

/// Workspace of a backend's device, as a plan asks for it.
class Scratch {
 public:
  Scratch(Device& device, std::size_t bytes)
      : device_(&device), bytes_(bytes), data_(bytes > 0 ? ok(device.allocate(bytes)) : nullptr) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { device_->release(data_); }
  Workspace get() const { return {data_, bytes_}; }

 private:
  Device* device_;
  std::size_t bytes_;
  void* data_;
};

}  // namespace detgemm::grouped_tests

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "python/torch_ops/torch_abi.h"

/// Values of an operator's stack, owned: what is read is released once, also when a call is
/// refused.
namespace detgemm::torch_ops {

/// A refusal, which Python sees as RuntimeError with this sentence.
[[noreturn]] inline void refuse(const std::string& sentence) {
  throw std::runtime_error("detgemm: " + sentence);
}

/// Refuses where a function of torch failed, which the sentence calls `what`.
inline void check(AOTITorchError error, const char* what) {
  if (error != 0) refuse(std::string("PyTorch could not ") + what + "; its log has the reason");
}

/// An owned reference to a tensor.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(AtenTensorHandle handle) : handle_(handle) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_ != nullptr) aoti_torch_delete_tensor_object(handle_);
  }
  AtenTensorHandle get() const { return handle_; }
  AtenTensorHandle release() { return std::exchange(handle_, nullptr); }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  AtenTensorHandle handle_ = nullptr;
};

/// Where a tensor's elements begin.
inline void* data_of(const Tensor& tensor) {
  void* data = nullptr;
  check(aoti_torch_get_data_ptr(tensor.get(), &data), "give a tensor's memory");
  return data;
}

/// Reads an operator's arguments in the order of its schema. Every argument is taken by one call;
/// what was not taken when a call is refused would leak, so take all of them before any check.
class Arguments {
 public:
  explicit Arguments(StableIValue* stack) : next_(stack) {}

  Tensor tensor() { return Tensor(number<AtenTensorHandle>(*next_++)); }
  Tensor optional_tensor() {
    const auto value = optional();
    return value ? Tensor(number<AtenTensorHandle>(*value)) : Tensor();
  }
  std::string text() { return text_of(*next_++); }
  /// Empty where the caller gave None.
  std::string optional_text() {
    const auto value = optional();
    return value ? text_of(*value) : std::string();
  }
  double real() { return number<double>(*next_++); }
  std::int64_t integer() { return number<std::int64_t>(*next_++); }
  bool boolean() { return number<bool>(*next_++); }

 private:
  template <class T>
  static T number(StableIValue value) {
    T result;
    std::memcpy(&result, &value,
                sizeof result);  // little endian, as every platform of torch's wheels
    return result;
  }
  std::optional<StableIValue> optional() {
    auto* const pointer = number<StableIValue*>(*next_++);
    if (pointer == nullptr) return std::nullopt;
    const StableIValue value = *pointer;
    delete pointer;
    return value;
  }
  static std::string text_of(StableIValue value) {
    const auto handle = number<StringHandle>(value);
    std::size_t length = 0;
    const char* data = nullptr;
    torch_string_length(handle, &length);
    torch_string_c_str(handle, &data);
    std::string text(data, length);
    torch_delete_string(handle);
    return text;
  }

  StableIValue* next_;
};

/// Puts a tensor into a place of the stack; torch looks for results from the first place on.
inline void give(StableIValue* stack, Tensor tensor, std::size_t place = 0) {
  AtenTensorHandle handle = tensor.release();
  std::memcpy(stack + place, &handle, sizeof handle);
}

}  // namespace detgemm::torch_ops

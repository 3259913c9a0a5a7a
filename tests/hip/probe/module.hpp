// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "detgemm/hip.hpp"

/// Kernels that belong to a program of the tests and not to the library, on the device that the HIP
/// backend uses, by the functions of the runtime that it has loaded.
namespace detgemm::test {

/// The chip of the current device, such as gfx942; empty where there is none.
std::string current_chip();

class Module {
 public:
  /// Loads a code object. HIP reads an image at any multiple of 4096.
  static Result<Module> load(const unsigned char* object);
  /// Launches groups of `threads` threads with one struct as argument, and waits for them.
  Status run(const std::string& kernel, unsigned groups, unsigned threads, void* arguments) const;

 private:
  void* library_ = nullptr;
  void* module_ = nullptr;
};

/// Memory of the device, with the bytes of an array.
class Array {
 public:
  template <class T>
  explicit Array(const std::vector<T>& from) : bytes_(from.size() * sizeof(T)) {
    if (const auto memory = device_.allocate(bytes_)) data_ = *memory;
    if (data_ == nullptr || !device_.to_device(data_, from.data(), bytes_)) bytes_ = 0;
  }
  ~Array() { device_.release(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void* data() const { return data_; }
  bool filled() const { return bytes_ != 0; }
  template <class T>
  Status read(std::vector<T>& to) const {
    return device_.to_host(to.data(), data_, to.size() * sizeof(T));
  }

 private:
  Device& device_ = hip_backend().device();
  std::size_t bytes_;
  void* data_ = nullptr;
};

}  // namespace detgemm::test

/// The bytes of a file as a symbol.
#define DETGEMM_EMBEDDED(SYMBOL, FILE)                                       \
  __asm__(".pushsection .rodata\n.balign 4096\n.globl " #SYMBOL "\n" #SYMBOL \
          ":\n"                                                              \
          ".incbin \"" FILE "\"\n.popsection\n");                            \
  extern "C" const unsigned char SYMBOL[]

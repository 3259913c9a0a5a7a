// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

namespace detgemm::bench {

/// Functions of a library that was opened at run time, looked up one by one.
class Symbols {
 public:
  /// Every name begins with `prefix`.
  Symbols(void* library, std::string prefix) : library_(library), prefix_(std::move(prefix)) {}

  template <class Function>
  void find(Function*& function, const char* name) {
    const std::string full = prefix_ + name;
    function = reinterpret_cast<Function*>(dlsym(library_, full.c_str()));
    if (function == nullptr) missing_ = full;
  }
  /// The last name that was not found; empty where all were.
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string prefix_;
  std::string missing_;
};

}  // namespace detgemm::bench

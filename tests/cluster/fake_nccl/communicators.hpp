// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <dlfcn.h>

#include <array>
#include <stdexcept>
#include <string>

#include "tests/cluster/fake_nccl/streams.hpp"

namespace detgemm::fake {

/// A stand-in for NCCL or RCCL that the test has loaded, as a program loads its own.
class Library {
 public:
  struct UniqueId {
    std::array<char, 128> internal;
  };

  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    steering = function<const Steering* (*)()>("fakeNcclSteering")();
  }

  UniqueId id() const {
    UniqueId made;
    function<int (*)(UniqueId*)>("ncclGetUniqueId")(&made);
    return made;
  }
  void* comm(const UniqueId& id, int ranks, int rank) const {
    void* made = nullptr;
    function<int (*)(void**, int, UniqueId, int)>("ncclCommInitRank")(&made, ranks, id, rank);
    return made;
  }
  void destroy(void* comm) const { function<int (*)(void*)>("ncclCommDestroy")(comm); }

  const Steering* steering = nullptr;

 private:
  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }
  void* handle_;
};

}  // namespace detgemm::fake

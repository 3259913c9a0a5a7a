// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/export.hpp"
#include "detgemm/status.hpp"

namespace detgemm {

struct RuntimeOptions {
  int threads = 0;  ///< host threads of the reference; 0 for all
};

/// Starts what the built-in backends need (Kokkos, for the reference) unless the application
/// has already started it, and at destruction stops what it started. Applications that call
/// Kokkos::initialize themselves do not need one. Make one in main, on the main thread.
class DETGEMM_API Runtime {
 public:
  static Result<Runtime> start(const RuntimeOptions& options = {});
  Runtime(Runtime&& other) noexcept;
  Runtime& operator=(Runtime&&) = delete;
  ~Runtime();

 private:
  explicit Runtime(bool owns_kokkos) : owns_kokkos_(owns_kokkos) {}
  bool owns_kokkos_;
};

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/export.hpp"
#include "detgemm/status.hpp"

namespace detgemm {

/// How to start the built-in backends.
struct RuntimeOptions {
  int threads = 0;  ///< host threads of the reference; 0 for all of the machine's
};

/// Starts what the built-in backends need (Kokkos, for the reference) unless the application
/// has already started it, and at destruction stops what it started. Applications that call
/// Kokkos::initialize themselves do not need one. Create one in main, on the main thread, and keep
/// it alive while plans run; without it, calls that need the reference return `unavailable`.
class DETGEMM_API Runtime {
 public:
  /// Refuses a number of threads below 0 or above 4096 (invalid_argument), and from Kokkos 3.7 on a
  /// Kokkos that has been finalised in this process (unavailable).
  static Result<Runtime> start(const RuntimeOptions& options = {});
  /// Takes over what `other` would have stopped.
  Runtime(Runtime&& other) noexcept;
  Runtime& operator=(Runtime&&) = delete;
  ~Runtime();

 private:
  explicit Runtime(bool owns_kokkos) : owns_kokkos_(owns_kokkos) {}
  bool owns_kokkos_;
};

}  // namespace detgemm

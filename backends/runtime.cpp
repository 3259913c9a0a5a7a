// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/runtime.hpp"

#include <string>
#include <utility>

#include "detgemm/config.hpp"
#if DETGEMM_HAS_REFERENCE
#include "detgemm/reference.hpp"
#endif

namespace detgemm {

Result<Runtime> Runtime::start(const RuntimeOptions& options) {
  // Far more than any machine has: OpenMP ends the process where it cannot start its threads.
  constexpr int kMaxThreads = 4096;
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return invalid("threads is " + std::to_string(options.threads) +
                   ": it must be from 0 (all) to " + std::to_string(kMaxThreads));
  }
#if DETGEMM_HAS_REFERENCE
  auto started = initialize_reference(options.threads);
  if (!started) return started.status();
  return Runtime(*started);
#else
  return Runtime(false);
#endif
}

Runtime::Runtime(Runtime&& other) noexcept
    : owns_kokkos_(std::exchange(other.owns_kokkos_, false)) {}

Runtime::~Runtime() {
#if DETGEMM_HAS_REFERENCE
  if (owns_kokkos_) finalize_reference();
#endif
}

}  // namespace detgemm

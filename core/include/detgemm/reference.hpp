// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The bit-exact reference on Kokkos (component `reference`).
DETGEMM_API const Backend& reference_backend() noexcept;

/// Calls Kokkos::initialize with this many threads (0: all) unless the application has; true when
/// this call did it, and then `finalize_reference` must be called at the end.
DETGEMM_API Result<bool> initialize_reference(int threads);
DETGEMM_API void finalize_reference() noexcept;

}  // namespace detgemm

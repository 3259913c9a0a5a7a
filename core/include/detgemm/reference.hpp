// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The bit-exact reference on Kokkos's host space (component `reference`).
DETGEMM_API const Backend& reference_backend() noexcept;

/// The same on Kokkos's device space, for memory and streams of that device: the backend
/// "reference-device". It is slow, one thread an output. Null where this build's Kokkos has neither
/// Cuda nor HIP. Streams belong to the device that Kokkos runs on; the first call on a stream that
/// was not made by its `Device` allocates, the ones after it do not.
DETGEMM_API const Backend* reference_device_backend() noexcept;

/// Calls Kokkos::initialize with this many threads (0: all) unless the application has; true when
/// this call did it, and then `finalize_reference` must be called at the end.
DETGEMM_API Result<bool> initialize_reference(int threads);
DETGEMM_API void finalize_reference() noexcept;

}  // namespace detgemm

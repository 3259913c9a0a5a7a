// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The bit-exact reference on Kokkos's host space (component `reference`). It computes every
/// contract: each arithmetic, with chain, fold, tree and scaled; also many products in one call
/// (grouped.hpp). Unavailable while Kokkos is not initialised; a Runtime, or
/// `initialize_reference`, does that.
DETGEMM_API const Backend& reference_backend() noexcept;

/// The same contracts on Kokkos's device space, for memory and streams of that device: the backend
/// "reference-device". It is slow: one thread computes one output. Null where this build's Kokkos
/// has neither Cuda nor HIP. Streams belong to the device that Kokkos runs on. The first call on a
/// stream that its `Device` did not create allocates; later calls on that stream do not.
DETGEMM_API const Backend* reference_device_backend() noexcept;

/// Calls Kokkos::initialize with this many host threads (0: all) unless the application has done
/// so. Returns true if this call initialised Kokkos: then call `finalize_reference` before the
/// process ends. Call both on the main thread. Refuses a negative number of threads
/// (invalid_argument), and from Kokkos 3.7 on a Kokkos that has been finalised in this process
/// (unavailable).
DETGEMM_API Result<bool> initialize_reference(int threads);
/// Calls Kokkos::finalize if Kokkos is initialised. No run may be in progress.
DETGEMM_API void finalize_reference() noexcept;

}  // namespace detgemm

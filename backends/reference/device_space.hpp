// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <Kokkos_Core.hpp>

#include "detgemm/device.hpp"

// Kokkos's device space, where it has one that a stream can name: Cuda, or HIP.
#if KOKKOS_VERSION >= 40000 && (defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP))
#define DETGEMM_KOKKOS_DEVICE

namespace detgemm::reference {

#ifdef KOKKOS_ENABLE_CUDA
using DeviceSpace = Kokkos::Cuda;
inline constexpr DeviceKind kDeviceKind = DeviceKind::cuda;
#else
using DeviceSpace = Kokkos::HIP;
inline constexpr DeviceKind kDeviceKind = DeviceKind::hip;
#endif
using DeviceMemory = DeviceSpace::memory_space;

/// Memory and streams through Kokkos.
Device& kokkos_device() noexcept;

/// The instance that launches on this stream; it outlives every launch. Needs an initialised
/// Kokkos. The first use of a stream that `create_stream` did not make allocates.
const DeviceSpace& instance_on(Stream stream);

/// What a call says before Kokkos::initialize and after Kokkos::finalize.
Status device_started();

}  // namespace detgemm::reference
#endif

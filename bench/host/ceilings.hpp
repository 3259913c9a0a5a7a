// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// A triad a[i] = b[i] + s * c[i] over arrays past the last cache, and chains of vector FMAs in
/// registers, on all threads.
Ceilings measure_host_ceilings(std::int64_t cache_bytes, bool quick);

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/device.hpp"

namespace detgemm::hip {

/// Memory, streams and graphs of the calling thread's current device.
Device& hip_device() noexcept;

}  // namespace detgemm::hip

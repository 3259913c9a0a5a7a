// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/device.hpp"

namespace detgemm::cuda {

/// Memory, streams and graphs of the calling thread's current device.
Device& cuda_device() noexcept;

}  // namespace detgemm::cuda

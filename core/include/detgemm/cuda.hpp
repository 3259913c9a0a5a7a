// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The CUDA backend (component `cuda`). Until it has kernels, `available` and `supports` refuse
/// with a sentence that says so.
DETGEMM_API const Backend& cuda_backend() noexcept;

}  // namespace detgemm

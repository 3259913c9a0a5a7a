// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The skeleton, except that a run needs 256 bytes of workspace per row of D, says that it is
/// fastest with 512, and overwrites all that it is given.
const Backend& scratch_backend() noexcept;

}  // namespace detgemm

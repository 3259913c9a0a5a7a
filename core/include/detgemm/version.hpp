// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/export.hpp"

#define DETGEMM_VERSION_MAJOR 0
#define DETGEMM_VERSION_MINOR 1
#define DETGEMM_VERSION_PATCH 0
#define DETGEMM_VERSION_STRING "0.1.0"

namespace detgemm {

/// The version of the library that is linked, for example "0.1.0".
DETGEMM_API const char* version() noexcept;

}  // namespace detgemm

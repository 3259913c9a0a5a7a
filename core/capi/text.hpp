// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "detgemm/detgemm.h"
#include "detgemm/status.hpp"

namespace detgemm::capi {

/// Hands text to a (buffer, size, needed) caller; see detgemm.h.
DETGEMM_API Status give_text(std::string_view text, char* buffer, size_t size, size_t* needed);

/// The same text ending in 0 for as long as the process lives. For names, which are few.
const char* interned(std::string_view text) noexcept;

}  // namespace detgemm::capi

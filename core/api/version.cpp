// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/version.hpp"

namespace detgemm {

const char* version() noexcept { return DETGEMM_VERSION_STRING; }

}  // namespace detgemm

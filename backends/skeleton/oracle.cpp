// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::conformance {

const Backend& scalar_backend() noexcept { return skeleton_backend(); }

}  // namespace detgemm::conformance

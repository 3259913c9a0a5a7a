// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "dropin/counts.hpp"

namespace detgemm::dropin {

/// The event as one line of JSON, its end of line included.
std::string log_line(const Event& event);

}  // namespace detgemm::dropin

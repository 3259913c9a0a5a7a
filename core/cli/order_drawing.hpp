// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "detgemm/contract.hpp"

namespace detgemm::cli {

/// The order in which a contract adds K products, drawn in ASCII: every leaf where there are few,
/// the first and last ones where there are many. Ends in a newline.
std::string draw_order(const Contract& contract, std::int64_t k);

}  // namespace detgemm::cli

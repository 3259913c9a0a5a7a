// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json.hpp>

#include "detgemm/conformance.hpp"

namespace detgemm::conformance {

using Json = nlohmann::ordered_json;

Json to_json(const Failure& failure);
Json to_json(const Cell& cell);
/// Everything but the cells.
Json facts_to_json(const Report& report);
Json to_json(const Report& report);

// The way back, for what a worker process sends. They throw what nlohmann::json throws.
Cell cell_from_json(const Json& json);
Report facts_from_json(const Json& json);

/// On one line; sentences come from engines too: bytes that are no UTF-8 are replaced.
std::string line_of(const Json& json);

}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/json.hpp"

namespace detgemm::conformance {

std::string render_json(std::span<const Report> reports) {
  Json json{{"schema", "detgemm-conformance-1"}, {"reports", Json::array()}};
  for (const Report& report : reports) json["reports"].push_back(to_json(report));
  // Sentences come from engines too: bytes that are no UTF-8 are replaced, not thrown about.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace detgemm::conformance

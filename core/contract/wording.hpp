// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "detgemm/types.hpp"

namespace detgemm {

/// The caller's text as a sentence can show it: in quotes, shortened, unprintable bytes as '?'.
inline std::string quoted(std::string_view text) {
  std::string shown = "\"";
  for (char c : text.substr(0, 80)) shown += (c >= 0x20 && c < 0x7f) ? c : '?';
  return shown + (text.size() > 80 ? "...\"" : "\"");
}

/// The name of an enumeration's value; one that has none is shown as "unknown (77)".
template <class E>
std::string described(E value) {
  std::string text(name(value));
  if (text == "unknown") text += " (" + std::to_string(static_cast<std::int32_t>(value)) + ")";
  return text;
}

/// parse_dtype for an argument of this name.
Result<DType> parse_dtype_of(std::string_view what, std::string_view text);

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "tests/fuzz/bytes.hpp"

namespace detgemm::fuzz {

/// What a refusal must be: not empty, not a page, without control characters but line ends.
inline void require_sentence(const std::string& said) {
  require(!said.empty() && said.size() < 5000, "a refusal has a sentence");
  for (unsigned char c : said) {  // names of files may be UTF-8
    require((c >= 0x20 && c != 0x7f) || c == '\n', "a sentence has no control characters");
  }
}

}  // namespace detgemm::fuzz

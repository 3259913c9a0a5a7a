// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <regex.h>

#include <string>

namespace detgemm::test {

/// Whether a part of the text matches an extended regular expression of POSIX, which is false of
/// one that is not well formed. (std::regex takes two seconds to compile in every test that has
/// it, and five under sanitizers.)
inline bool finds(const std::string& text, const std::string& expression) {
  regex_t compiled;
  if (regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

}  // namespace detgemm::test

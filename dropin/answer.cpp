// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/answer.hpp"

#include <string>

namespace detgemm::dropin {

void note(const Known& call, Fate fate, std::string_view why) noexcept try {
  const bool first =
      count({call.function, call.direction, call.m, call.n, call.k, call.batch, {}, {}, why, fate});
  // What is passed on stands in the table; what fails must be seen where it happens.
  if (!first || fate == Fate::passed) return;
  const char* verb = fate == Fate::refused   ? " is refused: "
                     : fate == Fate::invalid ? " is a bad call: "
                                             : " failed: ";
  say(std::string(call.function) + verb + std::string(why));
} catch (...) {
  return;  // without memory a row is missing
}

}  // namespace detgemm::dropin

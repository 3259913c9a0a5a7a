// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/log_line.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

namespace detgemm::dropin {
namespace {

constexpr std::array<const char*, 5> kFates{"taken", "passed_on", "refused", "invalid", "failed"};

void add(std::string& line, const char* key, std::string_view text) {
  line += ",\"" + std::string(key) + "\":\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
      line += escaped.data();
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

std::string log_line(const Event& event) {
  std::string line = "{\"process\":" + std::to_string(getpid());
  add(line, "function", event.function);
  add(line, "fate", kFates[static_cast<std::size_t>(event.fate)]);
  if (event.m >= 0) {
    line += ",\"m\":" + std::to_string(event.m) + ",\"n\":" + std::to_string(event.n) +
            ",\"k\":" + std::to_string(event.k) + ",\"batch\":" + std::to_string(event.batch);
  }
  if (event.direction[0] != '\0') add(line, "direction", event.direction);
  if (!event.contract.empty()) add(line, "contract", event.contract);
  if (!event.kernel.empty()) add(line, "kernel", event.kernel);
  if (!event.why.empty()) add(line, "why", event.why);
  return line + "}\n";
}

}  // namespace detgemm::dropin

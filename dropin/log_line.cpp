// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/log_line.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

namespace detgemm::dropin {
namespace {

constexpr std::array<const char*, 5> kFates{"taken", "passed_on", "refused", "invalid", "failed"};

/// How many bytes at the begin of `text` are one character of UTF-8; 0: they are none.
std::size_t character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  // Longer than it has to be, half of a surrogate pair, beyond the last character.
  const unsigned second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : size;
}

void add(std::string& line, const char* key, std::string_view text) {
  line += ",\"" + std::string(key) + "\":\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {  // names of files may be of any bytes
      const std::size_t size = character_at(text.substr(i));
      line += size == 0 ? std::string_view("\\ufffd") : text.substr(i, size);
      i += size == 0 ? 0 : size - 1;
    } else if (c == '"' || c == '\\') {
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

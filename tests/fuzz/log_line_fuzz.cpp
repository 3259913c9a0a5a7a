// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A line of the drop-in's log from any texts and numbers: one line, JSON, and the same facts when
// it is read back.

#include <nlohmann/json.hpp>
#include <string>

#include "dropin/log_line.hpp"
#include "tests/fuzz/bytes.hpp"

using namespace detgemm;
using fuzz::require;
using nlohmann::json;

namespace {

bool is_ascii(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

/// The key has the text, where the text is there at all; bytes that are no UTF-8 are replaced.
void same_text(const json& line, const char* key, const std::string& text) {
  require(line.contains(key) == !text.empty(), "a key is present if and only if it has a text");
  if (text.empty()) return;
  require(line[key].is_string(), "texts are strings");
  if (is_ascii(text)) require(line[key] == text, "a text is read back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  dropin::Event event;
  event.fate = static_cast<dropin::Fate>(bytes.below(5));
  event.m = bytes.odd_integer();
  event.n = bytes.odd_integer();
  event.k = bytes.odd_integer();
  event.batch = bytes.odd_integer();
  std::string texts[3];
  while (!bytes.empty()) texts[bytes.below(3)] += static_cast<char>(bytes.byte());
  event.function = "cublasGemmEx";
  event.contract = texts[0];
  event.kernel = texts[1];
  event.why = texts[2];
  const std::string line = dropin::log_line(event);
  require(!line.empty() && line.find('\n') == line.size() - 1, "an event is one line");
  const json read = json::parse(line, nullptr, /*allow_exceptions=*/false);
  require(read.is_object(), "a line is a JSON object");
  require(read["function"] == event.function, "the function is read back");
  require(read.contains("m") == (event.m >= 0), "sizes are present if and only if they are known");
  if (event.m >= 0) {
    require(read["m"] == event.m && read["n"] == event.n && read["k"] == event.k &&
                read["batch"] == event.batch,
            "sizes are read back");
  }
  same_text(read, "contract", texts[0]);
  same_text(read, "kernel", texts[1]);
  same_text(read, "why", texts[2]);
  return 0;
}

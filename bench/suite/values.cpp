// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>

namespace detgemm::bench {
namespace {

[[noreturn]] void wrong(const std::string& name, const std::string& value,
                        const std::string& rule) {
  throw std::invalid_argument(printable(name + " is \"" + value + "\": it must be " + rule));
}

/// "random:LOW:HIGH:COUNT".
std::vector<std::int64_t> drawn(const std::string& name, const std::string& text,
                                const std::vector<std::string>& parts, std::uint64_t seed) {
  if (parts.size() != 4) wrong(name, text, "random:LOW:HIGH:COUNT where it begins with random");
  const std::int64_t low = parse_whole(name, parts[1], 1, kMaxExtent);
  const std::int64_t high = parse_whole(name, parts[2], 1, kMaxExtent);
  const std::int64_t count = parse_whole(name, parts[3], 1, kMaxValues);
  if (low > high) wrong(name, text, "random:LOW:HIGH:COUNT with LOW no larger than HIGH");
  if (count > (high - low + 1) / 2 + 1) {
    wrong(name, text,
          "random:LOW:HIGH:COUNT with a COUNT of at most half of the numbers from LOW to HIGH");
  }
  Draws draws(seed, name + text);
  std::set<std::int64_t> values;
  // Where small numbers are used up, the logarithm would take very long to find one that is left.
  for (int tries = 0; static_cast<std::int64_t>(values.size()) < count; ++tries) {
    values.insert(tries < 100 * count ? draws.log_uniform(low, high)
                                      : low + draws.below(high - low + 1));
  }
  return {values.begin(), values.end()};
}

/// "LOW:HIGH" or "LOW:HIGH:STEP".
std::vector<std::int64_t> range(const std::string& name, const std::string& text,
                                const std::vector<std::string>& parts) {
  if (parts.size() > 3) wrong(name, text, "LOW:HIGH:STEP");
  const std::int64_t low = parse_whole(name, parts[0], 1, kMaxExtent);
  const std::int64_t high = parse_whole(name, parts[1], 1, kMaxExtent);
  const std::int64_t step = parts.size() == 3 ? parse_whole(name, parts[2], 1, kMaxExtent) : 1;
  if (low > high) wrong(name, text, "LOW:HIGH:STEP with LOW no larger than HIGH");
  if ((high - low) / step >= kMaxValues) wrong(name, text, "a range of at most 4096 numbers");
  std::vector<std::int64_t> values;
  for (std::int64_t value = low; value <= high; value += step) values.push_back(value);
  return values;
}

}  // namespace

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

Draws::Draws(std::uint64_t seed, std::string_view name) : state_(seed) {
  for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
}

std::uint64_t Draws::next() {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::int64_t Draws::below(std::int64_t count) {
  return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
}

std::int64_t Draws::log_uniform(std::int64_t low, std::int64_t high) {
  const double share = static_cast<double>(next() >> 11) * 0x1p-53;
  const auto from = static_cast<double>(low);
  const double value = from * std::pow(static_cast<double>(high + 1) / from, share);
  return std::clamp(static_cast<std::int64_t>(value), low, high);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::int64_t parse_whole(const std::string& name, const std::string& text, std::int64_t low,
                         std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    wrong(name, text, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

std::vector<std::int64_t> parse_values(const std::string& name, const std::string& text,
                                       std::uint64_t seed) {
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text)) {
    const auto pieces = split(part, ':');
    if (pieces.empty()) wrong(name, part, "a list such as 1,64,65 or 1:512:8");
    const auto more = pieces.front() == "random" ? drawn(name, part, pieces, seed)
                      : pieces.size() > 1        ? range(name, part, pieces)
                                          : std::vector{parse_whole(name, part, 1, kMaxExtent)};
    for (const std::int64_t value : more) {
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  if (values.empty()) {
    wrong(name, text, "a list such as 1,64,65 or 1:512:8 or random:1:8192:40");
  }
  if (static_cast<std::int64_t>(values.size()) > kMaxValues) {
    wrong(name, text, "a list of at most 4096 numbers");
  }
  return values;
}

}  // namespace detgemm::bench

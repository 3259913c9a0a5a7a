// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace detgemm::bench {

/// Random numbers that are the same on every machine and with every compiler (splitmix64).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  /// Of a seed and a name, so that the sizes of M, N and K are drawn apart.
  Draws(std::uint64_t seed, std::string_view name);

  std::uint64_t next();
  /// From 0 to count - 1, all equally likely.
  std::int64_t below(std::int64_t count);
  /// From low to high, uniform in the logarithm: 1 to 2 is as likely as 1024 to 2048.
  std::int64_t log_uniform(std::int64_t low, std::int64_t high);

 private:
  std::uint64_t state_;
};

/// The maximum number of values that one list may stand for.
inline constexpr std::int64_t kMaxValues = 4096;
/// The largest extent of a matrix that is measured.
inline constexpr std::int64_t kMaxExtent = 1 << 24;

/// A list of extents: numbers ("64"), ranges with both ends ("1:512:8", "1:16") and random draws
/// ("random:1:8192:40", forty different ones), separated by commas. Each value comes once, where it
/// stands first; draws are in ascending order and depend on `seed` and `name` alone.
/// Throws std::invalid_argument with a sentence that names `name` and the part that is wrong.
std::vector<std::int64_t> parse_values(const std::string& name, const std::string& text,
                                       std::uint64_t seed);

/// `text` with a question mark for every control character: names in JSON may hold any.
std::string printable(std::string text);

/// The parts of a text between commas; empty ones are dropped.
std::vector<std::string> split(const std::string& text, char separator = ',');

/// `text` as a whole number from `low` to `high`; throws as parse_values does.
std::int64_t parse_whole(const std::string& name, const std::string& text, std::int64_t low,
                         std::int64_t high);

}  // namespace detgemm::bench

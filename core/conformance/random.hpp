// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace detgemm::conformance {

/// One round of splitmix64's output function, a well-mixing bijection of 64 bits.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// A seed for a named part of a run, so that each case can be drawn again by itself.
constexpr std::uint64_t derive(std::uint64_t seed, std::string_view text, std::int64_t index) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return scramble(scramble(seed + hash) + static_cast<std::uint64_t>(index));
}

/// splitmix64: integer arithmetic only, so the same draws on every platform.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() { return scramble(state_ += 0x9e3779b97f4a7c15U); }
  /// Uniform in [0, count), count >= 1.
  constexpr std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(
        (static_cast<unsigned __int128>(next()) * static_cast<std::uint64_t>(count)) >> 64);
  }
  /// Uniform in [low, high].
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + below(high - low + 1);
  }
  constexpr bool one_in(std::int64_t count) { return below(count) == 0; }
  template <class T>
  constexpr T pick(std::span<const T> choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace detgemm::conformance

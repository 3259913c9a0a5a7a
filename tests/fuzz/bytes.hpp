// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace detgemm::fuzz {

/// Ends the process with the promise that was broken; the fuzzer keeps the input.
inline void require(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// Turns input bytes into numbers; past the end it gives zeros.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  /// 0 .. count - 1.
  int below(int count) { return byte() % count; }
  bool one_in(int count) { return left_ != 0 && byte() % count == 0; }
  template <class T>
  T number() {
    std::array<std::uint8_t, sizeof(T)> raw{};
    for (std::uint8_t& b : raw) b = byte();
    return std::bit_cast<T>(raw);
  }
  /// Small numbers, edges of the types, or anything.
  std::int64_t odd_integer() {
    static constexpr std::int64_t edges[] = {0,         1,         -1,        2,
                                             INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN,
                                             1LL << 31, 1LL << 32, 1LL << 61, 1LL << 62};
    switch (below(3)) {
      case 0:
        return below(40) - 4;
      case 1:
        return edges[below(12)];
      default:
        return number<std::int64_t>();
    }
  }
  bool empty() const { return left_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace detgemm::fuzz

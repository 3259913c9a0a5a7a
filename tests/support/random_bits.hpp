// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "core/arithmetic/formats.hpp"

namespace detgemm::test {

/// splitmix64: the same sequence on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t state_;
};

enum class Data { bits, wide, near_one, subnormal, cancel, specials };
inline constexpr Data kAllData[] = {Data::bits,      Data::wide,   Data::near_one,
                                    Data::subnormal, Data::cancel, Data::specials};

/// One raw element. `cancel` draws from very few values, so that sums cancel; `specials` mixes
/// zeros, Inf, NaN and the extremes into ordinary numbers.
template <DType T>
arithmetic::Storage<T> random_element(Random& random, Data data) {
  using F = arithmetic::Format<T>;
  using Raw = arithmetic::Storage<T>;
  const std::uint64_t r = random.next();
  constexpr int exponent_bits = F::exponent_bits;
  constexpr int low = F::fraction_bits + F::dropped_bits;  // bits below the exponent field
  constexpr std::uint64_t top = (1U << exponent_bits) - 1;
  constexpr std::uint64_t bias = top / 2;
  const std::uint64_t sign = (r >> 63) << (exponent_bits + low);
  const std::uint64_t fraction = r & ((std::uint64_t{1} << low) - 1);
  const auto build = [&](std::uint64_t field, std::uint64_t bits) {
    return static_cast<Raw>(sign | (field << low) | bits);
  };
  const std::uint64_t pick = r >> 40;
  switch (data) {
    case Data::bits:
      return static_cast<Raw>(r);
    case Data::wide: {
      const std::uint64_t span = exponent_bits >= 8 ? 60 : top - 2;
      return build(bias - span / 2 + pick % span, fraction);
    }
    case Data::near_one:
      return build(bias - pick % 4, fraction);
    case Data::subnormal:
      return build(pick % 3, fraction);
    case Data::cancel:
      return build(bias - pick % 2, (r & 1U) << (low - 1));
    case Data::specials:
      switch (pick % 24) {
        case 0:
          return build(0, 0);
        case 1:
          return build(top, 0);
        case 2:
          return build(top, (std::uint64_t{1} << low) - 1);
        case 3:
          return build(top - 1, (std::uint64_t{1} << low) - 1);
        case 4:
          return build(0, 1);
        default:
          return build(bias - pick % 3, fraction);
      }
  }
  return Raw{0};
}

template <DType T>
std::vector<arithmetic::Storage<T>> random_elements(Random& random, Data data, std::int64_t count) {
  std::vector<arithmetic::Storage<T>> v(static_cast<std::size_t>(count));
  for (auto& x : v) x = random_element<T>(random, data);
  return v;
}

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/random_data.hpp"

#include <array>
#include <cstring>
#include <string>

#include "core/arithmetic/formats.hpp"
#include "core/cli/arguments.hpp"

namespace detgemm::cli {
namespace {

using arithmetic::float_of;
using arithmetic::Format;

constexpr std::uint64_t kIncrement = 0x9e3779b97f4a7c15U;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// The draws of one element.
struct Draws {
  std::uint64_t key;
  std::uint64_t operator()(std::int64_t i, std::uint64_t j) const {
    return mix(key + (4 * static_cast<std::uint64_t>(i) + j + 1) * kIncrement);
  }
};

float normal(const Draws& draw, std::int64_t i) {
  std::int32_t sum = -4 * 65535;
  for (std::uint64_t word : {draw(i, 0), draw(i, 1)}) {
    for (int part = 0; part < 64; part += 16) {
      sum += static_cast<std::int32_t>((word >> part) & 0xffff);
    }
  }
  return static_cast<float>(sum) * 0x1.3988e2p-16F;  // sqrt(1.5) / 2^16: variance 1
}

/// A format's special bit patterns, from its field widths.
template <DType T>
struct Patterns {
  using F = Format<T>;
  static constexpr int low = F::fraction_bits + F::dropped_bits;  // bits below the exponent
  static constexpr std::uint32_t sign = 1U << (low + F::exponent_bits);
  static constexpr std::uint32_t top = ((1U << F::exponent_bits) - 1U) << low;
  static constexpr std::uint32_t unit = 1U << F::dropped_bits;  // last fraction bit in use
  static constexpr std::uint32_t one = ((1U << (F::exponent_bits - 1)) - 1U) << low;
  static constexpr bool has_inf = T != DType::e4m3;
  static constexpr std::uint32_t nan = has_inf ? top | (1U << (low - 1)) : 0x7fU;
  static constexpr std::uint32_t largest = has_inf ? top - unit : 0x7eU;
  static constexpr std::uint32_t inf = has_inf ? top : largest;
  static constexpr std::array<std::uint32_t, 8> list{
      0, sign, inf, inf | sign, nan, largest, largest | sign, 1U << low};
};

/// Nearest even among the positive finite numbers of an 8-bit format; beyond them, the largest.
template <DType T>
std::uint32_t encode8(float value) {
  const bool negative = value < 0.0F;
  const float magnitude = negative ? -value : value;
  std::uint32_t at = 0;  // the largest code at or below the magnitude
  for (std::uint32_t bit = 64; bit != 0; bit /= 2) {
    const std::uint32_t code = at + bit;
    if (code <= Patterns<T>::largest &&
        arithmetic::to_float<T>(static_cast<std::uint8_t>(code)) <= magnitude) {
      at = code;
    }
  }
  if (at < Patterns<T>::largest) {
    const float below = arithmetic::to_float<T>(static_cast<std::uint8_t>(at));
    const float above = arithmetic::to_float<T>(static_cast<std::uint8_t>(at + 1));
    const float down = magnitude - below;
    const float up = above - magnitude;
    if (up < down || (up == down && at % 2 != 0)) ++at;
  }
  return at | (negative ? Patterns<T>::sign : 0U);
}

template <DType T>
std::uint32_t encode(float value) {
  if constexpr (T == DType::bf16) return arithmetic::to_bf16(value);
  if constexpr (T == DType::fp16) return arithmetic::to_fp16(value);
  if constexpr (T == DType::e4m3 || T == DType::e5m2) return encode8<T>(value);
  return arithmetic::bits_of(value);
}

template <DType T>
std::uint32_t wide(const Draws& draw, std::int64_t i) {
  constexpr int reach = Format<T>::exponent_bits == 8 ? 30 : 6;
  constexpr int count = 2 * reach;
  const int exponent = static_cast<int>(draw(i, 2) % count) - reach;
  return encode<T>(normal(draw, i) * float_of(static_cast<std::uint32_t>(127 + exponent) << 23));
}

/// Elements 2j and 2j + 1 are a pair: equal in A, opposite in B.
template <DType T>
std::uint32_t cancel(const Draws& draw, std::int64_t i, Role role) {
  const std::int64_t first = i - i % 2;
  std::uint32_t value = encode<T>(normal(draw, first));
  if (i != first && role == Role::a && draw(first, 2) % 8 == 0) value ^= Patterns<T>::unit;
  if (i != first && role == Role::b) value ^= Patterns<T>::sign;
  return value;
}

template <DType T>
std::uint32_t element(Distribution distribution, const Draws& draw, std::int64_t i, Role role) {
  using P = Patterns<T>;
  switch (distribution) {
    case Distribution::normal:
      break;
    case Distribution::wide:
      return wide<T>(draw, i);
    case Distribution::bits:
      return static_cast<std::uint32_t>(draw(i, 0));
    case Distribution::subnormal:
      if (role != Role::a) break;
      return static_cast<std::uint32_t>(draw(i, 0)) & (P::sign | ((1U << P::low) - 1U));
    case Distribution::cancel:
      if (role != Role::a && role != Role::b) break;
      return cancel<T>(draw, i, role);
    case Distribution::positive:
      return encode<T>(normal(draw, i)) & ~P::sign;
    case Distribution::specials:
      if (draw(i, 2) % 32 != 0) break;
      return P::list[draw(i, 2) / 32 % P::list.size()];
    case Distribution::ones:
      return P::one;
  }
  return encode<T>(normal(draw, i));
}

template <DType T>
void fill(void* data, const Lines& place, Distribution distribution, std::uint64_t stream,
          Role role) {
  using Element = arithmetic::Storage<T>;
  auto* out = static_cast<Element*>(data);
  for (std::int64_t line = 0; line < place.lines; ++line) {
    const Draws draw{mix(stream + (static_cast<std::uint64_t>(line) + 1) * kIncrement)};
    for (std::int64_t i = 0; i < place.length; ++i) {
      out[line * place.line_stride + i * place.step] =
          static_cast<Element>(element<T>(distribution, draw, i, role));
    }
  }
}

constexpr std::array<std::string_view, 8> kNames{"normal", "wide",     "bits",     "subnormal",
                                                 "cancel", "positive", "specials", "ones"};

}  // namespace

Result<Distribution> parse_distribution(std::string_view text) {
  std::string known;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Distribution>(i);
    known += (i == 0 ? "" : ", ") + std::string(kNames[i]);
  }
  return Status{Errc::not_found, "dist is " + in_quotes(text) + ": it must be one of " + known};
}

void fill_random(void* data, DType type, const Lines& place, Distribution distribution,
                 std::uint64_t seed, Role role) {
  const std::uint64_t stream = mix(seed + static_cast<std::uint64_t>(role) * kIncrement);
  switch (type) {
    case DType::bf16:
      return fill<DType::bf16>(data, place, distribution, stream, role);
    case DType::fp16:
      return fill<DType::fp16>(data, place, distribution, stream, role);
    case DType::fp32:
      return fill<DType::fp32>(data, place, distribution, stream, role);
    case DType::tf32:
      return fill<DType::tf32>(data, place, distribution, stream, role);
    case DType::e4m3:
      return fill<DType::e4m3>(data, place, distribution, stream, role);
    case DType::e5m2:
      return fill<DType::e5m2>(data, place, distribution, stream, role);
  }
}

}  // namespace detgemm::cli

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Part of an instruction set's source, after lanes.hpp.

namespace detgemm::reference::DETGEMM_ISA {

/// Below every sum of two exponents: a zero takes no part in the search for the largest.
inline constexpr std::int32_t kZeroExponent = -4096;

/// Takes `count` raw elements apart for the tensor steps: `value` is the signed significand as a
/// float in (-2, 2), exact, with Inf and NaN kept as themselves, and `exponent` its power of two
/// (kZeroExponent for zero, Inf and NaN). Returns whether any element is Inf or NaN.
template <DType T>
DETGEMM_INLINE bool decode(const arithmetic::Storage<T>* raw, int count, float* value,
                           std::int32_t* exponent) {
  using F = arithmetic::Format<T>;
  constexpr std::int32_t bias = (1 << (F::exponent_bits - 1)) - 1;
  constexpr std::int32_t top = (1 << F::exponent_bits) - 1;
  constexpr std::int32_t fraction_mask = (1 << F::fraction_bits) - 1;
  constexpr int sign_shift = 31 - F::exponent_bits - F::fraction_bits;
  std::int32_t any_special = 0;
  for (int i = 0; i < count; ++i) {
    const auto bits = static_cast<std::int32_t>(raw[i] >> F::dropped_bits);
    const std::int32_t fraction = bits & fraction_mask;
    const std::int32_t field = (bits >> F::fraction_bits) & top;
    const auto sign = static_cast<std::uint32_t>(bits) << sign_shift & 0x80000000U;
    const std::int32_t normal = field != 0 ? 1 : 0;
    const std::int32_t significand = fraction | (normal << F::fraction_bits);
    const bool nan = T == DType::e4m3 ? (bits & 0x7f) == 0x7f : field == top && fraction != 0;
    const bool inf = T != DType::e4m3 && field == top && fraction == 0;
    const float magnitude =
        static_cast<float>(significand) * (1.0F / static_cast<float>(1 << F::fraction_bits));
    std::uint32_t image = arithmetic::bits_of(magnitude) | sign;
    image = inf ? arithmetic::kInfBits | sign : image;
    image = nan ? arithmetic::kNaNBits : image;
    value[i] = arithmetic::float_of(image);
    const std::int32_t power = (normal != 0 ? field : 1) - bias;
    exponent[i] = (significand == 0 || nan || inf) ? kZeroExponent : power;
    any_special |= (nan || inf) ? 1 : 0;
  }
  return any_special != 0;
}

}  // namespace detgemm::reference::DETGEMM_ISA

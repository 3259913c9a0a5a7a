// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/data.hpp"

#include <cmath>
#include <vector>

#include "core/conformance/format.hpp"

namespace detgemm::conformance {
namespace {

/// The sum of twelve uniform numbers less its mean: without libm the bits are the same everywhere.
double bell(Random& random) {
  std::int64_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t word = random.next();
    for (int part = 0; part < 4; ++part) {
      sum += static_cast<std::int64_t>((word >> (16 * part)) & 0xffffU);
    }
  }
  return (static_cast<double>(sum) - 6.0 * 65535.0) / 65536.0;
}

/// tf32 is stored in fp32; the bits that its reader must drop are filled with noise.
std::uint32_t noise_below(Random& random, DType input) {
  return input == DType::tf32 ? static_cast<std::uint32_t>(random.next() & 0x1fffU) : 0U;
}

std::uint32_t draw_wide(Random& random, DType input, int max_reach) {
  const Format f = format_of(input);
  const int reach = std::min(f.bias() - 1, max_reach);
  const std::int64_t field = f.bias() + random.between(-reach, reach);
  const std::uint64_t word = random.next();
  return static_cast<std::uint32_t>(field << f.fraction_bits) |
         static_cast<std::uint32_t>(word & ((1U << f.fraction_bits) - 1U)) |
         ((word >> 63) != 0 ? f.sign_bit() : 0U);
}

/// Any pattern; NaN and Inf are drawn again in 3 of 4 cases, since otherwise hardly any output
/// would be finite. A third of those that stay become Inf, which wide formats would otherwise never
/// draw.
std::uint32_t draw_bits(Random& random, DType input) {
  const Format f = format_of(input);
  for (;;) {
    const auto bits = static_cast<std::uint32_t>(random.next()) & (2U * f.sign_bit() - 1U);
    if ((bits & (f.sign_bit() - 1U)) < f.beyond_max()) return bits;
    if (random.one_in(4)) return random.one_in(3) ? f.beyond_max() | (bits & f.sign_bit()) : bits;
  }
}

std::uint32_t draw_tiny(Random& random, DType input) {
  const Format f = format_of(input);
  const auto word = random.next();
  const std::uint32_t sign = (word >> 63) != 0 ? f.sign_bit() : 0U;
  const std::uint32_t fields = (word & 1U) != 0 ? 0U : 1U + static_cast<std::uint32_t>(word >> 62);
  return sign | (fields << f.fraction_bits) |
         (static_cast<std::uint32_t>(word >> 8) & ((1U << f.fraction_bits) - 1U));
}

std::uint32_t draw_special(Random& random, DType input) {
  const Format f = format_of(input);
  const std::array<std::uint32_t, 6> list{0U,
                                          f.sign_bit(),
                                          f.max(),
                                          1U << f.fraction_bits,
                                          input == DType::tf32 ? 0x2000U : 1U,
                                          encode(1.0, input)};
  if (random.one_in(24)) return some_nan(input);
  if (random.one_in(12) && f.has_inf) return f.beyond_max() | (random.one_in(2) ? f.sign_bit() : 0);
  return random.pick(std::span<const std::uint32_t>(list)) ^ (random.one_in(2) ? f.sign_bit() : 0U);
}

/// Drawing from a table of 1024 elements serves as well as a fresh draw each, and is ten times
/// faster.
class NormalTable {
 public:
  NormalTable(Random& random, DType type, double scale = 1.0) : type_(type), values_(1024) {
    for (auto& value : values_) value = encode(bell(random) * scale, type);
  }
  std::uint32_t draw(Random& random) const {
    return values_[random.next() & 1023U] ^ noise_below(random, type_);
  }

 private:
  DType type_;
  std::vector<std::uint32_t> values_;
};

template <class Draw>
Elements filled(DType type, std::int64_t rows, std::int64_t cols, Draw&& draw) {
  Elements e(type, rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) e.set(i, j, draw());
  }
  return e;
}

/// Product k is the negative of product k' (its neighbour or its mirror image), except that one
/// in four differs in its last bit.
void make_cancelling(Random& random, Pair& pair, DType input) {
  const Format f = format_of(input);
  const std::int64_t k = pair.a.cols;
  const bool mirror = random.one_in(2);
  const std::uint32_t last = input == DType::tf32 ? 0x2000U : 1U;
  for (std::int64_t i = 0; i < k / 2; ++i) {
    const std::int64_t from = mirror ? i : 2 * i;
    const std::int64_t to = mirror ? k - 1 - i : 2 * i + 1;
    for (std::int64_t row = 0; row < pair.a.rows; ++row) {
      const std::uint32_t bits = pair.a.get(row, from) ^ f.sign_bit();
      pair.a.set(row, to, random.one_in(4) ? bits ^ last : bits);
    }
    for (std::int64_t col = 0; col < pair.b.cols; ++col) {
      pair.b.set(to, col, pair.b.get(from, col));
    }
  }
}

/// Product k is exactly the negative of its mirror image; a middle one without a partner is 0.
void leave_residue(Pair& pair, DType input) {
  const std::int64_t k = pair.a.cols;
  for (std::int64_t i = 0; i < (k + 1) / 2; ++i) {
    const std::int64_t mirror = k - 1 - i;
    for (std::int64_t row = 0; row < pair.a.rows; ++row) {
      const std::uint32_t bits = pair.a.get(row, i) ^ format_of(input).sign_bit();
      pair.a.set(row, mirror, mirror == i ? 0U : bits);
    }
    for (std::int64_t col = 0; col < pair.b.cols; ++col) {
      pair.b.set(mirror, col, pair.b.get(i, col));
    }
  }
}

}  // namespace

std::string_view name(Distribution distribution) {
  constexpr std::array<std::string_view, 7> names{"normal", "wide",    "bits",    "subnormal",
                                                  "cancel", "residue", "specials"};
  return names[static_cast<std::size_t>(distribution)];
}

Elements draw_normal(Random& random, DType type, std::int64_t rows, std::int64_t cols,
                     double scale) {
  const NormalTable table(random, type, scale);
  return filled(type, rows, cols, [&] { return table.draw(random); });
}

Pair draw_pair(Random& random, Distribution distribution, DType input, std::int64_t m,
               std::int64_t n, std::int64_t k) {
  const NormalTable table(random, input);
  const auto normal = [&] { return table.draw(random); };
  const auto both = [&](auto&& draw) {
    return Pair{filled(input, m, k, draw), filled(input, k, n, draw)};
  };
  Pair pair;
  switch (distribution) {
    case Distribution::normal:
      pair = both(normal);
      break;
    case Distribution::wide:
      pair = both([&] { return draw_wide(random, input, 20); });
      break;
    case Distribution::bits:
      pair = both([&] { return draw_bits(random, input); });
      break;
    case Distribution::subnormal:
      pair.a = filled(input, m, k, [&] { return draw_tiny(random, input); });
      pair.b = filled(input, k, n, normal);
      break;
    case Distribution::cancel:
      pair = both(normal);
      make_cancelling(random, pair, input);
      break;
    case Distribution::residue:
      // What is left of 2^16 fits fp16 outputs too.
      pair = both([&] { return draw_wide(random, input, 8); });
      leave_residue(pair, input);
      break;
    case Distribution::specials:
      pair = both([&] { return random.one_in(16) ? draw_special(random, input) : normal(); });
      break;
  }
  // Memory holds fp32 if the contract reads tf32.
  if (input == DType::tf32) pair.a.dtype = pair.b.dtype = DType::fp32;
  return pair;
}

}  // namespace detgemm::conformance

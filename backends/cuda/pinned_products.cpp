// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/pinned_products.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "core/contract/compute_element.hpp"

namespace detgemm::cuda {
namespace {

constexpr std::int64_t kSide = 64;

/// What the numbers of a product are like.
enum class PinnedData {
  normal,  ///< near 1
  wide,    ///< exponents far apart: terms are truncated
  cancel,  ///< neighbours along k nearly cancel: low bits are what is left
  bits,    ///< any bits, now and then NaN and Inf
  tiny,    ///< bf16 products below the least exponent; of fp16, subnormal numbers
};

struct PinnedRow {
  const char* name;
  PinnedData kind;
  std::int64_t k;
  Reduction reduction;
};
constexpr PinnedRow kRows[] = {
    {"normal", PinnedData::normal, 16, {}},
    {"wide", PinnedData::wide, 16, {}},
    {"cancel", PinnedData::cancel, 16, {}},
    {"bits", PinnedData::bits, 16, {}},
    {"tiny", PinnedData::tiny, 16, {}},
    {"wide chain", PinnedData::wide, 48, {}},
    {"cancel chain", PinnedData::cancel, 41, {}},
    {"cancel fold", PinnedData::cancel, 80, {ReductionKind::fold, 16}},
    {"cancel tree", PinnedData::cancel, 80, {ReductionKind::tree, 16}},
};

/// splitmix64.
std::uint32_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

/// Of tf32, the number above the 13 bits that are dropped, which are random.
std::uint32_t pinned_number(std::uint64_t& state, DType input, PinnedData kind) {
  const std::uint32_t h = next_random(state);
  const bool fp16 = input == DType::fp16;
  const int bits = input == DType::bf16 ? 7 : 10;
  const int sign_bit = bits + (fp16 ? 5 : 8);
  const std::uint32_t middle = fp16 ? 15 : 127;
  const std::uint32_t fraction = h & ((1U << bits) - 1);
  const std::uint32_t spread = h >> 12 & 15;
  std::uint32_t sign = h >> 31 << sign_bit;
  std::uint32_t field = middle - 1 + spread % 3;
  if (kind == PinnedData::wide) field = middle - 8 + spread;
  if (kind == PinnedData::bits && h % 37 == 0) {
    return next_random(state) & ((2U << sign_bit) - 1);
  }
  if (kind == PinnedData::tiny) {
    sign = 0;
    field = fp16 ? spread % 2 : 127 - 76 + spread % 5;
  }
  return sign | field << bits | fraction;
}

/// Lines of k numbers one after the other, in units of 2 bytes.
std::vector<std::uint16_t> lines(std::uint64_t& state, DType input, const PinnedRow& row,
                                 bool is_a) {
  const bool tf32 = input == DType::tf32;
  std::vector<std::uint16_t> all;
  std::uint32_t neighbour = 0;
  for (std::int64_t i = 0; i < kSide * row.k; ++i) {
    std::uint32_t number = pinned_number(state, input, row.kind);
    // A: minus its neighbour; B: its neighbour, of which the low bits differ.
    if (row.kind == PinnedData::cancel && i % row.k % 2 != 0) {
      const std::uint32_t minus = tf32 ? 0x40000U : 0x8000U;
      number = is_a ? neighbour ^ minus : neighbour ^ next_random(state) % 8;
    }
    neighbour = number;
    if (tf32) number = number << 13 | (next_random(state) & 0x1fffU);
    all.push_back(static_cast<std::uint16_t>(number));
    if (tf32) all.push_back(static_cast<std::uint16_t>(number >> 16));
  }
  return all;
}

std::vector<float> starts(std::uint64_t& state, const PinnedRow& row) {
  std::vector<float> all(static_cast<std::size_t>(kSide * kSide));
  for (float& c : all) {
    const std::uint32_t h = next_random(state);
    const std::uint32_t exponent =
        row.kind == PinnedData::wide ? 127 - 12 + (h >> 24) % 24 : 127 - 3 + (h >> 24) % 6;
    if (row.kind == PinnedData::tiny || h % 5 == 0) continue;  // +0
    c = arithmetic::float_of((h & 0x80000000U) | exponent << 23 | (next_random(state) & 0x7fffffU));
  }
  return all;
}

std::string in_hex(float value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", arithmetic::bits_of(value));
  return text;
}

}  // namespace

std::vector<PinnedProduct> pinned_products(DType input) {
  std::vector<PinnedProduct> all;
  std::uint64_t state = input == DType::bf16 ? 16 : input == DType::fp16 ? 10 : 32;
  for (const PinnedRow& row : kRows) {
    PinnedProduct p;
    p.name = row.name;
    p.a = lines(state, input, row, true);
    p.b = lines(state, input, row, false);
    p.c = starts(state, row);
    p.d.assign(p.c.size(), 0.0F);
    GemmArguments& g = p.g;
    g.m = g.n = kSide;
    g.k = row.k;
    g.as = {row.k, 1};
    g.bs = {1, row.k};
    g.cs = g.ds = {kSide, 1};
    g.reduction = row.reduction;
    g.continue_from_c = row.reduction.kind != ReductionKind::tree;
    all.push_back(std::move(p));
    PinnedProduct& last = all.back();
    last.g.a = last.a.data();
    last.g.b = last.b.data();
    last.g.c = last.c.data();
    last.g.d = last.d.data();
  }
  return all;
}

Result<Compared> compare_pinned(Arithmetic arithmetic, DType input, const Multiply& multiply) {
  Compared compared;
  for (PinnedProduct& p : pinned_products(input)) {
    if (const Status s = multiply(p.g); !s) return s;
    std::vector<float> expected(p.d.size());
    GemmArguments g = p.g;
    g.d = expected.data();
    const bool known = arithmetic::for_step(arithmetic, input, [&]<Arithmetic A, DType T>() {
      if constexpr (T == DType::bf16 || T == DType::fp16 || T == DType::tf32) {
        for (std::int64_t i = 0; i < kSide * kSide; ++i) {
          compute_element<A, T>(g, i / kSide, i % kSide);
        }
      }
    });
    if (!known) return Status{Errc::internal, "the arithmetic has no step for this input"};
    for (std::size_t i = 0; i < expected.size(); ++i, ++compared.outputs) {
      if (arithmetic::bits_of(p.d[i]) == arithmetic::bits_of(expected[i])) continue;
      if (compared.different++ > 0) continue;
      compared.first = "output " + std::to_string(i) + " of the product \"" + p.name + "\" is " +
                       in_hex(p.d[i]) + " where the contract has " + in_hex(expected[i]);
    }
  }
  return compared;
}

}  // namespace detgemm::cuda

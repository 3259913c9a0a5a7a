// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Which arithmetic does this chip's matrix core compute? Groups of single steps, one MFMA at a
// time, are chosen so that each stage of the published model shows, and are compared with that
// model and with others. The output is meant to be sent back: the first difference is printed bit
// by bit.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/arithmetic/step.hpp"
#include "core/conformance/random.hpp"
#include "core/conformance/request.hpp"
#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"
#include "tests/hip/identify_fp32.hpp"

namespace detgemm::test {
namespace {

using arithmetic::bits_of;
using arithmetic::float_of;
using conformance::Elements;
using conformance::Random;

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kDepth = 8;
using Row = std::uint16_t[kDepth];

/// One group: how the operands and the accumulator of 32 x 32 steps are drawn.
struct Group {
  const char* name;
  const char* shows;
  int spread;           ///< product exponents differ by up to this
  int acc_low, acc_up;  ///< the accumulator's exponent relative to the products'
  int base;             ///< exponent of the products
  int zeros;            ///< one element in this many is zero; 0: none
};
constexpr Group kGroups[] = {
    {"ordinary", "the sum of nearby terms and its rounding", 3, -3, 3, 0, 0},
    {"far products", "products cut at 24 bits below the largest", 30, -40, -20, 0, 0},
    {"large accumulator", "the dot product floored against the accumulator", 6, 4, 36, 0, 0},
    {"small accumulator", "the accumulator floored against the products", 6, -34, -4, 0, 0},
    {"few products", "zero products take no part", 6, -8, 8, 0, 3},
    {"subnormal results", "results and accumulators below 2^-126", 4, -6, 6, -132, 0},
    {"large results", "sums near and beyond 2^128", 2, -2, 2, 125, 0},
};

/// (-1)^s * 2^e * (1 + random fraction) in bf16; subnormal or Inf where e says so.
std::uint16_t bf16(Random& random, int exponent) {
  const auto fraction = static_cast<std::uint32_t>(random.below(128));
  const std::uint32_t sign = random.one_in(2) ? 0x8000U : 0U;
  if (exponent > 127) exponent = 127;
  if (exponent < -126) exponent = -126;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(exponent + 127) << 7 |
                                    fraction);
}

float accumulator(Random& random, int exponent) {
  const auto fraction = static_cast<std::uint32_t>(random.below(1 << 23));
  const std::uint32_t sign = random.one_in(2) ? 0x80000000U : 0U;
  if (exponent < -149) return float_of(sign);
  if (exponent < -126)
    return float_of(sign | (1U << (exponent + 149)) | fraction >> (-126 - exponent));
  if (exponent > 127) exponent = 127;
  return float_of(sign | static_cast<std::uint32_t>(exponent + 127) << 23 | fraction);
}

/// The result of 8 products under an arithmetic.
template <Arithmetic A>
float computed(const std::uint16_t* a, const std::uint16_t* b, float acc) {
  using Step = arithmetic::Step<A, DType::bf16>;
  for (std::int64_t k = 0; k < kDepth; k += Step::products) acc = Step::apply(a + k, b + k, acc);
  return arithmetic::canonical(arithmetic::add_rn(acc, 0.0F));
}
float of_hopper(const std::uint16_t* a, const std::uint16_t* b, float acc) {
  std::uint16_t x[16] = {};
  std::uint16_t y[16] = {};
  std::copy(a, a + kDepth, x);
  std::copy(b, b + kDepth, y);
  return arithmetic::Step<Arithmetic::hopper, DType::bf16>::apply(x, y, acc);
}

struct Candidate {
  const char* name;
  float (*compute)(const std::uint16_t*, const std::uint16_t*, float);
};
constexpr Candidate kCandidates[] = {{"cdna3", computed<Arithmetic::cdna3>},
                                     {"cdna2", computed<Arithmetic::cdna2>},
                                     {"ieee_fma", computed<Arithmetic::ieee_fma>},
                                     {"ampere", computed<Arithmetic::ampere>},
                                     {"hopper", of_hopper}};

/// The steps of one group, as a GEMM that continues from C.
conformance::Request draw(const Group& group, Random& random, Arithmetic arithmetic) {
  conformance::Request request;
  request.spec.contract = *Contract::make(arithmetic, DType::bf16, {}, DType::fp32);
  request.spec.continue_from_c = true;
  request.spec.op_b = Op::transpose;
  request.a = Elements(DType::bf16, kSide, kDepth);
  request.b = Elements(DType::bf16, kDepth, kSide);
  request.c = Elements(DType::fp32, kSide, kSide);
  const int half = group.base / 2;
  const auto element = [&](int base) {
    if (group.zeros != 0 && random.one_in(group.zeros)) return std::uint16_t{0};
    const int spread = group.spread / 2;
    return bf16(random, base + static_cast<int>(random.between(-spread, spread)));
  };
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t k = 0; k < kDepth; ++k) {
      request.a.set(i, k, element(half));
      request.b.set(k, i, element(group.base - half));
    }
    for (std::int64_t j = 0; j < kSide; ++j) {
      const int exponent =
          group.base + static_cast<int>(random.between(group.acc_low, group.acc_up));
      request.c.set(i, j, bits_of(accumulator(random, exponent)));
    }
  }
  return request;
}

/// How many results of each candidate are equal, and the first step that is not the model's.
struct Verdict {
  int equal[std::size(kCandidates)] = {};
  std::string first;
};

Verdict judge(const conformance::Request& request, const Elements& got, std::size_t model) {
  Verdict verdict;
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) {
      Row a;
      Row b;
      for (std::int64_t k = 0; k < kDepth; ++k) {
        a[k] = static_cast<std::uint16_t>(request.a.get(i, k));
        b[k] = static_cast<std::uint16_t>(request.b.get(k, j));
      }
      const std::uint32_t c = request.c.get(i, j);
      const std::uint32_t d = got.get(i, j);
      for (std::size_t m = 0; m < std::size(kCandidates); ++m) {
        const std::uint32_t expected = bits_of(kCandidates[m].compute(a, b, float_of(c)));
        verdict.equal[m] += expected == d ? 1 : 0;
        if (m != model || expected == d || !verdict.first.empty()) continue;
        char text[256];
        std::snprintf(text, sizeof(text),
                      "a %04x %04x %04x %04x %04x %04x %04x %04x  b %04x %04x %04x %04x %04x %04x "
                      "%04x %04x  c %08x: chip %08x, model %08x",
                      a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], b[0], b[1], b[2], b[3], b[4],
                      b[5], b[6], b[7], c, d, expected);
        verdict.first = text;
      }
    }
  }
  return verdict;
}

/// The vector of docs/numerics.md that tells the units apart.
conformance::Request known_vector(Arithmetic arithmetic) {
  conformance::Request request;
  request.spec.contract = *Contract::make(arithmetic, DType::bf16, {}, DType::fp32);
  request.spec.continue_from_c = true;
  request.a = Elements(DType::bf16, kSide, kDepth);
  request.b = Elements(DType::bf16, kDepth, kSide);
  request.c = Elements(DType::fp32, kSide, kSide);
  constexpr float a[] = {-0x1p13F, -0.5F, -0.25F, -0.125F};
  constexpr float b[] = {0x1p10F, 1.0F, 1.0F, 1.0F};
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t k = 0; k < 4; ++k) {
      request.a.set(i, k, arithmetic::to_bf16(a[k]));
      request.b.set(k, i, arithmetic::to_bf16(b[k]));
    }
    for (std::int64_t j = 0; j < kSide; ++j) request.c.set(i, j, bits_of(0x1p23F));
  }
  return request;
}

class Identification {
 public:
  explicit Identification(Arithmetic arithmetic)
      : arithmetic_(arithmetic), model_(arithmetic == Arithmetic::cdna3 ? 0 : 1) {}

  int run() {
    one("known vector", "the five arithmetics give five or four results",
        known_vector(arithmetic_));
    Random random(1);
    for (const Group& group : kGroups) {
      one(group.name, group.shows, draw(group, random, arithmetic_));
    }
    std::printf("%s\n", same_ ? ("This device computes the " + std::string(name(arithmetic_)) +
                                 " model in every group.")
                                    .c_str()
                              : "THIS DEVICE DIFFERS FROM THE MODEL where a line above says so.");
    return same_ ? 0 : 1;
  }

 private:
  /// By both shapes of the instruction, which must agree as well.
  void one(const char* group, const char* shows, const conformance::Request& request) {
    for (const char* variant : {"64x64", "stream"}) {
      conformance::Request forced = request;
      forced.options.variant = variant;
      const auto got = conformance::run_once(hip_backend(), std::move(forced));
      if (!got) {
        std::printf("%s: %s\n", group, got.status().message().c_str());
        same_ = false;
        return;
      }
      const Verdict verdict = judge(request, got->d, model_);
      const bool equal = verdict.first.empty();
      std::printf("%-18s %-8s %s:", group, *variant == '6' ? "32x32x8" : "16x16x16", shows);
      for (std::size_t m = 0; m < std::size(kCandidates); ++m) {
        std::printf(" %s %d", kCandidates[m].name, verdict.equal[m]);
      }
      std::printf(" of %d%s\n", static_cast<int>(kSide * kSide), equal ? "" : "  DIFFERS");
      if (!equal) std::printf("  first: %s\n", verdict.first.c_str());
      same_ = same_ && equal;
    }
  }

  Arithmetic arithmetic_;
  std::size_t model_;
  bool same_ = true;
};

int run() {
  if (const Status s = hip_backend().available(); !s) {
    std::printf("skipped: %s\n", s.message().c_str());
    return 77;
  }
  std::printf("device %s\n", hip_backend().device().description().c_str());
  for (const Arithmetic arithmetic : {Arithmetic::cdna3, Arithmetic::cdna2}) {
    GemmSpec spec;
    spec.n = spec.k = 8;
    spec.contract = *Contract::make(arithmetic, DType::bf16, {}, DType::fp32);
    if (!hip_backend().supports(spec)) continue;
    const int fp32 = identify_fp32();
    const int steps = Identification(arithmetic).run();
    return steps != 0 ? steps : fp32;
  }
  std::printf("skipped: this device has no matrix cores that the library uses\n");
  return 77;
}

}  // namespace
}  // namespace detgemm::test

int main() {
  const auto runtime = detgemm::Runtime::start();
  return runtime ? detgemm::test::run() : 1;
}

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Is the fp32 matrix instruction a chain of fma? Others have found so on MI100 to MI300, and a chip
// settles it here: each group of steps shows one thing that could be otherwise. The kernel is
// forced by name; nothing chooses it unless the build was told to (DETGEMM_HIP_FP32_MFMA).

#include "tests/hip/identify_fp32.hpp"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/arithmetic/step.hpp"
#include "core/conformance/random.hpp"
#include "core/conformance/request.hpp"
#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"

namespace detgemm::test {
namespace {

using arithmetic::bits_of;
using arithmetic::float_of;
using conformance::Elements;
using conformance::Random;

constexpr const char* kVariant = "mfma-fp32";
constexpr std::int64_t kSide = 64;

/// One group: exponents of the factors and of C, the number of products, and what it shows.
struct Group {
  const char* name;
  const char* shows;
  int k;
  int factor_low, factor_up;
  int acc_low, acc_up;
  bool any_bits;
};
constexpr Group kGroups[] = {
    {"one instruction", "k 0 before k 1, and a rounding between them", 2, -2, 2, -2, 2, false},
    {"chain", "the order of instructions", 16, -3, 3, -3, 3, false},
    {"tail", "padding of k with (-0) * (+0)", 13, -2, 2, -2, 2, false},
    {"cancellation", "products that are fused and not rounded", 4, 0, 0, 0, 1, false},
    {"subnormal factors", "factors below 2^-126 are kept", 8, -149, -120, -149, -120, false},
    {"subnormal results", "sums below 2^-126 are kept", 8, -76, -62, -149, -124, false},
    {"negative zero", "products that underflow leave -0", 2, -149, -90, -200, -200, false},
    {"large results", "sums near and beyond 2^128", 8, 60, 64, 120, 127, false},
    {"any bits", "Inf and NaN", 8, 0, 0, 0, 0, true},
};

float number(Random& random, int low, int up) {
  const auto exponent = static_cast<int>(random.between(low, up));
  const auto fraction = static_cast<std::uint32_t>(random.below(1 << 23));
  const std::uint32_t sign = random.one_in(2) ? 0x80000000U : 0U;
  if (exponent < -149) return float_of(sign);
  if (exponent < -126)
    return float_of(sign | 1U << (exponent + 149) | fraction >> (-126 - exponent));
  return float_of(sign | static_cast<std::uint32_t>(exponent + 127) << 23 | fraction);
}

float flushed(float value) {
  return std::fabs(value) < 0x1p-126F ? std::copysign(0.0F, value) : value;
}

// Arithmetics that an instruction of two products could have instead.
float chain(const float* a, const float* b, int k, float c) {
  for (int i = 0; i < k; ++i) c = std::fma(a[i], b[i], c);
  return c;
}
float descending(const float* a, const float* b, int k, float c) {
  for (int i = 0; i < k; i += 2) {
    if (i + 1 < k) c = std::fma(a[i + 1], b[i + 1], c);
    c = std::fma(a[i], b[i], c);
  }
  return c;
}
float pairwise(const float* a, const float* b, int k, float c) {
  for (int i = 0; i < k; i += 2) {
    const float second = i + 1 < k ? a[i + 1] * b[i + 1] : -0.0F;
    c = std::fma(a[i], b[i], second) + c;
  }
  return c;
}
float unfused(const float* a, const float* b, int k, float c) {
  for (int i = 0; i < k; ++i) c = a[i] * b[i] + c;
  return c;
}
float flushing(const float* a, const float* b, int k, float c) {
  for (int i = 0; i < k; ++i) c = flushed(std::fma(flushed(a[i]), flushed(b[i]), flushed(c)));
  return c;
}

struct Candidate {
  const char* name;
  float (*compute)(const float*, const float*, int, float);
};
constexpr Candidate kCandidates[] = {{"fma chain", chain},
                                     {"descending", descending},
                                     {"pairwise", pairwise},
                                     {"unfused", unfused},
                                     {"flushing", flushing}};

conformance::Request draw(const Group& group, Random& random) {
  conformance::Request request;
  request.spec.contract = *Contract::make(Arithmetic::ieee_fma, DType::fp32, {}, DType::fp32);
  request.spec.continue_from_c = true;
  request.options.variant = kVariant;
  request.a = Elements(DType::fp32, kSide, group.k);
  request.b = Elements(DType::fp32, group.k, kSide);
  request.c = Elements(DType::fp32, kSide, kSide);
  const auto fill = [&](Elements& to, int low, int up) {
    for (std::int64_t i = 0; i < to.rows; ++i) {
      for (std::int64_t j = 0; j < to.cols; ++j) {
        to.set(i, j,
               group.any_bits ? static_cast<std::uint32_t>(random.below(std::uint64_t{1} << 32))
                              : bits_of(number(random, low, up)));
      }
    }
  };
  fill(request.a, group.factor_low, group.factor_up);
  fill(request.b, group.factor_low, group.factor_up);
  fill(request.c, group.acc_low, group.acc_up);
  return request;
}

/// Prints one group and says whether every output is the chain's.
bool one(const Group& group, Random& random) {
  const conformance::Request request = draw(group, random);
  const auto got = conformance::run_once(hip_backend(), request);
  if (!got) {
    std::printf("fp32 %s: %s\n", group.name, got.status().message().c_str());
    return false;
  }
  int equal[std::size(kCandidates)] = {};
  std::string first;
  std::vector<float> a(static_cast<std::size_t>(group.k));
  std::vector<float> b = a;
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) {
      for (int k = 0; k < group.k; ++k) {
        a[static_cast<std::size_t>(k)] = float_of(request.a.get(i, k));
        b[static_cast<std::size_t>(k)] = float_of(request.b.get(k, j));
      }
      const float c = float_of(request.c.get(i, j));
      const std::uint32_t d = got->d.get(i, j);
      for (std::size_t m = 0; m < std::size(kCandidates); ++m) {
        const std::uint32_t expected =
            bits_of(arithmetic::canonical(kCandidates[m].compute(a.data(), b.data(), group.k, c)));
        equal[m] += expected == d ? 1 : 0;
        if (m != 0 || expected == d || !first.empty()) continue;
        char text[160];
        std::snprintf(
            text, sizeof(text), "a %08x %08x ... b %08x %08x ... c %08x: chip %08x, fma chain %08x",
            bits_of(a[0]), bits_of(a[1]), bits_of(b[0]), bits_of(b[1]), bits_of(c), d, expected);
        first = text;
      }
    }
  }
  std::printf("%-18s fp32 32x32x2: %s:", group.name, group.shows);
  for (std::size_t m = 0; m < std::size(kCandidates); ++m) {
    std::printf(" %s %d", kCandidates[m].name, equal[m]);
  }
  std::printf(" of %d%s\n", static_cast<int>(kSide * kSide), first.empty() ? "" : "  DIFFERS");
  if (!first.empty()) std::printf("  first: %s\n", first.c_str());
  return first.empty();
}

}  // namespace

int identify_fp32() {
  GemmSpec spec;
  spec.n = spec.k = 8;
  spec.contract = *Contract::make(Arithmetic::ieee_fma, DType::fp32, {}, DType::fp32);
  bool listed = false;
  for (const std::string& variant : hip_backend().variants(spec)) listed |= variant == kVariant;
  if (!listed) return 77;
  Random random(2);
  bool same = true;
  for (const Group& group : kGroups) same = one(group, random) && same;
  std::printf(
      "%s\n",
      same ? "Its fp32 matrix instruction is a chain of fma: DETGEMM_HIP_FP32_MFMA may be ON here."
           : "ITS FP32 MATRIX INSTRUCTION DIFFERS: leave DETGEMM_HIP_FP32_MFMA OFF.");
  return same ? 0 : 1;
}

}  // namespace detgemm::test

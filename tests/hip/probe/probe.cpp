// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/probe/probe.hpp"

#include <memory>
#include <optional>

#include "core/arithmetic/formats.hpp"
#include "tests/hip/fp8.hpp"

#ifdef DETGEMM_PROBE_GFX942
DETGEMM_EMBEDDED(detgemm_probe_gfx942, DETGEMM_PROBE_GFX942);
#endif
#ifdef DETGEMM_PROBE_GFX950
DETGEMM_EMBEDDED(detgemm_probe_gfx950, DETGEMM_PROBE_GFX950);
#endif
#ifdef DETGEMM_PROBE_GFX1100
DETGEMM_EMBEDDED(detgemm_probe_gfx1100, DETGEMM_PROBE_GFX1100);
#endif
#ifdef DETGEMM_PROBE_GFX1101
DETGEMM_EMBEDDED(detgemm_probe_gfx1101, DETGEMM_PROBE_GFX1101);
#endif
#ifdef DETGEMM_PROBE_GFX1102
DETGEMM_EMBEDDED(detgemm_probe_gfx1102, DETGEMM_PROBE_GFX1102);
#endif
#ifdef DETGEMM_PROBE_GFX1200
DETGEMM_EMBEDDED(detgemm_probe_gfx1200, DETGEMM_PROBE_GFX1200);
#endif
#ifdef DETGEMM_PROBE_GFX1201
DETGEMM_EMBEDDED(detgemm_probe_gfx1201, DETGEMM_PROBE_GFX1201);
#endif

namespace detgemm::test {
namespace {

struct Object {
  const char* chip;
  const unsigned char* bytes;
};
constexpr Object kObjects[] = {
#ifdef DETGEMM_PROBE_GFX942
    {"gfx942", detgemm_probe_gfx942},
#endif
#ifdef DETGEMM_PROBE_GFX950
    {"gfx950", detgemm_probe_gfx950},
#endif
#ifdef DETGEMM_PROBE_GFX1100
    {"gfx1100", detgemm_probe_gfx1100},
#endif
#ifdef DETGEMM_PROBE_GFX1101
    {"gfx1101", detgemm_probe_gfx1101},
#endif
#ifdef DETGEMM_PROBE_GFX1102
    {"gfx1102", detgemm_probe_gfx1102},
#endif
#ifdef DETGEMM_PROBE_GFX1200
    {"gfx1200", detgemm_probe_gfx1200},
#endif
#ifdef DETGEMM_PROBE_GFX1201
    {"gfx1201", detgemm_probe_gfx1201},
#endif
    {"", nullptr},
};

constexpr ProbeShape kGfx950[] = {
    {"32x32x8", 8, 1, 64, DType::bf16},       {"16x16x16", 16, 4, 64, DType::bf16},
    {"32x32x16", 16, 1, 64, DType::bf16},     {"16x16x32", 32, 4, 64, DType::bf16},
    {"32x32x16_fp8", 16, 1, 64, DType::e4m3}, {"16x16x32_fp8", 32, 4, 64, DType::e4m3}};
constexpr std::span<const ProbeShape> kGfx942 = std::span(kGfx950).last(2);
constexpr ProbeShape kGfx12[] = {{"wmma_16x16x16", 16, 4, 32, DType::bf16},
                                 {"wmma_16x16x16_fp8", 16, 4, 32, DType::e4m3}};
constexpr std::span<const ProbeShape> kGfx11 = std::span(kGfx12).first(1);

/// The operands as the instruction reads them; nothing where a number has no code.
std::optional<std::vector<std::uint8_t>> codes(const std::vector<std::uint16_t>& numbers,
                                               Fp8 format) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint16_t x : numbers) {
    const auto code = code_of(format, x);
    if (!code) return std::nullopt;
    bytes.push_back(*code);
  }
  return bytes;
}

}  // namespace

std::span<const ProbeShape> probe_shapes(const std::string& chip) {
  if (chip == "gfx942") return kGfx942;
  if (chip == "gfx950") return kGfx950;
  if (chip.rfind("gfx11", 0) == 0) return kGfx11;
  if (chip.rfind("gfx12", 0) == 0) return kGfx12;
  return {};
}

Result<Probes> Probes::load() {
  const std::string chip = current_chip();
  Probes probes;
  probes.shapes_ = probe_shapes(chip);
  probes.fnuz_ = chip == "gfx942";
  if (probes.shapes_.empty()) {
    return Status{Errc::unsupported,
                  "this device has no matrix cores that the library or its probes use"};
  }
  for (const Object& object : kObjects) {
    if (object.chip != chip) continue;
    const auto module = Module::load(object.bytes);
    if (!module) return module.status();
    probes.module_ = *module;
    return probes;
  }
  return Status{Errc::unsupported,
                "the probes for " + chip + " were left out: no compiler of this build compiles it"};
}

Result<std::vector<std::uint32_t>> Probes::run(const ProbeShape& shape, const Steps& steps) const {
  std::vector<std::uint32_t> results(kSide * kSide);
  const auto array_of = [&](const std::vector<std::uint16_t>& numbers) {
    if (shape.input != DType::e4m3) return std::make_unique<Array>(numbers);
    const auto bytes = codes(numbers, fnuz_ ? Fp8::fnuz : Fp8::ocp);
    return bytes ? std::make_unique<Array>(*bytes) : nullptr;
  };
  const auto a = array_of(steps.a), b = array_of(steps.b);
  if (a == nullptr || b == nullptr)
    return Status{Errc::internal, steps.name + " has a number that fp8 has not"};
  const Array c(steps.c), d(results);
  if (!a->filled() || !b->filled() || !c.filled() || !d.filled())
    return Status{Errc::internal, "the device has no memory for 32 x 32 steps"};
  struct {
    void *a, *b, *c, *d;
  } arguments{a->data(), b->data(), c.data(), d.data()};
  Status done =
      module_.run(std::string("probe_") + shape.name, shape.waves, shape.threads, &arguments);
  if (done) done = d.read(results);
  if (!done) return done;
  for (std::uint32_t& bits : results) {
    const float value = arithmetic::float_of(bits);
    bits = arithmetic::bits_of(arithmetic::canonical(value == 0 ? 0.0F : value));
  }
  return results;
}

}  // namespace detgemm::test

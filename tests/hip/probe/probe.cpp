// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/probe/probe.hpp"

#include <string>

#ifdef DETGEMM_PROBE_OBJECT
DETGEMM_EMBEDDED(detgemm_probe_object, DETGEMM_PROBE_OBJECT);
#endif

namespace detgemm::test {
namespace {
constexpr const char* kChip = "gfx950";
}

Result<Probes> Probes::load() {
  if (current_chip() != kChip) {
    return Status{Errc::unsupported,
                  "this device has no matrix cores that the library or its probes use"};
  }
#ifdef DETGEMM_PROBE_OBJECT
  const auto module = Module::load(detgemm_probe_object);
  if (!module) return module.status();
  Probes probes;
  probes.module_ = *module;
  return probes;
#else
  return Status{Errc::unsupported,
                std::string("the probes for ") + kChip + " were left out: no compiler knows it"};
#endif
}

Result<std::vector<std::uint32_t>> Probes::run(const ProbeShape& shape, const Steps& steps) const {
  std::vector<std::uint32_t> results(kSide * kSide);
  const Array a(steps.a), b(steps.b), c(steps.c), d(results);
  if (!a.filled() || !b.filled() || !c.filled() || !d.filled())
    return Status{Errc::internal, "the device has no memory for 32 x 32 steps"};
  struct {
    void *a, *b, *c, *d;
  } arguments{a.data(), b.data(), c.data(), d.data()};
  Status done = module_.run(std::string("probe_") + shape.name, shape.waves, 64, &arguments);
  if (done) done = d.read(results);
  if (!done) return done;
  return results;
}

}  // namespace detgemm::test

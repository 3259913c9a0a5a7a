// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "tests/hip/probe/module.hpp"
#include "tests/hip/step_groups.hpp"

/// Kernels of one matrix instruction each (probe.hip), for a chip on which the library uses none.
/// They are part of identify alone, so nothing can choose them.
namespace detgemm::test {

struct ProbeShape {
  const char* name;  ///< "probe_" and this is the kernel
  int count;         ///< products of the instruction
  unsigned waves;    ///< for 32 x 32 outputs
};
inline constexpr ProbeShape kProbeShapes[] = {
    {"32x32x8", 8, 1}, {"16x16x16", 16, 4}, {"32x32x16", 16, 1}, {"16x16x32", 32, 4}};

class Probes {
 public:
  /// For the current device; a sentence where it is none that the probes are compiled for.
  static Result<Probes> load();
  /// The bits of all 32 x 32 results.
  Result<std::vector<std::uint32_t>> run(const ProbeShape& shape, const Steps& steps) const;

 private:
  Module module_;
};

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/hip/probe/module.hpp"
#include "tests/hip/step_groups.hpp"

/// Kernels of one matrix instruction each (probe.hip), for instructions that the library does not
/// use. They are part of identify alone, so nothing can choose them.
namespace detgemm::test {

struct ProbeShape {
  const char* name;  ///< "probe_" and this is the kernel
  int count;         ///< products of the instruction
  unsigned waves;    ///< for 32 x 32 outputs
  unsigned threads;  ///< of a wave
  DType input;
};

/// What is probed on a chip; empty where nothing is. wave32.py executes those of wave32, on whole
/// numbers alone.
std::span<const ProbeShape> probe_shapes(const std::string& chip);

class Probes {
 public:
  /// For the current device; a sentence where it is none that the probes are compiled for.
  static Result<Probes> load();
  std::span<const ProbeShape> shapes() const { return shapes_; }
  /// The bits of all 32 x 32 results, with zeros and NaNs as contracts have them.
  Result<std::vector<std::uint32_t>> run(const ProbeShape& shape, const Steps& steps) const;

 private:
  Module module_;
  std::span<const ProbeShape> shapes_;
  bool fnuz_ = false;
};

}  // namespace detgemm::test

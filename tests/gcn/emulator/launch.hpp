// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "tests/gcn/emulator/instruction.hpp"

namespace detgemm::gcn {

struct Launch {
  std::array<u32, 3> grid{1, 1, 1};    ///< workgroups
  std::array<u32, 3> block{64, 1, 1};  ///< threads of a workgroup
  u32 dynamic_lds = 0;                 ///< bytes in addition to the kernel's own
  std::vector<u8> arguments;           ///< the kernarg segment
  /// Matrix instructions with 16-bit operands return -0 for every zero, and NaNs of other bits: the
  /// contract leaves both to the chip, and kernels have to restore its own.
  bool adverse = false;
  /// What matrix instructions with bf16 operands compute in place of the contract's arithmetic, and
  /// those of gfx950 and of fp8 at all: no contract describes them.
  MatrixStep step, fp8_step;
};

struct Totals {
  u64 workgroups = 0, waves = 0, instructions = 0, mfmas = 0;
  void add(const Totals& t);
};

/// Runs a kernel over its grid: each of `threads` host threads runs workgroups in ascending order
/// (x first). Inside a workgroup waves run in ascending order from barrier to barrier, so that
/// every run is the same. Throws std::runtime_error with kernel, line, instruction, workgroup, wave
/// and lane at the first fault.
Totals run(const Kernel& kernel, const Launch& launch, const MemoryMap& memory, int threads = 1);

/// The kernarg segment from one pointer per explicit argument, as hipModuleLaunchKernel has them,
/// and from what a compiler hides behind them: the sizes of the launch.
std::vector<u8> pack_arguments(const KernelText& text, const void* const* values,
                               const Launch& launch);

}  // namespace detgemm::gcn

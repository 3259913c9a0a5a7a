// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "cuda/mma/params.hpp"
#include "tests/cuda/mma/faults.hpp"

namespace detgemm::test {

/// The order in which the threads of a CTA run on the host.
enum class ThreadOrder { ascending, descending, mixed };

/// A GPU that the host plays: what its mma.sync computes, what is wrong with it, and in which order
/// the threads of a CTA run.
struct HostGpu {
  Arithmetic arithmetic = Arithmetic::hopper;
  MmaFault fault = MmaFault::none;
  ThreadOrder order = ThreadOrder::ascending;
  int ctas = 0;  ///< that share the tiles, at most; 0: as many as are chosen
};

/// A launch of the kernel of a tile, executed on the host by an emulation. Empty where it ran as it
/// should, whatever it computed; else what the machine noticed: a race, an address, a deadlock.
std::string run_mma_on_host(const cuda::mma::Params& params, DType input, int tile, bool leaves,
                            unsigned grid, const HostGpu& gpu);

/// The kernel of cuda/mma for a tile, for a problem, on a GPU of `sms`
/// multiprocessors.
std::string run_mma_on_host(const GemmArguments& g, DType input, int tile, const HostGpu& gpu,
                            int sms = 2);

}  // namespace detgemm::test

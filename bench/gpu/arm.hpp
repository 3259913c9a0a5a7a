// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

#include "bench/gpu/buffers.hpp"
#include "bench/gpu/problem.hpp"

namespace detgemm::bench {

/// One way to compute a problem. `enqueue` puts call number `call` on the stream, on the buffers
/// Buffers::at gives for that number; it must be capturable.
struct Arm {
  std::string name;
  std::function<cudaError_t(cudaStream_t, int call)> enqueue;
  std::string detail{};  ///< what runs, in one line
};

/// Ours. Two files implement these: ours_door.cpp through cuda/launch.hpp, which links with the
/// kernels alone, and api/ours_api.cpp through the public interface.
/// `early`: the caller's promise that B is stable, so that it may be read before the kernel ahead
/// has ended. `variant`: force this kernel; empty for the chooser's.
Arm ours(const std::string& name, const Problem& problem, const Buffers& buffers, bool early,
         const std::string& variant);
/// Kernels that may be forced. One that does not take the problem fails when enqueued.
std::vector<std::string> our_variants(const Problem& problem);
/// To be called once, before any capture.
void prepare_ours();

/// Reads the weights by TMA and does nothing with them: the roof of a weight stream.
Arm weight_read(const std::string& name, const Problem& problem, const Buffers& buffers,
                int ring_kib);

}  // namespace detgemm::bench

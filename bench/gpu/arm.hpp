// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "bench/common/arm.hpp"
#include "bench/common/buffers.hpp"
#include "bench/common/problem.hpp"

namespace detgemm::bench {

/// What of a call may run beside the end of the kernel ahead. The bits are the same.
enum class Overlap {
  none,     ///< nothing: no programmatic dependent launch
  launch,   ///< its start
  operand,  ///< its reading of B too, which the caller promises is stable
};

/// Ours. Two files implement these: ours_door.cpp through cuda/launch.hpp, which links with the
/// kernels alone, and api/ours_api.cpp through the public interface.
/// `variant`: force this kernel; empty for the chooser's.
Arm ours(const std::string& name, const Problem& problem, const Buffers& buffers, Overlap overlap,
         const std::string& variant);
/// Whether Overlap::none can be asked for.
bool launches_without_overlap();
/// Kernels that may be forced. One that does not take the problem fails when enqueued.
std::vector<std::string> our_variants(const Problem& problem);
/// To be called once, before any capture.
void prepare_ours();

/// Reads the weights by TMA and does nothing with them: the roof of a weight stream.
Arm weight_read(const std::string& name, const Problem& problem, const Buffers& buffers,
                int ring_kib);

}  // namespace detgemm::bench

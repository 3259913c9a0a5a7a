// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "bench/common/arm.hpp"
#include "bench/common/buffers.hpp"

namespace detgemm::bench {

/// Reads the weights of a forward problem by TMA, `ring_kib` KiB in flight on each multiprocessor,
/// and does no arithmetic: no kernel that reads the weights once can be faster.
Arm weight_read(const std::string& name, const Problem& problem, const Buffers& buffers,
                int ring_kib);
/// Whether weight_read can read these weights: 16-bit elements, N and K multiples of 64.
inline bool weight_read_takes(const Problem& p) {
  return p.kind == Kind::forward && bytes_of(p.type) == 2 && p.n % 64 == 0 && p.k % 64 == 0;
}

}  // namespace detgemm::bench

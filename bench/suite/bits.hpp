// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// Runs call 0 of an arm over an output that held something else before, and waits.
void run_over_poison(BenchDevice& device, const Arm& arm, const Problem& problem,
                     const Buffers& buffers);

/// The D of call 0, in the host's memory; `d_size`: bytes of an element.
std::vector<std::byte> read_output(BenchDevice& device, const Problem& problem,
                                   const Buffers& buffers, std::int64_t d_size);

/// Recomputes some rows and columns of the D of call 0, the last ones included, with the plainest
/// kernel of a backend on the host, and counts outputs whose bits differ. Throws with the backend's
/// sentence where it does not compute this.
BitsCheck check_with_backend(const Backend& host_backend, BenchDevice& device,
                             const Problem& problem, const Contract& contract,
                             const Buffers& buffers);

/// Whether an arm of detgemm computed the contract's bits: the device's own check where it has one,
/// else that of the backend "reference". Throws where neither can say.
BitsCheck check_contract(BenchDevice& device, const Problem& problem, const Contract& contract,
                         const Buffers& buffers);

/// Outputs of two arrays of `d_size` bytes each that differ.
BitsCheck compare_outputs(const std::string& against, const std::vector<std::byte>& x,
                          const std::vector<std::byte>& y, std::int64_t d_size);

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <optional>

#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// Whether row 0 of D has the same bits in the case's batch and in a batch of one, both by the same
/// arm. Nothing where M is one already, where M is the reduction (dB), or where D is added to.
std::optional<bool> keeps_row(BenchDevice& device, const Case& c, const Arm& arm,
                              const std::function<Arm(const Problem&)>& make,
                              const Buffers& buffers);

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/common/arm.hpp"
#include "bench/common/buffers.hpp"

namespace detgemm::bench {

/// The arm with a small kernel before every call, of the kind that `problem.before` names. It reads
/// the call's A and writes it unchanged, so the product depends on it and has the same bits.
Arm after_small(Arm arm, const Problem& problem, const Buffers& buffers);

}  // namespace detgemm::bench

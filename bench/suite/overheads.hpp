// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/suite/result.hpp"

namespace detgemm::bench {

/// What the library itself costs beside the arithmetic: making a plan, a call on the host (on a GPU
/// until it is enqueued) at several M and with and without a stable B, the parts of a call that can
/// be timed alone ("part: ..."), workspaces, the size of this program.
Overheads measure_overheads(BenchDevice& device, Arithmetic native);

}  // namespace detgemm::bench

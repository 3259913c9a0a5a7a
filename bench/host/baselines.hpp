// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// OpenBLAS sgemm, found while the program runs. Where the inputs are not fp32 it multiplies fp32
/// ones of the same sizes: the figure that people compare a processor's GEMM with.
Baseline openblas_sgemm();

/// oneDNN's matmul in the case's own type, version 3 of its C interface.
Baseline onednn_matmul();

/// The case in fp32, which sgemm computes.
Problem in_fp32(const Problem& problem);

}  // namespace detgemm::bench

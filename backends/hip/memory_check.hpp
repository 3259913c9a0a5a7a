// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "backends/hip/runtime.hpp"
#include "detgemm/gemm_spec.hpp"

namespace detgemm::hip {

/// ok, or why a call cannot run where it is: another current device than the plan's, or a stream of
/// another device. Neither synchronises nor disturbs a capture.
Status check_stream(StreamHandle stream, int device);

/// ok, or which array of a run the plan's device cannot use: one in another device's memory or the
/// host's. Only what the spec reads or writes is looked at, A and B where `with_products`.
Status check_arrays(const GemmSpec& spec, const Operands& operands, bool with_products, int device);

/// The same for the roots of a combine.
Status check_roots(std::span<const ConstMatrix> roots, int device);

}  // namespace detgemm::hip

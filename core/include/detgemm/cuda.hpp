// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The CUDA backend (component `cuda`). It computes, each with the reductions chain, fold and tree:
///   - hopper/{bf16,fp16} on tensor cores, on devices of compute capability 9.0;
///   - ieee_fma/{bf16,fp16,fp32} on CUDA cores, on devices of compute capability 8.0 and above;
///   - snap/bf16 and snap3/{bf16,fp32}, by fold and tree alone, on the same devices, and by the
///     kernels of hopper on 9.0;
///   - hopper/e4m3 under chain, fold and scaled on 9.0, unless it was built without
///     DETGEMM_CUDA_FP8.
/// What it does not compute it refuses with a sentence; there is no fallback.
///
/// A plan belongs to the device that is current when it is created, and so do the stream and
/// every array of its runs. Another current device, a stream or memory of another device, and
/// host memory are refused with a sentence. Runs may be captured into a graph; plans are created
/// outside of a capture, because creating one loads the kernels. A plan survives a reset of its
/// device and runs in any context of it. Where a context has no room for a kernel's cluster of CTAs
/// (under MPS, in a green context, on a MIG slice), another kernel runs, with the same bits; only a
/// kernel that the plan forces is refused.
DETGEMM_API const Backend& cuda_backend() noexcept;

}  // namespace detgemm

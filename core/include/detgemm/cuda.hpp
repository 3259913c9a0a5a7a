// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The CUDA backend (component `cuda`). It computes, by chain, fold and tree where nothing else is
/// said:
///   - hopper/{bf16,fp16,tf32,e4m3} on tensor cores, on devices of compute capability 9.0 (e4m3 by
///     scaled too, and not by tree), and all but e4m3 on 10.x and 12.x;
///   - ampere/{bf16,fp16,tf32} on 8.x and blackwell/{bf16,fp16,tf32} on 10.x and 12.x, on tensor
///     cores;
///   - ieee_fma/{bf16,fp16,fp32} on CUDA cores, on devices of compute capability 8.0 and above;
///   - snap/bf16 and snap3/{bf16,fp32}, by fold and tree alone, on the same devices, and by the
///     kernels of hopper on 9.0.
/// What it does not compute it refuses with a sentence; nothing else runs in its place.
///
/// Tensor cores other than those of 9.0 are known from published models and not run by the project.
/// The first plan of an arithmetic on such a device computes pinned products there, in less than
/// 100 ms, and is refused with a sentence where a bit differs (Backend::verify).
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

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The HIP backend (component `hip`), not run on AMD hardware. It computes, each with the
/// reductions chain, fold and tree:
///   - cdna3/{bf16,fp16} on the matrix cores of gfx942;
///   - cdna2/{bf16,fp16} on the matrix cores of gfx90a;
///   - ieee_fma/{bf16,fp16,fp32} on gfx90a, gfx942 and gfx1100.
/// A chip that it has no kernels for is refused by name; nothing else runs in its place. The HIP
/// runtime (ROCm 5 to 7) is looked for when it is first needed.
///
/// A plan belongs to the device that is current when it is created, and so do the stream and
/// every array of its runs. Another current device, a stream or memory of another device, and
/// host memory are refused with a sentence. Runs may be captured into a graph; plans are created
/// outside of a capture, because creating one loads the kernels.
DETGEMM_API const Backend& hip_backend() noexcept;

}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The HIP backend (component `hip`), not run on AMD hardware. It computes, each with the
/// reductions chain, fold and tree:
///   - cdna3/{bf16,fp16} on the matrix cores of gfx942;
///   - cdna2/{bf16,fp16} on the matrix cores of gfx90a;
///   - ieee_fma/{bf16,fp16,fp32} on gfx90a, gfx942, gfx950, gfx1100 to gfx1102, gfx1200, gfx1201;
///   - snap/bf16 and snap3/{bf16,fp32}, by fold and tree alone, on all of these.
/// A chip that it has no kernels for is refused by name; there is no fallback. The HIP
/// runtime (ROCm 5 or newer) is looked for when it is first needed: in the dynamic linker's path,
/// in $ROCM_PATH/lib, /opt/rocm/lib and /opt/rocm-VERSION/lib.
///
/// A plan belongs to the device that is current when it is created, and so do the stream and
/// every array of its runs. Another current device, a stream or memory of another device, and
/// host memory are refused with a sentence; an APU whose kernels may use the host's memory (MI300A
/// with HSA_XNACK=1) takes that too. Runs may be captured into a graph; plans are created
/// outside of a capture, because creating one loads the kernels.
DETGEMM_API const Backend& hip_backend() noexcept;

}  // namespace detgemm

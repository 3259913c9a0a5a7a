// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// The HIP backend (component `hip`), not run on AMD hardware: cdna3/{bf16,fp16} on gfx942 and
/// cdna2/{bf16,fp16} on gfx90a with matrix cores, ieee_fma/{bf16,fp16,fp32} on gfx90a, gfx942 and
/// gfx1100; chain, fold and tree. A chip that it has no kernels for is refused by name; nothing
/// else runs in their place. The HIP runtime (ROCm 5 to 7) is looked for when it is first needed.
///
/// A plan belongs to the device that is current when it is created, and so do the stream and
/// every array of its runs: another current device, a stream or memory of another device and
/// host memory are refused with a sentence. Runs may be captured into a graph; plans are created
/// outside of a capture, since that loads the kernels.
DETGEMM_API const Backend& hip_backend() noexcept;

}  // namespace detgemm

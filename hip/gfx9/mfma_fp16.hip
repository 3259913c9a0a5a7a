// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/gfx9/kernels.hpp"

namespace detgemm::hip::gfx9 {

DETGEMM_KERNELS(fp16)

}  // namespace detgemm::hip::gfx9

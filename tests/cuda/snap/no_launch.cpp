// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "cuda/snap/snap.hpp"
#include "cuda/snap/split.hpp"

// What a launch would need: nothing here may reach it.

namespace detgemm::cuda {
cudaError_t launch(const Kernel&, int, const Queue&, void**) { std::abort(); }
namespace snap {
Kernel kernel(int) { std::abort(); }
Kernel split_kernel(int, bool) { std::abort(); }
}  // namespace snap
}  // namespace detgemm::cuda

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/cuda.hpp"

#include "backends/not_yet.hpp"

namespace detgemm {

const Backend& cuda_backend() noexcept {
  static const BackendToCome backend(
      "cuda", DeviceKind::cuda, "this release has no CUDA kernels yet; use the backend reference");
  return backend;
}

}  // namespace detgemm

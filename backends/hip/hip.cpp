// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/hip.hpp"

#include "backends/not_yet.hpp"

namespace detgemm {

const Backend& hip_backend() noexcept {
  static const BackendToCome backend(
      "hip", DeviceKind::hip, "this release has no HIP kernels yet; use the backend reference");
  return backend;
}

}  // namespace detgemm

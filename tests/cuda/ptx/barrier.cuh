// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::cuda::sm90::ptx {

/// Whether the phase of this parity has completed, without waiting for it.
__device__ __forceinline__ bool mbarrier_test_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t completed;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(completed)
      : "r"(barrier), "r"(parity)
      : "memory");
  return completed != 0;
}

}  // namespace detgemm::cuda::sm90::ptx

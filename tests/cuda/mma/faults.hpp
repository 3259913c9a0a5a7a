// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::test {

/// What may be planted in the machine on which kernels of cuda/mma run on the host, to show that a
/// test would notice.
enum class MmaFault {
  none,
  wrong_lane,      ///< ldmatrix: lane 5 has the elements of lane 6
  swapped_halves,  ///< mma.sync: the last 8 products before the first 8
  no_zeros,        ///< cp.async: what is outside of an operand is not cleared
  no_wait,         ///< cp.async.wait_group waits for nothing
  no_barrier,      ///< one __syncthreads of every third is left out
  no_warp_barrier,
  wrong_rounding,  ///< mma.sync: one bit fewer of every term
};

}  // namespace detgemm::test

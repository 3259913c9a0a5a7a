// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"
#include "cuda/sm90/pack/pack.hpp"

/// Operands that TMA cannot read are copied into the workspace, where they are laid out as TMA
/// requires, and the kernels for aligned operands multiply the copies. Steps of zeros past the last
/// k of a leaf change nothing: an accumulator is never -0 once a step has run, and x + 0 is x.
namespace detgemm::cuda::sm90 {

/// Extents of an operand that is copied stay below this.
inline constexpr std::int64_t kMaxPackedExtent = std::int64_t{1} << 30;

/// Elements from a line of a copy to the next: lines start at multiples of 128 bytes.
inline std::int64_t packed_pitch(std::int64_t length) { return ceil_div(length, 64) * 64; }

/// The problem on the copies.
struct PackedShape {
  std::int64_t k = 0;       ///< a whole number of blocks where both operands are copied
  std::int64_t leaf_k = 0;  ///< of the reduction on the copies; 0 for a chain
  int leaf = 0, room = 0;   ///< see PackOperand
  std::int64_t a_copies = 0, a_pitch = 0;  ///< lines of A's copy and their distance; 0: no copy
  std::int64_t b_copies = 0, b_pitch = 0;
  std::size_t a_bytes = 0, b_bytes = 0;
};
/// `leaf_k` is 0 for a chain.
PackedShape packed_shape(bool packs_a, bool packs_b, bool a_mn, bool b_mn, std::int64_t m,
                         std::int64_t n, std::int64_t k, std::int64_t leaf_k);
PackedShape packed_shape(const Question& q);

/// The Question about the copies. Precondition: q.packing.any().
Question packed(const Question& q);

/// Bytes of the copies.
std::size_t packed_bytes(const Question& q);
/// FamilyRow::packed_bytes.
std::size_t packed_bound(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                         std::int64_t k);

/// Microseconds that the model expects of the copying, and of copying so many bytes that are read
/// or written.
double predicted_pack_time(const Question& q);
double predicted_pack_time(double bytes);

/// Enqueues a job.
cudaError_t launch_pack(const PackJob& job, int sms, const Queue& queue);

/// Enqueues the copying of a decision, and moves the call to the copies.
cudaError_t pack_operands(const Step& step, const Decision& d, Call& call);

}  // namespace detgemm::cuda::sm90

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"
#include "cuda/sm90/pack/pack.hpp"

/// Operands that TMA cannot read are copied into the workspace, where they lie as TMA wants them,
/// and the kernels for aligned operands multiply the copies. Steps of zeros behind the last k of a
/// leaf change nothing: an accumulator is never -0 once a step has run, and x + 0 is x.
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

/// A call on the copies that a decision asks for. It refers to itself: do not copy it.
class PackedCall {
 public:
  PackedCall(const Decision& d, const Call& call);
  PackedCall(const PackedCall&) = delete;
  PackedCall& operator=(const PackedCall&) = delete;

  /// Enqueues the copying.
  cudaError_t pack() const;
  const Call& call() const { return call_; }

 private:
  GemmArguments g_;
  LaunchOptions options_;
  PackJob job_;
  Call call_;
};

/// Copies, then `launch(kernel, d, call)` on the copies.
template <class Launch>
cudaError_t launch_on_copies(const Launch& launch, const Kernel& kernel, const Decision& d,
                             const Call& call) {
  const PackedCall copies(d, call);
  if (const auto e = copies.pack(); e != cudaSuccess) return e;
  Decision rest = d;
  rest.packs_a = rest.packs_b = false;
  return launch(kernel, rest, copies.call());
}

}  // namespace detgemm::cuda::sm90

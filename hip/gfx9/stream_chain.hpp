// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "hip/gcn/control.hpp"
#include "hip/gcn/mfma.hpp"
#include "hip/gfx9/stream_operand.hpp"

namespace detgemm::hip::gfx9 {

using gcn::f32x4;

/// Both operands of one stage in registers; of half a stage where every element is a load of its
/// own.
template <Major kMajorA, Major kMajorB>
struct StreamBatch {
  static constexpr int kSteps = kMajorA == Major::any ? kStreamSteps / 2 : kStreamSteps;
  static constexpr int kProducts = kSteps * kStreamStep;
  Packet a[kSteps];
  Packet b[kSteps];

  /// Loads kProducts products, all of which exist; `k` is that of the lane's first packet.
  DETGEMM_DEVICE void load(const StreamRow<kMajorA>& x, const StreamRow<kMajorB>& y,
                           std::int64_t k) {
#pragma unroll
    for (int u = 0; u < kSteps; ++u) {
      a[u] = x.whole(k + u * kStreamStep);
      b[u] = y.whole(k + u * kStreamStep);
    }
  }
  /// The same with zeros from `end` on.
  DETGEMM_DEVICE void load_part(const StreamRow<kMajorA>& x, const StreamRow<kMajorB>& y,
                                std::int64_t k, std::int64_t end) {
#pragma unroll
    for (int u = 0; u < kSteps; ++u) {
      a[u] = x.part(k + u * kStreamStep, end);
      b[u] = y.part(k + u * kStreamStep, end);
      gcn::schedule_fence();  // keeps the masks of one packet at a time in registers
    }
  }
  template <DType kType>
  DETGEMM_DEVICE f32x4 multiply(f32x4 acc) const {
#pragma unroll
    for (int u = 0; u < kSteps; ++u) acc = gcn::mfma_16x16x16<kType>(a[u], b[u], acc);
    return acc;
  }
};

/// The chain over `count` whole batches from product `begin` on. The batches go through a ring of
/// registers: while one is multiplied, the next kDepth - 1 are on their way.
///
///   ring      0     1     2    ...  kDepth - 1 | 0         1
///   batch     0     1     2    ...             | kDepth    ...      acc -> [0] -> [1] -> [2] ->
///   ...
///
/// At the end the last batch is loaded again in place of those that do not exist: a load in every
/// turn lets the compiler wait for the oldest alone.
template <DType kType, int kDepth, Major kMajorA, Major kMajorB>
DETGEMM_DEVICE f32x4 stream_whole(const StreamRow<kMajorA>& x, const StreamRow<kMajorB>& y,
                                  std::int64_t begin, std::int64_t count, f32x4 acc) {
  using Batch = StreamBatch<kMajorA, kMajorB>;
  const auto at = [&](std::int64_t batch) {
    return begin + (batch < count ? batch : count - 1) * Batch::kProducts;
  };
  Batch ring[kDepth];
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
    ring[d].load(x, y, at(d));
    gcn::schedule_fence();
  }
  std::int64_t done = 0;
  for (;;) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      acc = ring[d].template multiply<kType>(acc);
      if (++done == count) return acc;
      ring[d].load(x, y, at(done + kDepth - 1));
      gcn::schedule_fence();
    }
  }
}

/// The chain over products [begin, end), where begin is a multiple of 4. The result has the
/// contract's zeros: no -0.
template <DType kType, Major kMajorA, Major kMajorB>
DETGEMM_DEVICE f32x4 stream_chain(const StreamRow<kMajorA>& x, const StreamRow<kMajorB>& y,
                                  int lane, std::int64_t begin, std::int64_t end, f32x4 acc) {
  using Batch = StreamBatch<kMajorA, kMajorB>;
  constexpr int kDepth = kMajorA == Major::any ? 2 : kStreamDepth;
  const int first = lane / 16 * 4;  // this lane's first k in a step
  const std::int64_t whole = whole_pieces<Batch::kProducts>(end - begin);
  if (whole > 0) acc = stream_whole<kType, kDepth>(x, y, begin + first, whole, acc);
  const std::int64_t rest = begin + whole * Batch::kProducts;
  if (rest < end) {
    Batch last;
    last.load_part(x, y, rest + first, end);
    acc = last.template multiply<kType>(acc);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) acc[i] = arithmetic::add_rn(acc[i], 0.0F);
  return acc;
}

}  // namespace detgemm::hip::gfx9

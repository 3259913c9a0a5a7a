// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/stream_operand.hpp"

namespace detgemm::hip::gfx9 {

/// A lane's weights of one column and stage on their way from memory: `load` reads kStreamStage
/// products, all of which exist, and `deal` gives the packets that the lane multiplies.
template <bool kChunks>
struct StreamWeights;

/// Packet by packet: 32 bytes of each of 16 columns at a time.
template <>
struct StreamWeights<false> {
  Packet packet[kStreamSteps];

  DETGEMM_DEVICE void load(const std::uint16_t* column, int lane) {
#pragma unroll
    for (int u = 0; u < kStreamSteps; ++u) {
      packet[u] = *reinterpret_cast<const Packet*>(column + lane / 16 * 4 + u * kStreamStep);
    }
  }
  DETGEMM_DEVICE void deal(Packet (&to)[kStreamSteps], int) const {
#pragma unroll
    for (int u = 0; u < kStreamSteps; ++u) to[u] = packet[u];
  }
};

/// By 16 bytes (stream_chunk_at): 64 bytes of each of 16 columns at a time. Columns begin at
/// multiples of 8 bytes, which is enough for such a load.
template <>
struct StreamWeights<true> {
  typedef u32x4 Chunk __attribute__((aligned(8)));
  u32x4 chunk[kStreamChunks];

  DETGEMM_DEVICE void load(const std::uint16_t* column, int lane) {
#pragma unroll
    for (int c = 0; c < kStreamChunks; ++c) {
      chunk[c] = *reinterpret_cast<const Chunk*>(column + stream_chunk_at(lane / 16, c));
    }
  }
  DETGEMM_DEVICE void deal(Packet (&to)[kStreamSteps], int lane) const {
    const auto exchange = [](Packet sent) {
      return Packet{gcn::across_16(sent[0]), gcn::across_16(sent[1])};
    };
#pragma unroll
    for (int c = 0; c < kStreamChunks; ++c) {
      deal_chunk(lane / 16 % 2 != 0, Packet{chunk[c][0], chunk[c][1]},
                 Packet{chunk[c][2], chunk[c][3]}, exchange, to[2 * c], to[2 * c + 1]);
    }
  }
};

}  // namespace detgemm::hip::gfx9

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/stream_store.hpp"
#include "hip/gfx9/stream_weights.hpp"

namespace detgemm::hip::gfx9 {

/// Where a packet of A lies in a buffer.
DETGEMM_DEVICE Packet* stream_packet(char* buffer, int row, int packet) {
  return reinterpret_cast<Packet*>(buffer + stream_packet_at(row, packet));
}

/// A wave's sums: kRowBlocks x kColBlocks blocks of 16 x 16 outputs with 4 registers each.
template <class W>
struct StreamSums {
  f32x4 block[W::kBlocks];

  DETGEMM_DEVICE void clear() {
#pragma unroll
    for (int b = 0; b < W::kBlocks; ++b) block[b] = f32x4{0.0F, 0.0F, 0.0F, 0.0F};
  }
  /// The hardware may leave -0 where the contract has +0, and -0 + 0 is +0.
  DETGEMM_DEVICE void restore_zeros() {
#pragma unroll
    for (int b = 0; b < W::kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 4; ++i) block[b][i] = arithmetic::add_rn(block[b][i], 0.0F);
    }
  }
  /// Starts from fp32 C. Outputs beyond D's edge read its last row or column.
  DETGEMM_DEVICE void start_from_c(const GemmArguments& g, std::int64_t m0, std::int64_t n0,
                                   int lane) {
#pragma unroll
    for (int b = 0; b < W::kBlocks; ++b) {
      const std::int64_t n = n0 + b % W::kColBlocks * kStreamBlock + lane % 16;
      const float* column = static_cast<const float*>(g.c) + (n < g.n ? n : g.n - 1) * g.cs.col;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::int64_t m = m0 + b / W::kColBlocks * kStreamBlock + result_row_16(lane, i);
        block[b][i] = column[(m < g.m ? m : g.m - 1) * g.cs.row];
      }
      gcn::schedule_fence();  // addresses of one block at a time
    }
  }
};

/// A thread's share of one stage: packets of A on their way to shared memory, and its wave's
/// weights.
template <class W>
struct WideBatch {
  Packet a[W::kRowBlocks];
  StreamWeights<W::kChunks> b[W::kColBlocks];

  DETGEMM_DEVICE void deal(Packet (&weights)[W::kColBlocks][kStreamSteps], int lane) const {
#pragma unroll
    for (int j = 0; j < W::kColBlocks; ++j) b[j].deal(weights[j], lane);
  }
};

/// From which rows a thread loads. Of A it loads packet thread % 16 of rows thread / 16 + 16 * i:
/// 16 neighbouring lanes read the 128 bytes of one row.
template <class W>
struct WideSource {
  const std::uint16_t* a[W::kRowBlocks];
  const std::uint16_t* b[W::kColBlocks];

  DETGEMM_DEVICE WideSource(const GemmArguments& g, std::int64_t m0, std::int64_t n0, int thread) {
#pragma unroll
    for (int i = 0; i < W::kRowBlocks; ++i) a[i] = row(g, m0, thread, i).at;
#pragma unroll
    for (int j = 0; j < W::kColBlocks; ++j) b[j] = column(g, n0, thread, j).at;
  }
  DETGEMM_DEVICE static StreamRow<Major::k> row(const GemmArguments& g, std::int64_t m0, int thread,
                                                int i) {
    return {operand_a(g), m0, thread / 16 + i * kStreamBlock};
  }
  DETGEMM_DEVICE static StreamRow<Major::k> column(const GemmArguments& g, std::int64_t n0,
                                                   int thread, int j) {
    return {operand_b(g), n0, thread % 16 + j * kStreamBlock};
  }
  /// The stage at k .. k + kStreamStage - 1, all of which exist.
  DETGEMM_DEVICE void load(WideBatch<W>& batch, std::int64_t k, int thread) const {
#pragma unroll
    for (int i = 0; i < W::kRowBlocks; ++i) {
      batch.a[i] = *reinterpret_cast<const Packet*>(a[i] + k + thread % 16 * 4);
    }
#pragma unroll
    for (int j = 0; j < W::kColBlocks; ++j) batch.b[j].load(b[j] + k, thread % gcn::kWave);
  }
};

/// Multiplies one stage. Between two steps of one block come those of the others.
///
///   acc -> [k 0..15] -> [k 16..31] -> [k 32..47] -> [k 48..63] -> next stage
template <DType kType, class W>
DETGEMM_DEVICE void multiply_stage(char* buffer, const Packet (&b)[W::kColBlocks][kStreamSteps],
                                   int lane, StreamSums<W>& sums) {
#pragma unroll
  for (int u = 0; u < kStreamSteps; ++u) {
#pragma unroll
    for (int i = 0; i < W::kRowBlocks; ++i) {
      const Packet a = *stream_packet(buffer, i * kStreamBlock + lane % 16, u * 4 + lane / 16);
#pragma unroll
      for (int j = 0; j < W::kColBlocks; ++j) {
        f32x4& acc = sums.block[i * W::kColBlocks + j];
        acc = gcn::mfma_16x16x16<kType>(a, b[j][u], acc);
      }
    }
  }
}

}  // namespace detgemm::hip::gfx9

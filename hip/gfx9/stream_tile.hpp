// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"

namespace detgemm::hip::gfx9 {

/// The streaming kernels: a wave reads the weights of its columns directly from global memory.
inline constexpr int kStreamWaves = 4;  ///< of a workgroup, where it is not one wave
inline constexpr int kStreamBlock = 16;
inline constexpr int kStreamStep = 16;                           ///< k of one MFMA
inline constexpr int kStreamSteps = 4;                           ///< MFMAs of a stage
inline constexpr int kStreamStage = kStreamSteps * kStreamStep;  ///< k: a row's is a cache line
inline constexpr int kStreamDepth = 8;  ///< stages that are in flight or being multiplied

/// Floats from row to row of a block of 16 x 16 in the epilogue: rows start at multiples of 16
/// bytes.
inline constexpr int kStreamPitch = 20;
/// How many floats a wave's 16 x 16 sums occupy in shared memory.
inline constexpr int kStreamPiece = kStreamBlock * kStreamPitch;

/// A workgroup of 4 waves with 16 * kRowBlocks rows: each wave has 16 * kColBlocks columns, whose
/// weights it reads once, directly into registers, and multiplies with every block of rows. The
/// rows of A are read once per workgroup and go to the waves through shared memory.
///
///           wave 0   1    2    3         shared memory: kM rows of one stage of A, twice
///   rows  .----+----+----+----.
///   0..15 | 16 | 16 | 16 | 16 | <- A     one weight packet is multiplied with kRowBlocks packets
///  16..31 |    |    |    |    | <- A     of A, and a packet of A with kColBlocks of weights
///         '----+----+----+----'
///           B    B    B    B
///
/// kDepth stages are in flight or being multiplied, as many as registers hold beside the sums. Fold
/// and tree have a second sum of each output, so they have fewer. kChunks: weights are loaded by 16
/// bytes and exchanged (stream_chunk_at), which pays where a packet of A serves two weights: with
/// one, shared memory is as busy as L1.
template <int kBlocksM, int kBlocksN, int kStages, int kStagesOfLeaves>
struct WideStream {
  static constexpr int kRowBlocks = kBlocksM;
  static constexpr int kColBlocks = kBlocksN;
  static constexpr int kBlocks = kRowBlocks * kColBlocks;
  static constexpr int kDepth = kStages;
  static constexpr int kLeavesDepth = kStagesOfLeaves;
  static constexpr bool kChunks = kColBlocks > 1;
  static constexpr int kM = kRowBlocks * kStreamBlock;
  static constexpr int kN = kColBlocks * kStreamBlock * kStreamWaves;
  static constexpr int kThreads = kStreamWaves * 64;
  static constexpr int kRowBytes = kStreamStage * 2;
  static constexpr int kBufferBytes = kM * kRowBytes;
  static constexpr int kEpilogueBytes = kStreamWaves * kStreamPiece * 4;
  static constexpr int kSharedBytes =
      2 * kBufferBytes > kEpilogueBytes ? 2 * kBufferBytes : kEpilogueBytes;
};

using Stream32 = WideStream<2, 1, kStreamDepth, kStreamDepth>;
using Stream64 = WideStream<4, 1, kStreamDepth, kStreamDepth>;
using Stream48x128 = WideStream<3, 2, 6, 5>;
using Stream64x128 = WideStream<4, 2, 5, 4>;
using Stream80x128 = WideStream<5, 2, 4, 3>;
using Stream96x128 = WideStream<6, 2, 4, 0>;  // no fold and no tree

/// How a wave loads weights by 16 bytes, two packets. A load whose lanes are in 16 lines takes as
/// many clocks for 8 bytes of each as for 16. One packet of a chunk belongs to the lane, and the
/// other one is exchanged with lane l ^ 16, so that every lane multiplies what the instruction's
/// order of k requires: lane group g packet 4 * u + g in step u.
///
///   packet            0  1  2  3 | 4  5  6  7 | 8 ...     even groups keep the first packet of
///   loaded by group   0  0  2  2 | 1  1  3  3 | 0 ...     their chunks, odd ones the second
///   multiplied by     0  1  2  3 | 0  1  2  3 | 0 ...
inline constexpr int kStreamChunks = kStreamSteps / 2;  ///< a lane's of one column and stage

/// The product of a stage with which chunk `chunk` (0, 1) of lane group `group` (0..3) begins.
DETGEMM_HD int stream_chunk_at(int group, int chunk) {
  return 2 * kStreamStep * chunk + kStreamStep * (group % 2) + 8 * (group / 2);
}
/// From the packets of a chunk to those of steps 2 * chunk and 2 * chunk + 1; `exchange` returns
/// what lane l ^ 16 passes to it.
template <class Packet, class Exchange>
DETGEMM_HD void deal_chunk(bool odd_group, Packet low, Packet high, Exchange&& exchange,
                           Packet& even_step, Packet& odd_step) {
  const Packet other = exchange(odd_group ? low : high);
  even_step = odd_group ? other : low;
  odd_step = odd_group ? high : other;
}

/// The offset in bytes of packet `packet` (0..15) of a row of A in a stage. The exclusive or makes
/// 16 lanes that read one packet of 16 rows touch every bank once, as 16 lanes that write the
/// packets of one row do.
DETGEMM_HD int stream_packet_at(int row, int packet) {
  return row * (kStreamStage * 2) + ((packet ^ (row & 15)) << 3);
}

}  // namespace detgemm::hip::gfx9

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "detgemm/types.hpp"

namespace detgemm::cuda::simt {

/// How the outputs of a CTA are dealt to its threads. Bit-neutral: an output is computed by one
/// thread, from its first product to its last.
///
///   CTA: warps in a grid       warp: lanes in a grid          thread: runs of 4 outputs each way
///   .-------.-------.          .--.--.--.- ... 8 lanes        rows 0..3 of the lane, then the same
///   | warp  | warp  |          |  |  |  |                     rows of the next group of lanes, so
///   |-------|-------|          |--|--|--|- ...                that neighbours read neighbouring
///   |       |       |          4 lanes                        16 bytes of shared memory
struct Tile {
  int thread_rows, thread_cols;  ///< outputs per thread
  int lane_rows, lane_cols;      ///< lanes of a warp, 32 in all
  int warp_rows, warp_cols;      ///< warps of a CTA
  int k;                         ///< products per slab, the unit of the pipeline; even
  int stages;                    ///< slabs in shared memory
  int ctas;                      ///< CTAs that a multiprocessor is meant to hold
  bool leaves;                   ///< can end a leaf, as fold and tree need
  bool lines = false;            ///< a stage holds lines of k, and outputs are dealt singly
  int held = 2;                  ///< fragments of 4 products in registers, if a stage holds lines

  constexpr int rows() const { return thread_rows * lane_rows * warp_rows; }
  constexpr int cols() const { return thread_cols * lane_cols * warp_cols; }
  constexpr int threads() const { return 32 * warp_rows * warp_cols; }
  constexpr int outputs() const { return rows() * cols(); }
  bool operator==(const Tile&) const = default;
};

/// Floats of padding behind each k of a stage: runs stay aligned to 16 bytes, and no two k of a
/// column are in one bank.
inline constexpr int kPad = 4;
constexpr int pitch(int lines) { return lines + kPad; }

/// Floats of a stage: A, then B.
constexpr int stage_floats(const Tile& t) {
  if (t.lines) return (t.rows() + t.cols()) * pitch(t.k);
  return t.k * (pitch(t.rows()) + pitch(t.cols()));
}
/// Bytes of the ring of stages.
constexpr int ring_bytes(const Tile& t) { return 4 * t.stages * stage_floats(t); }
/// Bytes of one level of waiting sums: a fold's sum, or a subtree of a tree, for every output.
constexpr int waiting_bytes(const Tile& t) { return 4 * t.outputs(); }

/// Bytes of shared memory that every device of compute capability 8.0 and above gives a CTA.
inline constexpr int kMaxShared = 99 * 1024;

/// The number of levels of waiting sums for which a tile has room.
constexpr int levels_of(const Tile& t) {
  return t.leaves ? (kMaxShared - ring_bytes(t)) / waiting_bytes(t) : 0;
}

/// Every tile that is compiled. Decision::tile and LaunchOptions::forced are indices into it.
inline constexpr std::array<Tile, 17> kTiles{{
    {16, 8, 4, 8, 2, 2, 16, 3, 2, false},  // 128 x 128: large problems, chain
    {16, 8, 4, 8, 2, 2, 8, 4, 2, false},   // the same with shorter slabs
    {16, 8, 4, 8, 2, 1, 8, 4, 4, false},   // 128 x 64
    {8, 8, 4, 8, 2, 2, 8, 4, 2, true},     // 64 x 128, and the first that can end a leaf
    {8, 4, 4, 8, 2, 2, 16, 3, 3, true},    // 64 x 64
    {4, 4, 4, 8, 2, 1, 16, 3, 6, true},    // 32 x 32: few outputs, deep trees
    {8, 1, 1, 32, 1, 1, 32, 3, 8, true},   // 8 x 32: few rows of 16-bit inputs
    {1, 8, 32, 1, 1, 1, 32, 3, 8, true},   // 32 x 8: few columns of 16-bit inputs
    // Stages of lines: few rows or columns, and what is between them and the large tiles.
    {2, 1, 1, 32, 2, 1, 64, 7, 2, true, true, 4},   // 4 x 32
    {2, 2, 2, 16, 2, 2, 32, 8, 2, true, true, 4},   // 8 x 64
    {2, 2, 2, 16, 4, 1, 32, 12, 2, true, true, 2},  // 16 x 32
    {4, 4, 4, 8, 1, 4, 32, 4, 2, true, true, 2},    // 16 x 128
    {4, 2, 2, 16, 4, 1, 32, 8, 2, true, true, 2},   // 32 x 32
    {4, 4, 4, 8, 2, 2, 32, 6, 2, true, true, 2},    // 32 x 64
    {6, 4, 4, 8, 4, 1, 32, 4, 3, true, true, 2},    // 96 x 32
    {5, 8, 4, 8, 4, 1, 32, 3, 2, true, true, 2},    // 80 x 64
    {8, 7, 4, 8, 2, 2, 32, 3, 2, false, true, 2},   // 64 x 112
}};
inline constexpr int kTileCount = static_cast<int>(kTiles.size());
/// Tiles before this one are compiled for every pair of fp32 ways.
inline constexpr int kLargeTiles = 3;

/// Whether a tile is compiled for an input type: 16-bit inputs need one large tile, and tiles of
/// one warp only where there are no lines.
constexpr bool has_tile(DType input, int tile) {
  const Tile& t = kTiles[static_cast<std::size_t>(tile)];
  if (input == DType::fp32) return t.lines || t.threads() > 32;
  return !t.lines && (tile == 0 || tile >= kLargeTiles);
}

/// For example "128x64x8" or "16x64x32-lines": rows, columns and products per slab.
std::string name(const Tile& t);

}  // namespace detgemm::cuda::simt

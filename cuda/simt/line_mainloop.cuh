// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"
#include "cuda/simt/line_loader.cuh"
#include "cuda/simt/place.cuh"

namespace detgemm::cuda::simt {

/// Mainloop for fp32 in tiles of lines: the same ring and the same chain, but a stage holds lines
/// of k, A's and then B's, so that a thread reads 4 products of a line at once, in any number of
/// rows and columns. All that is between memory and a stage is asynchronous, whatever the
/// strides, and few rows need that: what they wait for is memory.
template <Tile kTile>
class LineMainloop {
  static constexpr int kK = kTile.k;
  static constexpr int kPitch = 4 * pitch(kK);            // bytes
  static constexpr int kStage = 4 * stage_floats(kTile);  // bytes
  static constexpr int kRing = kTile.stages * kStage;
  static constexpr int kRows = kTile.thread_rows;
  static constexpr int kCols = kTile.thread_cols;
  static constexpr int kLines = kRows + kCols;
  static constexpr int kFours = kK / 4;  // of a slab
  /// Fragments of 4 products that a thread holds: the one that is multiplied, and those that are on
  /// their way.
  static constexpr int kHeld = kTile.held;
  static constexpr int kAhead = kHeld - 1;
  using Where = Place<kTile>;
  static_assert(kFours % kHeld == 0, "The first products of a slab are in the first fragment.");

 public:
  float acc[kRows][kCols];  // outputs of this thread

  __device__ __forceinline__ LineMainloop(const Params& p, float* ring, const Where& where,
                                          std::int64_t row0, std::int64_t col0)
      : a_(p.a, row0),
        b_(p.b, col0),
        quick_(a_.quick() && b_.quick()),
        k_(p.g.k),
        leaf_k_(p.leaf_k),
        in_leaf_(p.leaf_k < p.g.k ? p.leaf_k : p.g.k),
        left_(p.g.k - in_leaf_),
        ring_(ptx::shared_address(ring)),
        write_(0),
        read_a_(ring_ + where.first_row() * kPitch),
        read_b_(ring_ + (kTile.rows() + where.first_col()) * kPitch),
        read_(0) {
#pragma unroll 1
    for (int s = 0; s < kTile.stages - 1; ++s) step();
    arrive();
    fetch_first();
  }

  /// Multiplies the next products, which begin a slab.
  __device__ __forceinline__ void multiply(std::int64_t products) {
#pragma unroll 1
    for (; products > 0; products -= kK) {
      step();
      if (products >= kK) {
#pragma unroll
        for (int q = 0; q < kFours; ++q) {
          if (q == kFours - kAhead) turn();
          multiply_fours(q % kHeld, (q + kAhead) % kHeld, (q + kAhead) % kFours);
        }
      } else {
#pragma unroll 1
        for (int k = 0; k < static_cast<int>(products); ++k) multiply_one(k);
        turn();
        fetch_first();
      }
    }
  }

 private:
  /// Starts to bring the next slab. At the end it brings nothing.
  __device__ __forceinline__ void step() {
    if (quick_ && in_leaf_ >= kK) {
      a_.copy_quickly(ring_ + write_);
      b_.copy_quickly(ring_ + write_ + kTile.rows() * kPitch);
      in_leaf_ -= kK;
    } else if (in_leaf_ > 0) {
      const int count = in_leaf_ < kK ? static_cast<int>(in_leaf_) : kK;
      const std::int64_t k0 = k_ - left_ - in_leaf_;
      a_.copy(ring_ + write_, k0, count);
      b_.copy(ring_ + write_ + kTile.rows() * kPitch, k0, count);
      in_leaf_ -= count;
    }
    if (in_leaf_ == 0) {  // a leaf begins a slab
      in_leaf_ = leaf_k_ < left_ ? leaf_k_ : left_;
      left_ -= in_leaf_;
    }
    ptx::cp_async_commit_group();
    write_ = write_ == kRing - kStage ? 0 : write_ + kStage;
  }
  /// Waits until the slab to be read has arrived and all threads are done with the one before it.
  __device__ __forceinline__ static void arrive() {
    ptx::cp_async_wait_group<kTile.stages - 2>();
    __syncthreads();
  }
  /// Goes on to the next slab. This one has been fetched.
  __device__ __forceinline__ void turn() {
    read_ = read_ == kRing - kStage ? 0 : read_ + kStage;
    arrive();
  }
  __device__ __forceinline__ void fetch_first() {
#pragma unroll
    for (int q = 0; q < kAhead; ++q) {
#pragma unroll
      for (int i = 0; i < kLines; ++i) fetch(q, i, q);
    }
  }
  /// Fetches products 4 * four and on of one of this thread's lines.
  __device__ __forceinline__ void fetch(int which, int line, int four) {
    if (line < kCols) {
      fragment_b_[which][line] =
          ptx::ld_shared_v4_f32(read_b_ + read_ + line * kTile.lane_cols * kPitch + 16 * four);
    } else {
      const int row = line - kCols;
      fragment_a_[which][row] =
          ptx::ld_shared_v4_f32(read_a_ + read_ + row * kTile.lane_rows * kPitch + 16 * four);
    }
  }
  __device__ __forceinline__ static float part(const float4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
  }
  /// Multiplies 4 products of all outputs, and meanwhile fetches others to `then`.
  __device__ __forceinline__ void multiply_fours(int which, int then, int four) {
    int line = 0;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int turn = 0; turn < kCols; ++turn) {
          const int at = (e * kRows + i) * kCols + turn;
          if (line < kLines && at >= line * 4 * kRows * kCols / kLines) fetch(then, line++, four);
          const int j = i % 2 == 0 ? turn : kCols - 1 - turn;
          acc[i][j] = arithmetic::fma_rn(part(fragment_a_[which][i], e),
                                         part(fragment_b_[which][j], e), acc[i][j]);
        }
      }
    }
  }
  __device__ __forceinline__ void multiply_one(int k) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float a = ptx::ld_shared_f32(read_a_ + read_ + i * kTile.lane_rows * kPitch + 4 * k);
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
        const float b = ptx::ld_shared_f32(read_b_ + read_ + j * kTile.lane_cols * kPitch + 4 * k);
        acc[i][j] = arithmetic::fma_rn(a, b, acc[i][j]);
      }
    }
  }

  LineLoader<kTile.rows(), kK, kTile.threads()> a_;
  LineLoader<kTile.cols(), kK, kTile.threads()> b_;
  const bool quick_;
  const std::int64_t k_, leaf_k_;
  std::int64_t in_leaf_, left_;  // products to be brought, in this leaf and behind it
  const std::uint32_t ring_;
  std::uint32_t write_;                  // bytes from there to the stage that is written next
  const std::uint32_t read_a_, read_b_;  // this thread's lines in the first stage
  std::uint32_t read_;                   // bytes from there to the stage that is read
  float4 fragment_a_[kHeld][kRows];      // 4 products of each line, which take turns
  float4 fragment_b_[kHeld][kCols];
};

}  // namespace detgemm::cuda::simt

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"
#include "cuda/simt/loader.cuh"
#include "cuda/simt/place.cuh"
#include "cuda/simt/slabs.cuh"

namespace detgemm::cuda::simt {

/// Loads the products of one k for a thread's rows or columns: runs of 4, kGroup floats apart.
template <int kOutputs, int kGroup>
__device__ __forceinline__ void load_fragment(float (&to)[kOutputs], const float* from) {
  if constexpr (kOutputs % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kOutputs; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + i / 4 * kGroup);
      to[i] = four.x;
      to[i + 1] = four.y;
      to[i + 2] = four.z;
      to[i + 3] = four.w;
    }
  } else {
    static_assert(kOutputs == 1, "A thread has one row or column, or runs of four.");
    to[0] = *from;
  }
}

/// The accumulators of one tile and the pipeline that feeds them. Every output is a chain of its
/// own:
///
///   acc = start;  for k ascending:  acc = fma(a[k], b[k], acc)
///
///   stages:   | slab s | s + 1 | ... | s + stages - 1 |      a ring in shared memory
///               read ^                          ^ written while slab s is multiplied
///   one barrier per slab: what was read is free, and what was written has arrived
///
/// Fragments of k + 1 are read while those of k are multiplied, across slabs too. A stage holds A
/// as (kK, rows) with pitch kPitchA, then B as (kK, cols) with pitch kPitchB.
template <DType T, Tile kTile, Way kA, Way kB>
class Mainloop {
  static constexpr int kThreads = kTile.threads();
  static constexpr int kK = kTile.k;
  static constexpr int kPitchA = pitch(kTile.rows());
  static constexpr int kPitchB = pitch(kTile.cols());
  static constexpr int kStage = kK * (kPitchA + kPitchB);  // floats
  using LoaderA = Loader<T, kTile.rows(), kK, kThreads, kA>;
  using LoaderB = Loader<T, kTile.cols(), kK, kThreads, kB>;
  static constexpr int kRunsA = LoaderA::kMine;
  static constexpr int kRunsB = LoaderB::kMine;
  static constexpr bool kEarly = T == DType::fp32 && kA != Way::any && kB != Way::any;
  using Where = Place<kTile>;
  static_assert(kK % 2 == 0, "Two fragments take turns, and a slab begins with the first of them.");
  static_assert(kTile.stages >= 2, "One stage is written while another is read.");

 public:
  float acc[kTile.thread_rows][kTile.thread_cols];  // outputs of this thread

  __device__ __forceinline__ Mainloop(const Params& p, float* ring, const Where& where,
                                      std::int64_t row0, std::int64_t col0)
      : a_(p.a, row0),
        b_(p.b, col0),
        slabs_(p.g.k, p.leaf_k),
        ring_(ring),
        read_(ring),
        write_(ring),
        at_a_(where.first_row()),
        at_b_(kK * kPitchA + where.first_col()),
        quick_(a_.quick() && b_.quick()) {
    pending_ = slabs_.next(kK);
    a_.first(pending_);
    b_.first(pending_);
#pragma unroll 1
    for (int s = 0; s < kTile.stages - 1; ++s) step();
    arrive();
    fetch(0, read_, 0);
  }

  /// Multiplies the next products, which begin a slab.
  __device__ __forceinline__ void multiply(std::int64_t products) {
#pragma unroll 1
    for (std::int64_t slab = products / kK; slab > 0; --slab) {
      if (quick()) {
        multiply_slab();
      } else {
        multiply_part(kK);
      }
    }
    const int rest = static_cast<int>(products % kK);
    if (rest != 0) multiply_part(rest);
  }

 private:
  /// Whether multiply_slab may be called: the slabs that are loaded meanwhile are whole, and so are
  /// their runs.
  __device__ __forceinline__ bool quick() const {
    return quick_ && pending_ == kK && slabs_.whole(kK);
  }

  /// Multiplies a whole slab in straight-line code. Copies are issued at its beginning. What goes
  /// through registers is spread over the slab, since a burst of stores would hold up what is
  /// behind it.
  __device__ __forceinline__ void multiply_slab() {
    slabs_.take(kK);
#pragma unroll
    for (int k = 0; k < kK; ++k) {
      if (k == kK - 1) {
        if (!kEarly) ptx::cp_async_commit_group();
        next_write();
        next_read();
        arrive();
        fetch((k + 1) % 2, read_, 0);
      } else {
        fetch((k + 1) % 2, read_, k + 1);
      }
      multiply(k % 2);
      // With few accumulators the compiler would fetch far ahead, until registers run out.
      if (kTile.threads() == 32 && k % 4 == 3) __syncwarp();
#pragma unroll
      for (int i = 0; i < kRunsA + kRunsB; ++i) {
        const bool is_a = i < kRunsA;
        const bool copied = is_a ? LoaderA::kCopied : LoaderB::kCopied;
        if (k != (copied ? (is_a ? 0 : 1) : i * (kK - 1) / (kRunsA + kRunsB))) continue;
        if (is_a) {
          a_.step_quickly(write_, i);
        } else {
          b_.step_quickly(write_ + kK * kPitchA, i - kRunsA);
        }
      }
      if (kEarly && k == 1) ptx::cp_async_commit_group();
    }
  }

  /// Multiplies the first `count` products of a slab, whatever has to be loaded meanwhile.
  __device__ __forceinline__ void multiply_part(int count) {
    step();
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
      fetch(0, read_, k);
      multiply(0);
    }
    next_read();
    arrive();
    fetch(0, read_, 0);
  }

  __device__ __forceinline__ void step() {
    const int then = slabs_.next(kK);
    a_.step(write_, pending_, then);
    b_.step(write_ + kK * kPitchA, pending_, then);
    ptx::cp_async_commit_group();
    pending_ = then;
    next_write();
  }
  __device__ __forceinline__ void next_write() {
    write_ = write_ == ring_ + (kTile.stages - 1) * kStage ? ring_ : write_ + kStage;
  }
  __device__ __forceinline__ void next_read() {
    read_ = read_ == ring_ + (kTile.stages - 1) * kStage ? ring_ : read_ + kStage;
  }
  /// Waits until the slab to be read has arrived and all threads are done with the one before it.
  __device__ __forceinline__ static void arrive() {
    ptx::cp_async_wait_group<kTile.stages - 2>();
    __syncthreads();
  }
  __device__ __forceinline__ void fetch(int which, const float* stage, int k) {
    load_fragment<kTile.thread_rows, Where::kRowGroup>(fragment_a_[which],
                                                       stage + at_a_ + k * kPitchA);
    load_fragment<kTile.thread_cols, Where::kColGroup>(fragment_b_[which],
                                                       stage + at_b_ + k * kPitchB);
  }
  __device__ __forceinline__ void multiply(int which) {
#pragma unroll
    for (int i = 0; i < kTile.thread_rows; ++i) {
#pragma unroll
      for (int turn = 0; turn < kTile.thread_cols; ++turn) {
        // There and back again: the last column of a row is still at hand for the next row.
        const int j = i % 2 == 0 ? turn : kTile.thread_cols - 1 - turn;
        float& sum = acc[i][j ^ Where::kSwap];
        sum = arithmetic::fma_rn(fragment_a_[which][i], fragment_b_[which][j], sum);
      }
    }
  }

  LoaderA a_;
  LoaderB b_;
  Slabs<kTile.leaves> slabs_;
  float* const ring_;
  const float* read_;
  float* write_;
  const int at_a_, at_b_;
  const bool quick_;
  int pending_;                             // products of the slab that is loaded next
  float fragment_a_[2][kTile.thread_rows];  // two k, which take turns
  float fragment_b_[2][kTile.thread_cols];
};

}  // namespace detgemm::cuda::simt

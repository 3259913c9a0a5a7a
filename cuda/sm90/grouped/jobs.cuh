// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/grouped/job.cuh"
#include "cuda/sm90/pipeline/producer.cuh"

namespace detgemm::cuda::sm90 {

/// The jobs of a CTA: a ring in shared memory that one warp fills and all others read.
///
///   | job 0 | job 1 | job 2 | job 3 | barriers: written | barriers: read |
template <class T>
struct JobRing {
  std::uint32_t jobs, written, read;
  RingCursor<T::kJobs> cursor;

  __device__ explicit JobRing(const SharedLayout<T>& shared)
      : jobs(shared.epilogue + T::kStagingBytes),
        written(jobs + T::kJobs * sizeof(TileJob)),
        read(written + T::kJobs * 8) {}

  /// Two producing lanes and every warp that consumes read each job.
  __device__ void init() const {
    for (int i = 0; i < T::kJobs; ++i) {
      ptx::mbarrier_init(written + 8 * i, 1);
      ptx::mbarrier_init(read + 8 * i, 2 + 4 * T::kGroups);
    }
  }
  /// One lane puts a job; its cursor begins with parity 1.
  __device__ __forceinline__ void put(const TileJob& job) const {
    const std::uint32_t to = jobs + cursor.stage * sizeof(TileJob);
    ptx::mbarrier_wait(read + 8 * cursor.stage, cursor.parity);
    const auto word = [](int v) { return static_cast<std::uint32_t>(v); };
    ptx::st_shared_v4_u32(to, {word(job.x_from), word(job.y_from), word(job.x), word(job.y)});
    ptx::st_shared_v4_u32(to + 16,
                          {word(job.x_end), word(job.y_end), word(job.group), word(job.exists)});
    ptx::st_shared_v4_u32(to + 32, {word(job.k_begin), word(job.k_end), 0, 0});
    ptx::mbarrier_arrive(written + 8 * cursor.stage);
  }
  /// Every reader takes every job. `warp`: all lanes of a warp read, and count as one.
  __device__ __forceinline__ bool take(TileJob& job, bool warp) {
    const std::uint32_t from = jobs + cursor.stage * sizeof(TileJob);
    ptx::mbarrier_wait(written + 8 * cursor.stage, cursor.parity);
    const uint4 low = ptx::ld_shared_v4_u32(from);
    const uint4 high = ptx::ld_shared_v4_u32(from + 16);
    const uint4 products = ptx::ld_shared_v4_u32(from + 32);
    if (warp) __syncwarp();
    if (!warp || threadIdx.x % 32 == 0) ptx::mbarrier_arrive(read + 8 * cursor.stage);
    cursor.advance();
    const auto number = [](std::uint32_t v) { return static_cast<int>(v); };
    job = {number(low.x),
           number(low.y),
           number(low.z),
           number(low.w),
           number(high.x),
           number(high.y),
           number(high.z),
           number(high.w),
           number(products.x),
           number(products.y),
           {}};
    return job.exists != 0;
  }
};

/// The warp that reads the offsets and hands out the jobs of this CTA.
template <class T>
__device__ __forceinline__ void hand_out_jobs(const SharedLayout<T>& shared,
                                              const GroupedArguments& p, const GroupedShape& s,
                                              const LaunchShape& shape) {
  JobRing<T> ring(shared);
  ring.cursor.parity =
      1;  // a fresh barrier counts as one turn ahead, so that the ring starts empty
  const std::int64_t across = ceil_div(p.all.n, std::int64_t{shape.swapped ? T::kX : T::kN});
  grouped::GroupWalk walk(p, shape.swapped ? T::kN : T::kX, across);
#pragma unroll 1
  for (std::int64_t tile = blockIdx.x;; tile += gridDim.x) {
    grouped::GroupTile found;
    const bool exists = walk.find(tile, found);
    if (threadIdx.x % 32 == 0) ring.put(exists ? job_of<T>(p, s, shape, found) : TileJob{});
    __syncwarp();
    if (!exists) return;
    ring.cursor.advance();
  }
}

}  // namespace detgemm::cuda::sm90

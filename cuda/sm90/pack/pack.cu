// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/pack/pack.hpp"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::sm90 {
namespace {

constexpr int kThreads = 256;
constexpr int kSegment = kPackSegment;
constexpr int kUnroll = kSegment / 32;  ///< chunks per lane, whose loads go ahead of their stores

/// A line of an operand that is being copied.
struct Line {
  const char* start;        ///< its first element
  const char *begin, *end;  ///< of the whole operand: nothing outside is read
  int late;                 ///< elements by which it starts after a multiple of 16 bytes
};

/// What chunk `chunk` of a line of the copy holds: `count` elements from element `first` of the
/// line on, then zeros.
struct Source {
  int first, count;
};
__device__ __forceinline__ Source source_of(const PackOperand& o, int chunk) {
  const int at = chunk * 8;
  if (!o.along_k || o.leaf == o.room) return {at, min(8, o.length - at)};
  const int leaf = at / o.room;
  const int inside = at - leaf * o.room;
  const int first = leaf * o.leaf + inside;
  return {first, min(8, min(o.leaf - inside, o.length - first))};
}

/// Elements `late` .. `late` + 7 of 16. Two rounds of selects shift by words, and prmt by a half.
__device__ __forceinline__ uint4 shifted(const uint4& low, const uint4& high, int late) {
  const std::uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  std::uint32_t by_two[6], by_one[5];
#pragma unroll
  for (int i = 0; i < 6; ++i) by_two[i] = (late & 4) != 0 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) by_one[i] = (late & 2) != 0 ? by_two[i + 1] : by_two[i];
  const std::uint32_t bytes = (late & 1) != 0 ? 0x5432U : 0x3210U;
  return {__byte_perm(by_one[0], by_one[1], bytes), __byte_perm(by_one[1], by_one[2], bytes),
          __byte_perm(by_one[2], by_one[3], bytes), __byte_perm(by_one[3], by_one[4], bytes)};
}

__device__ __forceinline__ std::uint32_t first_elements(std::uint32_t word, int count) {
  return count >= 2 ? word : count == 1 ? word & 0xffffU : 0;
}
/// The first `count` elements, then zeros.
__device__ __forceinline__ uint4 cut(const uint4& chunk, int count) {
  return {first_elements(chunk.x, count), first_elements(chunk.y, count - 2),
          first_elements(chunk.z, count - 4), first_elements(chunk.w, count - 6)};
}

/// The same chunk element by element, where 16-byte loads would leave the operand.
__device__ __forceinline__ uint4 by_element(const char* from, int count) {
  const auto* elements = reinterpret_cast<const std::uint16_t*>(from);
  std::uint32_t word[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t low = 2 * i < count ? elements[2 * i] : 0;
    const std::uint32_t high = 2 * i + 1 < count ? elements[2 * i + 1] : 0;
    word[i] = low | high << 16;
  }
  return {word[0], word[1], word[2], word[3]};
}

/// Copies a segment of a line.
__device__ __forceinline__ void copy_segment(const PackOperand& o, const Line& line, int first,
                                             uint4* to) {
  uint4 low[kUnroll], high[kUnroll];
  unsigned outside = 0;  // chunks, by bits, whose loads would leave the operand
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const int chunk = first + 32 * i;
    const Source s = source_of(o, chunk);
    low[i] = high[i] = {0, 0, 0, 0};
    if (chunk >= o.chunks || s.count <= 0) continue;
    const char* from = line.start + (std::int64_t{s.first} - line.late) * 2;
    const bool both = line.late + s.count > 8;
    if (from < line.begin || from + (both ? 32 : 16) > line.end) {
      outside |= 1U << i;
      continue;
    }
    low[i] = reinterpret_cast<const uint4*>(from)[0];
    if (both) high[i] = reinterpret_cast<const uint4*>(from)[1];
  }
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const int chunk = first + 32 * i;
    if (chunk >= o.chunks) continue;
    const int count = source_of(o, chunk).count;
    const uint4 out = shifted(low[i], high[i], line.late);
    to[chunk] = count < 8 ? cut(out, count) : out;
  }
  if (outside == 0) return;
#pragma unroll 1
  for (int i = 0; i < kUnroll; ++i) {
    if ((outside >> i & 1U) == 0) continue;
    const Source s = source_of(o, first + 32 * i);
    to[first + 32 * i] = by_element(line.start + std::int64_t{s.first} * 2, s.count);
  }
}

/// Segment by segment, one warp each. `step` warps walk through the operand together.
__device__ __forceinline__ void copy_operand(const PackOperand& o, std::int64_t warp,
                                             std::int64_t step) {
  if (o.copies == 0) return;
  const int lane = threadIdx.x % 32;
  const int segments = (o.chunks + kSegment - 1) / kSegment;
  const auto* begin = static_cast<const char*>(o.from);
  const char* end = begin + ((o.lines - 1) * o.ld + o.length) * 2;
  // No division in the loop: positions advance by `step` segments.
  const std::int64_t step_lines = step / segments;
  const int step_segments = static_cast<int>(step % segments);
  std::int64_t copy = warp / segments;
  int segment = static_cast<int>(warp % segments);
  while (copy < o.copies) {
    const std::int64_t leaf = o.along_k ? 0 : copy / o.room;
    const std::int64_t inside = o.along_k ? copy : copy - leaf * o.room;
    const std::int64_t line = o.along_k ? copy : leaf * o.leaf + inside;
    const bool zeros = !o.along_k && (inside >= o.leaf || line >= o.lines);
    const char* start = begin + (zeros ? 0 : line * o.ld * 2);
    const int late = static_cast<int>(reinterpret_cast<std::uintptr_t>(start) % 16 / 2);
    auto* to = reinterpret_cast<uint4*>(static_cast<char*>(o.to) + copy * o.pitch * 2);
    const int first = segment * kSegment + lane;
    if (zeros) {
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        if (first + 32 * i < o.chunks) to[first + 32 * i] = {0, 0, 0, 0};
      }
    } else {
      copy_segment(o, {start, begin, end, late}, first, to);
    }
    copy += step_lines;
    segment += step_segments;
    if (segment >= segments) {
      segment -= segments;
      ++copy;
    }
  }
}

__global__ void __launch_bounds__(kThreads, kPackCtasPerSm)
    pack(const __grid_constant__ PackJob job) {
  if (threadIdx.x == 0) ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();  // for the operands, and for whoever still reads the last copies
  const std::int64_t step = std::int64_t{gridDim.x} * (kThreads / 32);
  const std::int64_t warp = std::int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  copy_operand(job.operand[0], warp, step);
  copy_operand(job.operand[1], warp, step);
}

}  // namespace

Kernel pack_kernel() { return {reinterpret_cast<const void*>(&pack), kThreads, 0, 1}; }

}  // namespace detgemm::cuda::sm90

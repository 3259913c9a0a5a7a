// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"
#include "cuda/sm90/fp8/scales.cuh"
#include "cuda/sm90/fp8/segments.hpp"

namespace detgemm::cuda::sm90 {

/// Where a tile of a group is on both sides of the tensor core.
struct GroupPlace {
  int x_from, y_from;    ///< first rows in the arrays of X and Y
  int x, y;              ///< the same in D, and in C
  int x_end, y_end;      ///< of D, past the last row of the group, past the last column
  int x_scale, y_scale;  ///< first lines of scales
  int x_lines, y_lines;  ///< past the last line of scales
};

template <class T>
__device__ __forceinline__ GroupPlace place_of(const SegmentTile& t, const SegmentShape& s,
                                               const LaunchShape& shape, int n) {
  const int line = t.rows.begin + t.row;
  const int end = t.rows.begin + t.rows.count;
  const int from = line + t.group * s.a_step;
  const int to = line + t.group * s.d_step;
  const int to_end = end + t.group * s.d_step;
  if (shape.swapped) {
    const int w = min(t.across * T::kX, shape.x_last);
    return {w, from, w, to, n, to_end, w, line, n, end};
  }
  const int w = min(t.across * T::kN, shape.y_last);
  return {from, w, to, w, to_end, n, line, w, end, n};
}

/// Whether the rows of a tile that a consumer group has are past the last one.
template <class T>
__device__ __forceinline__ bool has_no_rows(const GroupPlace& at, int group) {
  return T::kGroups > 1 && at.x + group * T::kBlocks * 64 >= at.x_end;
}

/// The scales of one side of a group.
__device__ __forceinline__ SideScales scales_of(SideScales s, long long elements) {
  s.data = moved(s.data, elements, s.e8m0 ? 1 : 4);
  return s;
}
__device__ __forceinline__ Fp8Shape shape_of_group(const Fp8Shape& all, const SegmentShape& s,
                                                   bool swapped, int group) {
  Fp8Shape own = all;
  own.x = scales_of(all.x, group * (swapped ? s.b_scales : s.a_scales));
  own.y = scales_of(all.y, group * (swapped ? s.a_scales : s.b_scales));
  return own;
}

template <class T>
__device__ __forceinline__ SegmentWalk walk_of(const RowSegment* table, const GroupedArguments& p,
                                               const SegmentShape& s, bool swapped) {
  return {table,    static_cast<int>(p.groups),   swapped ? T::kN : T::kX,
          s.across, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)};
}

}  // namespace detgemm::cuda::sm90

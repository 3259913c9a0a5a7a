// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"
#include "hip/raster.hpp"

namespace detgemm::hip {

/// The one argument of every kernel that multiplies; plain data, passed by value.
struct TileArguments {
  GemmArguments g;
  Raster raster;
  int blocks = 1;           ///< workgroups of the launch; workgroup b does tiles b, b + blocks, ...
  std::int64_t leaves = 1;  ///< number of leaves of k; 1 for a chain
  /// Waiting subtree sums of a tree: one slice of `stack_stride` floats per workgroup.
  float* stack = nullptr;
  std::int64_t stack_stride = 0;
  /// Into how many parts K is spread (hip/parts.hpp), and where part p leaves its m x n sums in
  /// place of D: at roots + p * m * n, row by row. Unit of work u is tile u % tiles of part
  /// u / tiles. 1 in kernels that do not spread K.
  int parts = 1;
  float* roots = nullptr;
};

/// The one argument of a kernel over groups. `tile` has what does not depend on the group: its `g`
/// holds the arrays of all groups, and the `tiles_m` of its raster counts where all groups have the
/// same rows (batched, k_grouped).
struct GroupTileArguments {
  TileArguments tile;  ///< first: what kernels read as TileArguments
  GroupedArguments groups;
};

/// A root of a combine: an fp32 matrix, and how many nodes of the tree end with it
/// (core/contract/cover.hpp).
struct Root {
  const float* data;
  Strides strides;
  int closes;
};

/// How many roots fit into a kernel's arguments.
inline constexpr int kRootsByValue = 32;

/// Where there are more roots, several launches first copy them from their arguments to the
/// workspace.
struct PlaceArguments {
  Root roots[kRootsByValue];
  Root* to = nullptr;
  int count = 0;
};

struct CombineArguments {
  GemmArguments g;
  Root roots[kRootsByValue];
  const Root* table = nullptr;  ///< all roots, or null where `roots` holds them
  std::int64_t count = 0;
  std::int64_t threads = 0;  ///< number of threads of the launch
};

/// Products that one thread snaps at a time.
inline constexpr int kSnapPiece = 8;
/// Rows of a leaf that a workgroup snaps at a time, where threads lie along K and along the rows.
inline constexpr int kSnapRowsAlongK = 16;
inline constexpr int kSnapRowsAcross = 64;

/// The argument of the kernels that snap an operand (simt/snap.hpp): `rows` vectors of k bf16
/// numbers, cut into leaves of leaf_k. Strides are in elements.
struct SnapArguments {
  const std::uint16_t* from = nullptr;
  std::int64_t from_row = 0, from_k = 0;
  std::uint16_t* to = nullptr;  ///< may be `from`, with the same strides
  std::int64_t to_row = 0, to_k = 0;
  std::int64_t rows = 0, k = 0, leaf_k = 0;
  std::int64_t row_blocks = 1;  ///< workgroups that the rows of one leaf are dealt out to
  std::int64_t units = 0;       ///< row_blocks times the number of leaves
  int blocks = 1;               ///< workgroups of the launch; workgroup b does b, b + blocks, ...
  int tries = 1;                ///< grids after which one is found, if there is one
  int from_chunks = 0;          ///< pieces of a leaf are aligned chunks of 16 bytes
  int to_chunks = 0;
};

}  // namespace detgemm::hip

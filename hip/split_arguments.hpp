// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::hip {

/// Numbers that one thread splits at a time.
inline constexpr int kSplitPiece = 4;

/// The argument of the kernels that split an operand (simt/split.hpp): `rows` vectors of k numbers,
/// whose copy has three parts for each leaf (core/contract/snap3_copies.hpp). Strides are in
/// elements.
struct SplitArguments {
  const void* from = nullptr;  ///< bf16 or fp32, by the kernel
  std::int64_t from_row = 0, from_k = 0;
  std::uint16_t* to = nullptr;  ///< aligned to 16 bytes, and so is each of its rows
  std::int64_t to_row = 0;
  std::int64_t rows = 0, k = 0;
  std::int64_t leaf_k = 64;     ///< numbers of one part of the copy, a multiple of 64
  std::int64_t row_blocks = 1;  ///< workgroups that the rows of one leaf are dealt out to
  std::int64_t units = 0;       ///< row_blocks times the number of leaves
  int blocks = 1;               ///< workgroups of the launch; workgroup b does b, b + blocks, ...
  int tries = 1;                ///< grids after which one is found, if there is one
  int from_chunks = 0;          ///< pieces of a leaf lie at multiples of their size
  int of_a = 1;                 ///< whose order of parts
};

}  // namespace detgemm::hip

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "detgemm/types.hpp"

namespace detgemm::cli {

/// Rows and columns of every captured tile.
inline constexpr std::int64_t kGoldenExtent = 64;

/// What the name TYPE_DIST_kK.bin says about a captured file (tests/golden/README.md): A and B,
/// 64 x K elements each, then C and D, 64 x 64 of fp32.
struct GoldenFile {
  std::string path;
  DType type = DType::bf16;
  std::string distribution;
  std::int64_t k = 0;

  std::uint64_t operand_bytes() const;
  std::uint64_t tile_bytes() const;
  std::uint64_t bytes() const { return 2 * operand_bytes() + 2 * tile_bytes(); }
};

/// Reads the name and checks the size; throws a Refusal where either is wrong.
GoldenFile open_golden(const std::string& path);

/// A path that could not be read, and why.
struct BadPath {
  std::string path;
  std::string reason;
};

/// The files behind the paths given: files as they are, folders searched for *.bin at any depth,
/// in the order of their names.
std::vector<std::string> find_golden(const std::vector<std::string>& paths,
                                     std::vector<BadPath>& bad);

}  // namespace detgemm::cli

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/reference/tile.hpp"

namespace detgemm::reference {

/// A bf16 matrix as lines along K: element k of line i lies at data + i * line + k * step.
struct Lines {
  const std::uint16_t* data;
  std::int64_t line, step;
  std::int64_t lines, k;
};

/// Snaps every leaf of every line, on at most `workers` threads; `to` may be the same elements.
/// Needs an initialised Kokkos.
void snap_lines(const TileSet& set, const Lines& from, std::int64_t leaf_k, std::uint16_t* to,
                std::int64_t to_line, std::int64_t to_step, std::int64_t workers);

/// Bytes of a copy of lines x k numbers, a multiple of kWorkspaceAlignment; all bits set where they
/// do not fit, which no workspace has.
std::size_t copy_bytes(std::int64_t lines, std::int64_t k);

}  // namespace detgemm::reference

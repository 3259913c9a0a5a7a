// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/reference/snap.hpp"
#include "core/contract/snap3_copies.hpp"
#include "detgemm/types.hpp"

namespace detgemm::reference {

/// A matrix as lines along K; bf16 or fp32 numbers.
struct WideLines {
  const void* data;
  DType type;
  std::int64_t line, step;
  std::int64_t lines, k;
};

/// Writes the copy of an operand, its lines side by side. `of_a`: whose order of parts. Needs an
/// initialised Kokkos.
void snap3_lines(const TileSet& set, const WideLines& from, bool of_a, const Snap3Copies& copies,
                 std::uint16_t* to, std::int64_t workers);

}  // namespace detgemm::reference

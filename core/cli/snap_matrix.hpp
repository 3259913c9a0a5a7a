// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "detgemm/backend.hpp"
#include "detgemm/snap.hpp"

namespace detgemm::cli {

/// Matrices that lie one after the other, row-major and packed; one, where a tensor has two
/// dimensions.
struct Matrices {
  std::string name;  ///< for sentences
  std::int64_t count = 1;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  std::size_t elements() const { return static_cast<std::size_t>(count * rows * cols); }
};

/// How far snapping moved a matrix.
struct Moved {
  std::int64_t elements = 0;  ///< values that are others now
  double change = 0;          ///< |after - before| over |before| of the finite elements (Frobenius)
};

/// Snaps matrices of bf16 on a backend of the host. Throws a Refusal where a leaf is too large for
/// any grid: the rule makes it NaN, which nobody wants in a file.
Moved snap_matrices(const Backend& backend, const SnapSpec& spec, const Matrices& matrices,
                    const std::vector<std::uint16_t>& from, std::vector<std::uint16_t>& to);

/// Whether snapping would change no value.
bool are_snapped(const Backend& backend, const SnapSpec& spec, const Matrices& matrices,
                 const std::vector<std::uint16_t>& elements);

}  // namespace detgemm::cli

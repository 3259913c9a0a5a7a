// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "core/conformance/random.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::conformance {

/// Whether the cell belongs to the share. Mixed, since a slow property has the same place under
/// every contract:
///
///   cells     0 1 2 3 4 5 6 7 ...
///   share     0 1 1 0 1 0 0 0 ...
inline bool has(const Share& share, std::size_t cell) {
  return share.of <= 1 || scramble(cell + 1) % share.of == share.number;
}

/// The first cell of the share from `cell` on.
inline std::size_t next_of(const Share& share, std::size_t cell) {
  while (!has(share, cell)) ++cell;
  return cell;
}

}  // namespace detgemm::conformance

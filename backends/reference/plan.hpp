// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/reference/tile.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::reference {

/// The kernels for a problem: the tile sets this processor runs, then "scalar".
std::vector<std::string> variant_names(const GemmSpec& spec);

/// Snaps a matrix with the widest tile set; see Backend::snap. Needs an initialised Kokkos.
void snap_matrix(const SnapSpec& spec, const ConstMatrix& from, const Matrix& to);

/// Needs an initialised Kokkos. An empty variant means the first of `variant_names`.
std::shared_ptr<const PlanImpl> make_reference_plan(const GemmSpec& spec,
                                                    const PlanOptions& options);

}  // namespace detgemm::reference

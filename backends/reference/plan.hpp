// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/reference/tile.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::reference {

/// The name of the variant that is the scalar definition.
inline constexpr const char* kScalar = "scalar";

/// The kernels for any problem: the tile sets this processor runs, then "scalar".
std::vector<std::string> variant_names();
/// The tile set of that name, the first for an empty one; null for the scalar definition.
const TileSet* tile_set_of(const std::string& variant);
/// The threads that a plan with these options may use.
int workers_of(const PlanOptions& options);

/// Snaps a matrix with the widest tile set; see Backend::snap. Needs an initialised Kokkos.
void snap_matrix(const SnapSpec& spec, const ConstMatrix& from, const Matrix& to);

/// Quantises a matrix on all threads; see Backend::quantize. Needs an initialised Kokkos.
void quantize_matrix(const QuantizeSpec& spec, const ConstMatrix& from, const Matrix& to,
                     const ScalesOut& scales);

/// Log-probabilities on all threads. Needs an initialised Kokkos.
const LogProbEngine& log_prob_engine();

/// Needs an initialised Kokkos. An empty variant means the first of `variant_names`.
std::shared_ptr<const PlanImpl> make_reference_plan(const GemmSpec& spec,
                                                    const PlanOptions& options);
std::shared_ptr<const GroupedPlanImpl> make_grouped_reference_plan(const GroupedSpec& spec,
                                                                   const PlanOptions& options);

}  // namespace detgemm::reference

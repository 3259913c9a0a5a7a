// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/cluster/arms.hpp"
#include "bench/suite/experiment.hpp"

namespace detgemm::bench {

/// One case on all ranks at once: every arm in turn, each sample begun together, and the time of
/// the slowest rank. Collective; the result is the same on all ranks but for names of kernels.
///
/// The bits of detgemm are compared too: D is the same on all ranks, and rows of it are the rows of
/// the whole. (That they are those of one rank is what the tests of clusters are for.)
CaseResult run_cluster_case(RankKit& kit, const Case& c, const Buffers& buffers,
                            const Settings& settings);

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/reference/element_kernel.hpp"
#include "backends/reference/plan.hpp"
#include "backends/reference/tile_grid.hpp"
#include "core/contract/log_rows.hpp"

namespace detgemm::reference {
namespace {

/// Rows by Kokkos, columns by the widest instruction set.
struct KokkosRows {
  static LogKernels kernels() { return tile_sets().front()->log_prob; }

  template <class Body>
  static void run(std::int64_t total, double cost, std::int32_t workers, const Body& body) {
    if (total == 0) return;
    PlanOptions options;
    options.max_workers = workers;
    const std::int64_t worth = workers_for(static_cast<double>(total) * cost);
    const Kokkos::DefaultHostExecutionSpace space;
    for_each_output("detgemm::reference::log_prob", space, total,
                    std::min<std::int64_t>(worth, workers_of(options)), body);
    space.fence();
  }
};

}  // namespace

const LogProbEngine& log_prob_engine() {
  static const HostLogProb<KokkosRows> engine;
  return engine;
}

}  // namespace detgemm::reference

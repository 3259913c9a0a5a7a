// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/quantize.hpp"

#include "backends/reference/element_kernel.hpp"
#include "backends/reference/plan.hpp"

namespace detgemm::reference {

void quantize_matrix(const QuantizeSpec& spec, const ConstMatrix& from, const Matrix& to,
                     const ScalesOut& scales) {
  const QuantizeArguments q = flatten(spec, from, to, scales);
  const std::int64_t leaves = scales.leaves;
  const Kokkos::DefaultHostExecutionSpace space;
  for_each_output("detgemm::reference::quantize", space, scales.blocks * leaves, workers_of({}),
                  [=](std::int64_t i) { quantize_block(q, i / leaves, i % leaves); });
  space.fence();
}

}  // namespace detgemm::reference

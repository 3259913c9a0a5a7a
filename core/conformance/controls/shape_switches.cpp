// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that take another path for some shapes, addresses or options, although that path adds in
// another order.

namespace detgemm::controls {

void switch_if(bool other, const Run& run) {
  compute_with(run, other ? another(run.spec.contract) : run.spec.contract.reduction);
}

Fault batch_switch() {
  return {"batch_switch", [](const Run& run) { switch_if(run.operands.d.rows > 16, run); }};
}

Fault row_pairs() {
  return {"row_pairs", [](const Run& run) {
            with_step(run, [&](GemmArguments g, const ScalarStep& step) {
              for_outputs(g, [&](std::int64_t row, std::int64_t col) {
                g.reduction =
                    row % 2 == 1 ? another(run.spec.contract) : run.spec.contract.reduction;
                step.element(g, {}, row, col);
              });
            });
          }};
}

Fault alignment_switch() {
  return {"alignment_switch", [](const Run& run) {
            switch_if(reinterpret_cast<std::uintptr_t>(run.operands.a.data) % 16 != 0, run);
          }};
}

Fault transpose_switch() {
  return {"transpose_switch",
          [](const Run& run) { switch_if(run.spec.op_b == Op::transpose, run); }};
}

Fault wide_switch() {
  return {"wide_switch", [](const Run& run) { switch_if(run.spec.n > 8, run); }};
}

Fault worker_switch() {
  return {"worker_switch", [](const Run& run) { switch_if(run.options.max_workers > 1, run); }};
}

Fault variant_ignored() {
  Fault fault{"variant_ignored", compute_honestly};
  fault.variants = {"plain", "wide"};
  return fault;
}

}  // namespace detgemm::controls

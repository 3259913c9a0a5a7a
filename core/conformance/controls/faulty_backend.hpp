// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "core/contract/compute_element.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::controls {

/// What a faulty engine sees of one run.
struct Run {
  const GemmSpec& spec;
  const PlanOptions& options;
  const Operands& operands;
  Workspace workspace;
};

/// The difference between an engine and the honest scalar one.
struct Fault {
  std::string_view name;
  void (*run)(const Run&);
  float (*join)(std::span<const float> roots) =
      nullptr;  ///< joins the roots of one output, for combine
  std::size_t workspace = 0;
  std::vector<std::string> variants{"scalar"};
  Device* device = nullptr;  ///< the host's if null
};

/// An engine with the fault; it lives as long as the program.
const Backend* make_backend(const Fault& fault);

/// The host with simulated graphs, so that replay can be tested without a GPU.
Device& graph_host() noexcept;

/// Calls fn.operator()<Arithmetic, DType>(arguments) for the spec's step.
template <class Fn>
void with_step(const Run& run, Fn&& fn) {
  const GemmArguments g = flatten(run.spec, run.operands);
  arithmetic::for_step(run.spec.contract.arithmetic, run.spec.contract.input,
                       [&]<Arithmetic A, DType T>() { fn.template operator()<A, T>(g); });
}

template <class Fn>
void for_outputs(const GemmArguments& g, Fn&& fn) {
  for (std::int64_t row = 0; row < g.m; ++row) {
    for (std::int64_t col = 0; col < g.n; ++col) fn(row, col);
  }
}

/// Computes what the contract says.
void compute_honestly(const Run& run);
/// Computes the contract with another reduction in place of its own.
void compute_with(const Run& run, const Reduction& reduction);
/// A reduction that is not the contract's.
Reduction another(const Contract& contract);
/// Computes the contract on operands whose raw elements `change` has altered.
void compute_on_changed_inputs(const Run& run, std::uint32_t (*change)(std::uint32_t, DType));

// One fault each; control_table.cpp says what they do.
Fault arrival_order();
Fault batch_switch();
Fault row_pairs();
Fault reads_padding();
Fault writes_padding();
Fault dirty_workspace();
Fault alignment_switch();
Fault transpose_switch();
Fault wide_switch();
Fault dropped_tail();
Fault variant_ignored();
Fault worker_switch();
Fault sequential_combine();
Fault range_tree();
Fault late_continue();
Fault shared_scratch();
Fault graph_switch();
Fault bf16_nodes();
Fault tf32_inputs();
Fault flush_to_zero();
Fault minus_zero();
Fault contracted_epilogue();
Fault reads_c();

}  // namespace detgemm::controls

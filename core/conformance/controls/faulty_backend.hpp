// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/contract/compute_element.hpp"
#include "core/contract/group_arguments.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::controls {

/// What a faulty engine sees of one run.
struct Run {
  const GemmSpec& spec;
  const PlanOptions& options;
  const Operands& operands;
  Workspace workspace;
};

/// Changes one group of a problem of many, on its way to the honest scalar code.
using GroupChange = void (*)(const GroupedArguments& all, std::int64_t group, GemmArguments& g);

/// The difference between an engine and the honest scalar one.
struct Fault {
  std::string_view name;
  void (*run)(const Run&);
  float (*join)(std::span<const float> roots) =
      nullptr;  ///< joins the roots of one output, for combine
  std::size_t workspace = 0;
  std::vector<std::string> variants{"scalar"};
  Device* device = nullptr;                 ///< the host's if null
  GroupChange groups = nullptr;             ///< what happens to groups; they are right if null
  bool groups_share_scales = false;         ///< all groups take the scales of the first one's B
  const LogProbEngine* log_prob = nullptr;  ///< the honest one if null
  bool combine_without_c = false;           ///< beta * C is forgotten where roots are joined
};

/// An engine with the fault; it lives as long as the program.
const Backend* make_backend(const Fault& fault);

/// The host with simulated graphs, so that replay can be tested without a GPU.
Device& graph_host() noexcept;
/// Host memory that says it is a GPU's: no guard pages, no gates, and bytes beyond its arrays that
/// may be written.
Device& paper_gpu() noexcept;

/// The scalar code of a contract's arithmetic. It is compiled once, not once for every fault.
struct ScalarStep {
  DType input;
  float (*load)(const void* data, std::int64_t index);  ///< an element of A or B
  /// chain_element and compute_element, see core/contract/compute_element.hpp
  float (*chain)(const GemmArguments& g, std::int64_t row, std::int64_t col, std::int64_t begin,
                 std::int64_t end, float acc);
  void (*element)(const GemmArguments& g, const ScalePair& scales, std::int64_t row,
                  std::int64_t col);
};
ScalarStep step_of(const Contract& contract);

/// Calls fn(arguments, step) for the spec's step.
template <class Fn>
void with_step(const Run& run, Fn&& fn) {
  fn(flatten(run.spec, run.operands), step_of(run.spec.contract));
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
/// `another` where `other`, otherwise the contract's own reduction.
void switch_if(bool other, const Run& run);
/// The honest accumulator of every output, handed to `finish(arguments, row, col, acc)`.
template <class Finish>
void with_own_epilogue(const Run& run, Finish&& finish) {
  const ScalePair scales = flatten_scales(run.spec, run.operands);
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const float acc = reduce_leaves(
          g.reduction, g.k, start_value(g, row, col),
          [&](std::int64_t begin, std::int64_t end, float start) {
            return step.chain(g, row, col, begin, end, start);
          },
          [&](std::int64_t leaf) { return scale_of_leaf(scales, row, col, leaf); });
      finish(g, row, col, acc);
    });
  });
}
/// Computes the contract on operands whose raw elements `change` has altered.
void compute_on_changed_inputs(const Run& run, std::uint32_t (*change)(std::uint32_t, DType));

/// Contracts under which most faults can show.
inline constexpr std::string_view kNarrowChain = "hopper/bf16/chain->bf16";
inline constexpr std::string_view kWideChain = "ieee_fma/fp32/chain->fp32";
/// A fault that needs no more than a function, and what the table of controls says of it.
struct Planted {
  std::string_view name;
  std::string_view fault;
  std::string_view property;
  std::string_view contract;
  void (*run)(const Run&);
  bool full = false;
};
std::span<const Planted> crossed_switches();
std::span<const Planted> large_switches();
std::span<const Planted> size_switches();
std::span<const Planted> scalar_switches();
std::span<const Planted> wrong_zeros();
std::span<const Planted> stray_accesses();
std::span<const Planted> crowded_calls();
std::span<const Planted> snap_faults();
std::span<const Planted> scale_faults();
std::span<const Planted> split_faults();
std::span<const Planted> mode_faults();
std::span<const Planted> turning_faults();
std::span<const Planted> stored_faults();

/// A fault in problems of many groups alone.
struct PlantedInGroups {
  std::string_view name;
  std::string_view fault;
  std::string_view property;
  std::string_view contract;
  GroupChange change;
};
std::span<const PlantedInGroups> group_faults();

/// A fault in log-probabilities alone.
struct PlantedInLogProbs {
  std::string_view name;
  std::string_view fault;
  std::string_view property;
  std::string_view contract;
  const LogProbEngine* engine;
};
std::span<const PlantedInLogProbs> log_prob_faults();

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
Fault equal_nodes();
Fault many_roots();
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
Fault groups_share_scales();
Fault keeps_b_in_workspace();
Fault combine_without_c();
Fault keeps_rows();
Fault writes_5000_past_d();
Fault device_d_in_32_bits();
Fault writes_70000_past_d();

}  // namespace detgemm::controls

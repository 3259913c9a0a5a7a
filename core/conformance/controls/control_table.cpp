// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"

namespace detgemm::controls {
namespace {

constexpr std::string_view kFold = "hopper/bf16/fold:32->fp32";
constexpr std::string_view kTree = "hopper/bf16/tree:32->fp32";
constexpr std::string_view kLongLeaves = "hopper/bf16/tree:128->fp32";

std::vector<Control> by_hand() {
  return {
      {"arrival_order", "split-K slices are added in the order in which they finish", "run_to_run",
       kNarrowChain, make_backend(arrival_order())},
      {"batch_switch", "more than 16 rows are added in another order", "batch", kNarrowChain,
       make_backend(batch_switch())},
      {"row_pairs", "every second row is added in another order", "chunked_prefill", kNarrowChain,
       make_backend(row_pairs())},
      {"reads_padding", "the element after a row of A enters, times zero", "padding", kNarrowChain,
       make_backend(reads_padding())},
      {"writes_padding", "the element after a row of D is overwritten", "padding", kNarrowChain,
       make_backend(writes_padding())},
      {"dirty_workspace", "the workspace is taken to be zero", "padding", kNarrowChain,
       make_backend(dirty_workspace())},
      {"alignment_switch", "an address not aligned to 16 bytes means another order", "strides",
       kNarrowChain, make_backend(alignment_switch())},
      {"transpose_switch", "a transposed B means another order", "layouts", kNarrowChain,
       make_backend(transpose_switch())},
      {"wide_switch", "more than 8 columns are added in another order", "columns", kNarrowChain,
       make_backend(wide_switch())},
      {"dropped_tail", "products after the last multiple of 8 are dropped", "k_tails", kNarrowChain,
       make_backend(dropped_tail())},
      {"dropped_tail", "products after the last multiple of 8 are dropped", "probes", kNarrowChain,
       make_backend(dropped_tail())},
      {"variant_ignored", "a forced kernel is not the one that runs", "variants", kNarrowChain,
       make_backend(variant_ignored())},
      {"worker_switch", "more than one worker means another order", "variants", kNarrowChain,
       make_backend(worker_switch())},
      {"sequential_combine", "ranks' roots are added one after the other", "ranks", kTree,
       make_backend(sequential_combine())},
      {"many_roots", "16 roots and more are added one after the other", "ranks", kTree,
       make_backend(many_roots())},
      {"keeps_rows", "a workspace keeps how many rows the call before had", "run_to_run",
       kNarrowChain, make_backend(keeps_rows())},
      {"combine_without_c", "beta * C is forgotten where roots are joined", "ranks", kTree,
       make_backend(combine_without_c())},
      {"equal_nodes", "roots are joined as if their nodes had equal sizes", "shares", kTree,
       make_backend(equal_nodes())},
      {"range_tree", "the tree halves the range of products, not of leaves", "shares", kLongLeaves,
       make_backend(range_tree())},
      {"range_tree", "the tree halves the range of products, not of leaves", "ranks", kLongLeaves,
       make_backend(range_tree())},
      {"range_tree", "the tree halves the range of products, not of leaves", "probes", kTree,
       make_backend(range_tree())},
      {"late_continue", "C is added after the product in place of before it", "microbatch", kFold,
       make_backend(late_continue())},
      {"shared_scratch", "concurrent calls share one scratch", "concurrency", kNarrowChain,
       make_backend(shared_scratch())},
      {"graph_switch", "a captured call is added in another order", "graph_replay", kNarrowChain,
       make_backend(graph_switch())},
      {"bf16_nodes", "the nodes of the tree are rounded to bf16", "reference", kTree,
       make_backend(bf16_nodes())},
      {"bf16_nodes", "the nodes of the tree are rounded to bf16", "error_bound", kTree,
       make_backend(bf16_nodes())},
      {"bf16_nodes", "the nodes of the tree are rounded to bf16", "probes", kTree,
       make_backend(bf16_nodes())},
      {"tf32_inputs", "fp32 operands are cut to tf32", "reference", kWideChain,
       make_backend(tf32_inputs())},
      {"tf32_inputs", "fp32 operands are cut to tf32", "error_bound", kWideChain,
       make_backend(tf32_inputs())},
      {"flush_to_zero", "subnormal operands count as zero", "specials", kNarrowChain,
       make_backend(flush_to_zero())},
      {"minus_zero", "a sum of zero is -0", "specials", kNarrowChain, make_backend(minus_zero())},
      {"contracted_epilogue", "alpha * acc is fused into the addition of beta * C", "epilogue",
       kNarrowChain, make_backend(contracted_epilogue())},
      {"reads_c", "C is read although beta is 0", "epilogue", kNarrowChain,
       make_backend(reads_c())},
      {"groups_share_scales", "all groups take the scales of the first one's B", "group_order",
       "hopper/e4m3/scaled:64->fp32", make_backend(groups_share_scales())},
      {"keeps_b_in_workspace", "a copy of B is found again in the workspace", "run_to_run",
       kNarrowChain, make_backend(keeps_b_in_workspace())},
      {"writes_5000_past_d", "on a device a byte 5,000 bytes after D is written", "run_to_run",
       kNarrowChain, make_backend(writes_5000_past_d())},
      {"device_d_in_32_bits", "on a device a D that spans 2^31 elements means another order",
       "strides", kNarrowChain, make_backend(device_d_in_32_bits())},
      {"writes_70000_past_d", "on a device a byte 70,000 bytes after D is written", "batch",
       kNarrowChain, make_backend(writes_70000_past_d())},
  };
}

}  // namespace

std::span<const Control> controls() {
  static const std::vector<Control> table = [] {
    std::vector<Control> all = by_hand();
    for (const auto planted :
         {crossed_switches(), large_switches(), size_switches(), scalar_switches(), wrong_zeros(),
          stray_accesses(), crowded_calls(), snap_faults(), split_faults(), scale_faults(),
          mode_faults(), turning_faults(), stored_faults()}) {
      for (const Planted& one : planted) {
        all.push_back({one.name, one.fault, one.property, one.contract,
                       make_backend({one.name, one.run}), one.full});
      }
    }
    for (const PlantedInGroups& one : group_faults()) {
      Fault fault{one.name, compute_honestly};
      fault.groups = one.change;
      all.push_back({one.name, one.fault, one.property, one.contract, make_backend(fault)});
    }
    for (const PlantedInLogProbs& one : log_prob_faults()) {
      Fault fault{one.name, compute_honestly};
      fault.log_prob = one.engine;
      all.push_back({one.name, one.fault, one.property, one.contract, make_backend(fault)});
    }
    return all;
  }();
  return table;
}

const Backend& honest() { return skeleton_backend(); }

}  // namespace detgemm::controls

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "core/conformance/case.hpp"

namespace detgemm::conformance {

// One function per property; properties.cpp says what each claims and how many cases it takes.
void run_to_run(Case& c);
void batch(Case& c);
void chunked_prefill(Case& c);
void padding(Case& c);
void strides(Case& c);
void layouts(Case& c);
void combinations(Case& c);
void large(Case& c);
void columns(Case& c);
void k_tails(Case& c);
void variants(Case& c);
void ranks(Case& c);
void shares(Case& c);
void microbatch(Case& c);
void concurrency(Case& c);
void graph_replay(Case& c);
void permutation(Case& c);
void snapped(Case& c);
void scales_one(Case& c);
void scales_cut(Case& c);
void scales_zero(Case& c);
void scales_rows(Case& c);
void line_scales(Case& c);
void reference(Case& c);
void probes(Case& c);
void specials(Case& c);
void epilogue(Case& c);
void error_bound(Case& c);
void bad_input(Case& c);
void group_neighbours(Case& c);
void group_order(Case& c);
void group_count(Case& c);
void group_padding(Case& c);
void group_ranks(Case& c);
void group_cuts(Case& c);
void group_empty(Case& c);
void log_prob_rows(Case& c);
void log_prob_shards(Case& c);
void log_prob_fused(Case& c);
void log_prob_reference(Case& c);

/// The rows of the covering design, and a few more.
std::int64_t combination_cases(const Contract& contract, Level level);
/// Those of many outputs, and the turning points.
std::int64_t large_cases(const Contract& contract, Level level);
/// The values of K that `k_tails` tests, one per case.
std::vector<std::int64_t> tail_lengths(const Contract& contract, Level level);
/// Changes the request's spec by `change` where the engine computes the changed one, and returns
/// whether it does: what an engine lacks is left out by itself.
template <class Change>
bool change_if_supported(Case& c, Request& request, Change&& change) {
  GemmSpec changed = sized(request);
  change(changed);
  if (!c.engine().supports(changed)) return false;
  change(request.spec);
  return true;
}
/// A part of `specials`: how sums become numbers of a narrow output.
void last_store(Case& c, DType output);

}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "detgemm/detgemm_grouped.h"
#include "python/torch_ops/views.hpp"

namespace detgemm::torch_ops {

/// A contract that was parsed once. It lives as long as the process, so its address names it.
struct ParsedContract {
  std::string text;
  detgemm_contract_t contract{};
};
/// Refuses a text that is no contract, in the words of its grammar.
const ParsedContract& parsed(std::string_view text);

/// Text for the C interface, which ends at the first NUL: text that has one is refused.
const char* whole(const char* name, const std::string& text);

/// Text that lives as long as the process; equal texts have equal addresses.
const std::string& interned(std::string_view text);

/// Everything that a plan is made from. M, pointers and strides are not in it, so they cannot
/// change which plan serves a call.
struct PlanKey {
  const ParsedContract* contract = nullptr;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Place place;
  float alpha = 1;
  float beta = 0;
  detgemm_activation_t activation = DETGEMM_ACTIVATION_NONE;
  detgemm_dtype_t bias = DETGEMM_NONE;
  detgemm_stable_t stable = DETGEMM_STABLE_NONE;
  bool continue_from_c = false;
  bool a_snapped = false;  ///< promises, as in detgemm_gemm_spec_t
  bool b_snapped = false;
  bool line_scales = false;
  const std::string* backend =
      nullptr;  ///< interned; empty for the first that computes the problem
  const std::string* variant = nullptr;  ///< interned; empty for the backend's own choice

  bool operator==(const PlanKey&) const = default;
};

using Plan = std::shared_ptr<detgemm_plan_t>;

/// The same for many products in one call. Offsets are not in it either.
struct GroupedKey {
  PlanKey one;  ///< of one product; its k is 0 for k_grouped
  detgemm_group_kind_t kind = DETGEMM_BATCHED;
  std::int64_t groups = 1;
  bool operator==(const GroupedKey&) const = default;
};
using GroupedPlan = std::shared_ptr<detgemm_grouped_plan_t>;

/// The plan of a key: the cached one, or a new one. A cache for each kind of plan keeps the 4096
/// that were used last and parks those that it drops, because work on a device, or a captured
/// graph, may still use them. The device of `key.place` must be current.
Plan plan_of(const PlanKey& key);
GroupedPlan plan_of(const GroupedKey& key);

struct PlanCounts {
  std::int64_t hits = 0;
  std::int64_t made = 0;
  std::int64_t cached = 0;
  std::int64_t parked = 0;
};
PlanCounts plan_counts();

/// Forgets all plans and destroys the parked ones. No graph that was captured may be replayed after
/// it, and no work may be under way.
void clear_plans();

}  // namespace detgemm::torch_ops

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>

#include "detgemm/plan.hpp"

namespace detgemm::dropin {

/// What a plan depends on: everything but M, and the device that it belongs to.
struct PlanKey {
  GemmSpec spec;
  int device = 0;
};

/// A plan, or why there is none; either is worth remembering.
struct PlanEntry {
  std::optional<Plan> plan;
  Status refusal;
  std::string contract;  ///< its text
};

/// The entry of a key, made at its first use. It stays valid for the calling thread until its next
/// call of this function.
const PlanEntry* plan_of(const Backend& backend, const PlanKey& key);

}  // namespace detgemm::dropin

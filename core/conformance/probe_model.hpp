// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "detgemm/contract.hpp"

namespace detgemm::conformance {

/// A product of the probes: one of a pair of huge ones, +-X, or a small count of a tiny unit.
/// X is so large that any sum of units added to it is lost without a trace, under every
/// arithmetic, and sums of units alone are exact: what is left after +X and -X have met shows
/// which units were added before that, and so the order of the reduction.
struct ProbeProduct {
  int huge = 0;
  std::int64_t units = 0;
};

/// What the contract makes of the products, written from its prose and not from the library's
/// code: steps of k_block in order, leaves, and the fold or tree over leaf indices. +X and -X
/// must lie in different steps. `huge` of the result is 0 where both have met.
ProbeProduct predict(const Contract& contract, const std::vector<ProbeProduct>& products);

/// How the products are made of elements: X = 2^huge * 2^huge, unit = 2^tiny * 2^tiny.
struct ProbeScale {
  int huge;
  int tiny;
};
/// With no more units than this the statement above holds.
inline constexpr std::int64_t kMaxUnits = 500;
ProbeScale probe_scale(DType input);

}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/conformance/case.hpp"

namespace detgemm::conformance {

/// A promise, and how to look for a case that breaks it.
struct Property {
  std::string_view name;
  std::string_view claim;  ///< one sentence
  /// How many cases it takes; case i is a function of (seed, property, contract, level, i).
  std::int64_t (*cases)(const Contract&, Level);
  void (*run)(Case&);
  /// Whether a pass counts only where another order of the products changes a bit.
  bool needs_order = true;
};

/// Every property, in the order of the report.
std::span<const Property> properties();

}  // namespace detgemm::conformance

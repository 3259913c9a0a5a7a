// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "detgemm/backend.hpp"

namespace detgemm::grouped_tests {

/// What must be true of every backend that computes groups. `holds` throws Failure if it is not.
struct Property {
  const char* name;
  const char* claim;
  void (*holds)(const Backend& backend);
};

std::span<const Property> properties();

/// The reference with one mistake in its plans for groups, and the property that must notice.
struct Fault {
  const char* name;
  const char* caught_by;
  const Backend* backend;
};

std::span<const Fault> faults();

}  // namespace detgemm::grouped_tests

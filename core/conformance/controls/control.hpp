// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string_view>

#include "detgemm/backend.hpp"

namespace detgemm::controls {

/// An engine with one planted fault, and the property of the conformance harness that is there
/// to find it. A harness that passes one of these is broken.
struct Control {
  std::string_view name;
  std::string_view fault;     ///< what it does wrong, one sentence
  std::string_view property;  ///< the property meant to find it
  std::string_view contract;  ///< a contract under which the fault can show
  const Backend* engine;
  bool full = false;  ///< the fault shows only in the problems of --full
};

/// Every control, in the order of the properties that find them.
std::span<const Control> controls();

/// The same code without a fault: the skeleton backend, which must pass everything.
const Backend& honest();

}  // namespace detgemm::controls

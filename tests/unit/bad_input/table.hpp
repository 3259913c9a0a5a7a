// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "tests/support/calls.hpp"

namespace detgemm {

/// One way to spoil a Problem, and the refusal it must meet. `sentence` is a regular expression
/// that the message contains: the argument's name, its value and the rule.
struct BadInput {
  const char* name;
  Call call;
  Errc code;
  const char* sentence;
  void (*spoil)(Problem&);
  bool needs_workspace = false;  ///< only where the backend asks for one
};

std::span<const BadInput> bad_views();
std::span<const BadInput> bad_overlaps();
std::span<const BadInput> bad_workspaces();
std::span<const BadInput> bad_specs();
std::span<const BadInput> bad_combines();
std::span<const BadInput> bad_one_calls();

/// Odd, and accepted: the rules must not refuse these.
struct OddInput {
  const char* name;
  Call call;
  void (*change)(Problem&);
};
std::span<const OddInput> odd_inputs();

}  // namespace detgemm

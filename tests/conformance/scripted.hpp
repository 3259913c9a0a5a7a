// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/conformance/controls/faulty_backend.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/grouped.hpp"

// An engine that computes what the contract says and errs in one call, on demand, so that tests see
// what the harness makes of it.

namespace detgemm::conformance {

/// What happens in the call in question.
enum class Act {
  none,
  first_bit,  ///< the last bit of D's first element is the other one
  last_bit,   ///< that of D's last element
  fails,      ///< the call returns an error
  refuses,    ///< the call returns that it is not supported
  nameless,   ///< the kernel's name is not recorded
  renamed,    ///< it is not the name that the plan said
  writes_a,   ///< a byte of this operand is the other one afterwards, where there is one
  writes_b,
  writes_c,
  writes_bias,
  writes_scale_a,
  writes_scale_b,
  writes_root,
  writes_behind_workspace,
};

/// What an engine does not compute: asked of each problem or call, the sentence of the refusal, or
/// null.
struct Lacks {
  const char* (*problem)(const GemmSpec&) = nullptr;
  const char* (*options)(const PlanOptions&) = nullptr;
  const char* (*layout)(const Operands&) = nullptr;
  const char* (*groups)(const GroupedSpec&) = nullptr;
  bool combines = true;
  bool snaps = true;
};

struct Script {
  Act act = Act::none;
  /// The number of the call, from 0: runs, combines and snaps count alike. -1: every call on a
  /// thread other than the one that made the script; -2: those after such a thread's first one; -3:
  /// every call.
  std::int64_t at = 0;
  /// The number of the call that ends the process with exit code 7; -1: none.
  std::int64_t exits_at = -1;
  std::chrono::milliseconds nap{0};  ///< that each call takes
  Lacks lacks;
  /// Outputs are no products, but a number of each row plus one of each column: as good for engines
  /// that must agree with themselves, and quick where outputs are many.
  bool counts = false;
  /// So many different outputs, row by row, whatever the operands are; 0: products.
  /// Negative: memory runs out.
  std::int64_t numbers = 0;
  Device* device = nullptr;  ///< the host's if null
};

/// One script at a time; its engine serves the whole program.
const Backend& play(const Script& script);
/// Calls since then.
std::int64_t calls_played();
/// A digest of all that the engine was handed since then, in whatever order; where it counts, of
/// the corners of arrays alone.
std::uint64_t seen_in_play();
/// The engine as it is without a script, with a memory of what it computed: an oracle.
const Backend& prompter();
/// Computes what the script's engine does, for an engine of the caller's.
void compute_in_play(const controls::Run& run);

}  // namespace detgemm::conformance

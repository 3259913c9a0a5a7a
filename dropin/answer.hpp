// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "dropin/product.hpp"
#include "dropin/state.hpp"
#include "dropin/vendor.hpp"

namespace detgemm::dropin {

/// The five answers of a vendor's functions that a stand-in gives itself.
struct StatusCodes {
  int success, not_initialized, invalid_value, execution_failed, not_supported;
};

/// What is known of a call that was not taken, for its row of the table.
struct Known {
  const char* function = "";
  const char* direction = "";
  std::int64_t m = -1, n = -1, k = -1;
  std::int64_t batch = 1;
};

/// Counts a call that was not taken, and says on stderr what must not stay silent, once per row.
void note(const Known& call, Fate fate, std::string_view why) noexcept;

/// The status of a call that was not computed under a contract: an answer of our own, or the
/// vendor's, which `pass` fetches.
template <class Pass>
int answer(const Known& call, const Outcome& outcome, const StatusCodes& codes,
           const Pass& pass) noexcept {
  switch (outcome.fate) {
    case Fate::taken:
      return codes.success;
    case Fate::invalid:
      note(call, Fate::invalid, outcome.why);
      return codes.invalid_value;
    case Fate::failed:
      note(call, Fate::failed, outcome.why);
      return codes.execution_failed;
    case Fate::passed:
    case Fate::refused:
      break;
  }
  if (policy().refuse_others) {
    note(call, Fate::refused, outcome.why);
    return codes.not_supported;
  }
  note(call, Fate::passed, outcome.why);
  const InsideVendor inside;
  return pass();
}

}  // namespace detgemm::dropin

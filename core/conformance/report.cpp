// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/report.hpp"

#include <algorithm>
#include <array>

namespace detgemm::conformance {

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 6> names{"passed",     "unsupported", "skipped",
                                                  "mistrusted", "untested",    "failed"};
  return names[static_cast<std::size_t>(verdict)];
}

std::int64_t Report::count(Verdict verdict) const {
  return std::count_if(cells.begin(), cells.end(),
                       [&](const Cell& cell) { return cell.verdict == verdict; });
}

bool Report::ran() const {
  return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) {
    return cell.verdict == Verdict::passed || counts_as_failure(cell.verdict);
  });
}

bool Report::passed() const {
  return ran() && std::none_of(cells.begin(), cells.end(),
                               [](const Cell& cell) { return counts_as_failure(cell.verdict); });
}

}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/common/workspace.hpp"

#include <algorithm>
#include <string>

#include "detgemm/plan.hpp"

namespace detgemm::cluster {

Status check_max_m(std::int64_t max_m, std::int64_t widest) {
  if (max_m < 0) {
    return invalid("max_m is " + std::to_string(max_m) + ": it must not be negative");
  }
  // 2^62 bytes, for roots of 4 bytes and the most nodes that are joined.
  constexpr auto kNodes = static_cast<std::int64_t>(kMaxNodeRoots);
  const std::int64_t most = (std::int64_t{1} << 60) / kNodes / std::max<std::int64_t>(1, widest);
  if (max_m <= most) return {};
  return invalid("max_m is " + std::to_string(max_m) + ": for rows of " + std::to_string(widest) +
                 " elements it must be at most " + std::to_string(most));
}

std::string describe_received(std::int64_t m, std::int64_t widest,
                              const std::function<std::size_t(std::int64_t m)>& bytes) {
  m = std::max<std::int64_t>(m, 0);
  const Status counted = check_max_m(m, widest);
  if (!counted) return "receives   not counted: " + counted.message() + "\n";
  return "receives   " + std::to_string(bytes(m)) + " bytes for m = " + std::to_string(m) + "\n";
}

Status check_workspace(const Workspace& workspace, std::size_t needed) {
  if (workspace.bytes < needed) {
    return invalid("workspace.bytes is " + std::to_string(workspace.bytes) +
                   ": this m needs at least " + std::to_string(needed));
  }
  if (needed == 0) return {};
  if (workspace.data == nullptr) {
    return invalid("workspace.data is null: this m needs " + std::to_string(needed) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(workspace.data) % kWorkspaceAlignment == 0) return {};
  return invalid("workspace.data is 0x" + hex(reinterpret_cast<std::uintptr_t>(workspace.data)) +
                 ": it must be a multiple of " + std::to_string(kWorkspaceAlignment));
}

}  // namespace detgemm::cluster

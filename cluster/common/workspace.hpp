// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm::cluster {

/// ok, or why no workspace is computed for so many rows, the widest of which has so many elements:
/// a number of bytes that does not fit into 64 bits would be a small one.
Status check_max_m(std::int64_t max_m, std::int64_t widest);
/// The line "receives" of a plan's description; `bytes` is called where they can be counted.
std::string describe_received(std::int64_t m, std::int64_t widest,
                              const std::function<std::size_t(std::int64_t m)>& bytes);

/// `bytes` rounded up so that what follows is aligned as a workspace is.
inline std::size_t padded(std::size_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// ok, or why a workspace is not fit for a call that needs so many bytes.
Status check_workspace(const Workspace& workspace, std::size_t needed);

/// Takes `bytes` off the front of a workspace that is known to be large enough. What is empty is
/// null: an address past the last byte may be none of the device's, which refuses it.
inline Workspace take(Workspace& from, std::size_t bytes) {
  Workspace front{from.data, padded(bytes)};
  from.data = static_cast<std::byte*>(from.data) + front.bytes;
  from.bytes -= front.bytes;
  if (front.bytes == 0) front.data = nullptr;
  if (from.bytes == 0) from.data = nullptr;
  return front;
}

}  // namespace detgemm::cluster

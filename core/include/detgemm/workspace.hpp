// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>

#include "detgemm/device.hpp"
#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// A workspace in host memory, aligned to kWorkspaceAlignment bytes and released with this object.
/// It converts to the Workspace that `Plan::run` takes:
///
///   auto bytes   = plan.workspace_bytes(max_m);
///   auto scratch = HostWorkspace::allocate(*bytes);
///   plan.run({}, a, b, d, *scratch);
///
/// One per run at a time: runs that overlap need a workspace each. Device memory is the caller's to
/// allocate, with cudaMalloc or hipMalloc for example, since this library never allocates any.
class HostWorkspace {
 public:
  /// No memory: enough for a plan that needs 0 bytes.
  HostWorkspace() = default;
  /// So many bytes, which may be 0. Refuses more than there are (internal).
  static Result<HostWorkspace> allocate(std::size_t bytes) {
    auto memory = host_device().allocate(bytes);
    if (!memory) return memory.status();
    return HostWorkspace(*memory, bytes);
  }

  /// The memory, which stays this object's.
  Workspace get() const noexcept { return {memory_.get(), memory_ == nullptr ? 0 : bytes_}; }
  /// The same, for a run.
  operator Workspace() const noexcept { return get(); }  // NOLINT: that is what it is for

 private:
  struct Release {
    void operator()(void* memory) const noexcept { host_device().release(memory); }
  };
  HostWorkspace(void* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  std::unique_ptr<void, Release> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace detgemm

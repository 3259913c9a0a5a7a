// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "dropin/device_access.hpp"

namespace detgemm::dropin {

/// The workspace of a call: what the caller has, if that is enough to be fastest, else memory in
/// the order of the stream, else what the caller has if it is enough at all.
class Scratch {
 public:
  Scratch(const DeviceAccess& access, Stream stream) : access_(access), stream_(stream) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// Gives back what it allocated, behind all work that is on the stream by then.
  ~Scratch() {
    if (owned_ != nullptr) access_.release(owned_, stream_);
  }

  /// `needed` bytes suffice, with `wanted` the run is fastest. Why there are not even those.
  Status find(const Workspace& given, std::size_t needed, std::size_t wanted, Workspace& out) {
    const auto at = reinterpret_cast<std::uintptr_t>(given.data);
    const std::size_t off = (kWorkspaceAlignment - at % kWorkspaceAlignment) % kWorkspaceAlignment;
    Workspace aligned{};
    if (given.data != nullptr && given.bytes > off) {
      aligned = {static_cast<char*>(given.data) + off, given.bytes - off};
    }
    out = aligned;
    if (wanted == 0) return out = {}, Status{};
    if (aligned.bytes >= wanted) return {};
    auto memory = access_.allocate(wanted, stream_);
    if (memory) {
      owned_ = *memory;
      out = {owned_, wanted};
      return {};
    }
    return aligned.bytes >= needed ? Status{} : memory.status();
  }

 private:
  const DeviceAccess& access_;
  Stream stream_;
  void* owned_ = nullptr;
};

}  // namespace detgemm::dropin

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm::dropin {

/// Memory in the order of a stream, and a few bytes of a device's memory: what a stand-in needs of
/// a device beyond a backend. Found in the driver while the program runs, so that nothing of the
/// vendor's is needed to build. On the host all of it is plain memory.
class DeviceAccess {
 public:
  virtual ~DeviceAccess() = default;

  /// The ordinal of the calling thread's device; 0 on the host, and where nobody knows.
  virtual int current_device() const = 0;
  /// Memory that work enqueued on the stream from here on may use; callable while it is captured.
  virtual Result<void*> allocate(std::size_t bytes, Stream stream) const = 0;
  /// Gives it back once all work that is on the stream now has finished.
  virtual void release(void* memory, Stream stream) const = 0;
  /// Waits for the stream and copies bytes of device memory to the host. `unsupported` while the
  /// stream is captured, since a capture cannot be waited for.
  virtual Status read(void* to, const void* from, std::size_t bytes, Stream stream) const = 0;
};

/// The access to one kind of device. It lives as long as the process.
const DeviceAccess& device_access(DeviceKind kind);

/// What device_access.cpp gives for the two vendors: the names of the same seven functions.
const DeviceAccess& cuda_access();
const DeviceAccess& hip_access();

}  // namespace detgemm::dropin

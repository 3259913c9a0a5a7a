// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "detgemm/cluster.hpp"

// What transports that move host memory share: how they reach the memory of a stream's device.

namespace detgemm::cluster {

/// The device whose memory a stream of this kind works on, or `unavailable`.
inline Result<Device*> device_of(DeviceKind kind) {
  if (kind == DeviceKind::host) return &host_device();
  for (const Backend* backend : backends()) {
    if (backend->device().kind() == kind) return &backend->device();
  }
  return Status{Errc::unavailable, "stream.kind is " + std::string(name(kind)) +
                                       ": no backend of this library has such memory"};
}

/// Waits for the stream and copies what is to be sent to the host. `copies` keeps the bytes at
/// which `sends` then points.
inline Status copy_to_host(Device& device, Stream stream, std::vector<Send>& sends,
                           std::vector<std::vector<std::byte>>& copies) {
  if (Status s = device.synchronize(stream); !s) return s;
  for (Send& send : sends) {
    auto& bytes = copies.emplace_back(send.bytes);
    if (Status s = device.to_host(bytes.data(), send.data, send.bytes); !s) return s;
    send.data = bytes.data();
  }
  return {};
}

}  // namespace detgemm::cluster

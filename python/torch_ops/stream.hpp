// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/detgemm.h"
#include "python/torch_ops/views.hpp"

namespace detgemm::torch_ops {

/// PyTorch's current stream of a device, and that device as the current one for as long as this
/// lives.
class CurrentStream {
 public:
  explicit CurrentStream(const Place& place);
  ~CurrentStream();
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

  const detgemm_stream_t& stream() const { return stream_; }

 private:
  detgemm_stream_t stream_{};
  DeviceGuardHandle guard_ = nullptr;
};

}  // namespace detgemm::torch_ops

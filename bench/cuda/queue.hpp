// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "bench/common/sampling.hpp"

namespace detgemm::bench {

/// A CUDA stream: graphs are captured once, time is between events on the device.
class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(cudaStream_t stream) : stream_(stream) {}
  Stream stream() const override { return {DeviceKind::cuda, stream_}; }
  std::unique_ptr<Replay> record(const Arm& arm, int calls) override;
  void launch(const Replay& replay) override;
  MarkPtr mark() override;
  bool passed(const Mark& mark) override;
  double us_between(const Mark& begin, const Mark& end) override;
  void wait() override;
  /// Otherwise the first event passes before the graph has arrived, and the host's latency is
  /// measured.
  void occupy(double us) override;
  void rest(double ms) override;

 private:
  cudaStream_t stream_;
};

}  // namespace detgemm::bench

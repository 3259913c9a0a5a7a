// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "bench/common/sampling.hpp"
#include "bench/cuda/clock.hpp"

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
  MarkPtr read_clocks() override { return clocks_.read(stream_); }
  double mhz_between(const Mark& begin, const Mark& end) override {
    return clocks_.mhz_between(stream_, begin, end);
  }

 private:
  cudaStream_t stream_;
  SmClocks clocks_{};
};

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/common/sampling.hpp"
#include "bench/hip/runtime.hpp"

namespace detgemm::bench::hip {

/// A HIP stream, with graphs and events. The device is kept busy by a fill of memory, for want of a
/// kernel that waits. Without that memory it is not: a launch of the emulated device returns when
/// it is done.
class HipQueue final : public Queue {
 public:
  HipQueue(const Runtime& api, Stream stream, void* scratch, std::size_t scratch_bytes)
      : api_(api), stream_(stream), scratch_(scratch), scratch_bytes_(scratch_bytes) {}
  Stream stream() const override { return stream_; }
  std::unique_ptr<Replay> record(const Arm& arm, int calls) override;
  void launch(const Replay& replay) override;
  MarkPtr mark() override;
  bool passed(const Mark& mark) override;
  double us_between(const Mark& begin, const Mark& end) override;
  void wait() override;
  void occupy(double us) override;
  void rest(double ms) override;

 private:
  const Runtime& api_;
  Stream stream_;
  void* scratch_;
  std::size_t scratch_bytes_;
};

}  // namespace detgemm::bench::hip

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/common/sampling.hpp"

namespace detgemm::bench {

/// The host as a queue: every call has ended when it returns, and the clock is the wall's.
class HostQueue final : public Queue {
 public:
  Stream stream() const override { return {}; }
  std::unique_ptr<Replay> record(const Arm& arm, int calls) override;
  void launch(const Replay& replay) override;
  MarkPtr mark() override;
  bool passed(const Mark&) override { return false; }  // nothing to be ahead of
  double us_between(const Mark& begin, const Mark& end) override;
  void wait() override {}
  void occupy(double) override {}
  void rest(double ms) override;
};

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "backends/skeleton/skeleton.hpp"
#include "bench/host/memory.hpp"
#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// A device whose clock is a number: a call takes what `cost` says, rest and lead take what they
/// are asked for, and nothing waits. The order of launches is kept.
class FakeQueue final : public Queue {
 public:
  /// Microseconds of the launch number `launch` of an arm's replay, a call.
  std::function<double(const std::string& arm, int launch)> cost = [](const std::string&, int) {
    return 10.0;
  };
  std::vector<std::string> launched;
  /// Marks that count as passed at once: a host too slow for its lead.
  int late = 0;
  double lead_us = 0;
  double mhz = 0;  ///< of the processors; 0: they have no clock that can be read

  Stream stream() const override { return {}; }
  std::unique_ptr<Replay> record(const Arm& arm, int calls) override {
    return std::make_unique<Calls>(arm, calls);
  }
  void launch(const Replay& replay) override {
    const auto& calls = static_cast<const Calls&>(replay);
    launched.push_back(calls.arm.name);
    check(calls.arm.enqueue(stream(), 0), calls.arm.name);
    clock_ += calls.calls() * cost(calls.arm.name, counts_[calls.arm.name]++);
  }
  MarkPtr mark() override {
    auto instant = std::make_unique<Instant>();
    instant->at = clock_;
    return instant;
  }
  MarkPtr read_clocks() override { return mhz > 0 ? mark() : nullptr; }
  double mhz_between(const Mark&, const Mark&) override { return mhz; }
  bool passed(const Mark&) override { return late > 0 && late-- > 0; }
  double us_between(const Mark& begin, const Mark& end) override {
    const double us = static_cast<const Instant&>(end).at - static_cast<const Instant&>(begin).at;
    return us > 0 ? us : 1.0;  // what runs outside a replay has no cost of its own here
  }
  void wait() override {}
  void occupy(double us) override { lead_us = us; }
  void rest(double ms) override { clock_ += 1e3 * ms; }

 private:
  struct Instant final : Mark {
    double at = 0;
  };
  struct Calls final : Replay {
    Calls(const Arm& recorded, int calls) : Replay(calls), arm(recorded) {}
    Arm arm;
  };
  double clock_ = 0;
  std::map<std::string, int> counts_;
};

class FakeBenchDevice final : public BenchDevice {
 public:
  FakeQueue fake;
  std::vector<Baseline> others;
  /// What the device's own check of bits says; nothing where it has none.
  std::function<std::optional<BitsCheck>(const Buffers::Call&, const Gemm&)> own_check;

  /// What runs before a call where a case asks for a small kernel; nothing where it has none.
  std::function<void(Before)> small_kernel;

  std::string name() const override { return "cpu"; }
  const Backend& backend() const override { return skeleton_backend(); }
  Queue& queue() override { return fake; }
  Memory& memory() override { return memory_; }
  PoolBytes pools() const override { return {1 << 20, 1 << 20}; }
  std::vector<std::pair<std::string, std::string>> facts() override { return {{"device", "fake"}}; }
  std::vector<std::string> baseline_names() const override { return {"vendor"}; }
  std::vector<Baseline> baselines() override { return others; }
  Protocol protocol(const Case&, bool) const override { return {9, 1, 100, 2, 0.01, 1}; }
  double guess_us(const Case&, const ContractArm&) const override { return 10; }
  Ceilings measure_ceilings(bool) override { return {}; }
  Arm after_small_kernel(Arm arm, const Problem& p, const Buffers& buffers) override {
    if (!small_kernel) return BenchDevice::after_small_kernel(std::move(arm), p, buffers);
    arm.enqueue = [this, p, product = std::move(arm.enqueue)](Stream stream, int call) {
      small_kernel(p.before);
      return product(stream, call);
    };
    return arm;
  }
  std::optional<BitsCheck> check_bits(const Problem& p, const Contract&, const Buffers& buffers,
                                      int call) override {
    return own_check ? own_check(buffers.at(p, call), gemm_of(p)) : std::nullopt;
  }

 private:
  HostMemory memory_;
};

/// A baseline that fills row 0 with a number; `of_row(m)` says which for a batch of m.
inline Baseline fake_baseline(const std::string& name,
                              std::function<unsigned char(std::int64_t m)> of_row) {
  Baseline baseline;
  baseline.name = name;
  baseline.present = true;
  baseline.make = [name, of_row](const BaselineRequest& request) {
    const Problem p = request.problem;
    Arm arm;
    arm.name = name;
    arm.enqueue = [p, of_row, &buffers = request.buffers](Stream, int call) -> Status {
      const Gemm g = gemm_of(p);
      auto* d = static_cast<unsigned char*>(buffers.at(p, call).d);
      std::fill(d, d + g.d_size * g.n, of_row(p.tokens));
      return {};
    };
    return arm;
  };
  return baseline;
}

inline Case small_case() {
  Case c;
  c.id = "fake/small/forward/m5/bf16";
  c.suites = {"fake"};
  c.model = "fake";
  c.layer = "small";
  c.problem.tokens = 5;
  c.problem.n = 7;
  c.problem.k = 33;
  c.contract_arms = {{"chain", *Contract::parse("hopper/bf16/chain->bf16")}};
  return c;
}

}  // namespace detgemm::bench

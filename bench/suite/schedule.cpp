// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Which arms a case has, how they are sampled and how long that takes.

#include <algorithm>
#include <cmath>

#include "bench/suite/experiment.hpp"

namespace detgemm::bench {
namespace {

/// With more forced kernels than this, each is sampled less.
constexpr auto kFewForced = 8;

}  // namespace

bool is_timed(const Case& c, const Baseline& baseline) {
  if (baseline.searches && !c.best) return false;
  if (baseline.takes && !baseline.takes(c.problem)) return false;
  return c.baselines.empty() || baseline.role == Role::ceiling ||
         std::find(c.baselines.begin(), c.baselines.end(), baseline.name) != c.baselines.end();
}

std::vector<std::string> arms_of(const Case& c, const std::vector<Baseline>& baselines,
                                 const Settings& settings) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (settings.wanted(c.id + "/" + name)) names.push_back(name);
  };
  for (const ContractArm& arm : c.contract_arms) add(arm.name);
  for (const Baseline& baseline : baselines) {
    if (baseline.present && is_timed(c, baseline)) add(baseline.name);
  }
  return names;
}

Protocol protocol_of(const BenchDevice& device, const Case& c, const Settings& settings) {
  Protocol p = device.protocol(c, settings.quick);
  if (c.repetitions > 0) p.repetitions = std::min(p.repetitions, c.repetitions);
  if (c.idle_ms >= 0) p.idle_ms = c.idle_ms;
  const auto forced = std::count_if(c.contract_arms.begin(), c.contract_arms.end(),
                                    [](const ContractArm& arm) { return !arm.variant.empty(); });
  if (forced > kFewForced) {
    p.repetitions = std::min(p.repetitions, 5);
    p.idle_ms = std::min(p.idle_ms, 2.0);
    p.block_ms = std::min(p.block_ms, 30.0);
  }
  if (settings.repetitions > 0) p.repetitions = settings.repetitions;
  p.repetitions = std::max(std::min(3, p.repetitions),
                           static_cast<int>(std::lround(p.repetitions * settings.shrink)));
  return p;
}

double estimate_s(const BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                  const Settings& settings) {
  const Protocol p = protocol_of(device, c, settings);
  double seconds = 0;
  double own_us = 0;
  for (const std::string& name : arms_of(c, baselines, settings)) {
    // A baseline is taken for as fast as the fastest arm of detgemm.
    double us = own_us;
    for (const ContractArm& arm : c.contract_arms) {
      if (arm.name == name) us = device.guess_us(c, arm);
    }
    own_us = own_us > 0 ? std::min(own_us, us) : us;
    const double calls = std::clamp(p.sample_us / us, 1.0 * p.least_calls, 1.0 * kMaxCalls);
    const double once = calls * us * 1e-6;
    if (c.mode == Mode::settled) {
      seconds += p.repetitions * std::max(p.block_ms * 1e-3, 2 * once);
    } else {
      seconds += p.repetitions * (p.idle_ms * 1e-3 + once) + 3 * once;
    }
    seconds += 0.02 + 8 * us * 1e-6;
  }
  return seconds + p.soak_s;
}

}  // namespace detgemm::bench

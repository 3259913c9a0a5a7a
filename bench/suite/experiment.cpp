// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/suite/batch.hpp"

namespace detgemm::bench {
namespace {

constexpr int kMostCalls = 256;
constexpr int kWarmUps = 8;

/// An arm that has run once; arms that cannot are left out with a note.
struct Ready {
  Arm arm;
  const ContractArm* contract = nullptr;
  std::function<Arm(const Problem&)> make;  ///< the same arm for another batch
  std::size_t workspace_bytes = 0;
  double rough_us = 0;
  std::unique_ptr<Replay> replay{};
};

class Experiment {
 public:
  Experiment(BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines, const Buffers& buffers,
             const Settings& settings)
      : device_(device), case_(c), baselines_(baselines), buffers_(buffers), settings_(settings) {
    result_.what = c;
  }

  CaseResult run(const Ceilings& ceilings) {
    make_arms();
    if (ready_.empty()) return std::move(result_);
    Protocol p = device_.protocol(case_, settings_.quick);
    p.repetitions = repetitions_of(device_, case_, settings_);
    record(p);
    ask_for_batch_property();
    Replays replays;
    for (const Ready& r : ready_) replays.push_back(r.replay.get());
    const bool long_case = ready_.front().rough_us > 1e5;
    result_.settled =
        case_.mode == Mode::settled || long_case || warm_up(device_.queue(), replays, kWarmUps);
    device_.watch();
    Samples samples;
    if (case_.mode == Mode::settled) {
      std::vector<double> us;
      for (const Ready& r : ready_) us.push_back(r.rough_us);
      samples = sample_settled(device_.queue(), replays, us, p.repetitions, p.soak_s, p.block_ms);
    } else {
      samples = sample_in_turn(device_.queue(), replays, p.repetitions, p.idle_ms);
    }
    result_.conditions = device_.watched();
    store(std::move(samples));
    set_limit(ceilings);
    compare();
    return std::move(result_);
  }

 private:
  bool wanted(const std::string& arm) const { return settings_.wanted(case_.id + "/" + arm); }

  void make_arms() {
    for (const ContractArm& spec : case_.contract_arms) {
      if (!wanted(spec.name)) continue;
      std::size_t bytes = 0;
      add(spec.name, &spec, [&](const Problem& problem) {
        return detgemm_arm(device_, spec, problem, case_.threads, buffers_, &bytes);
      });
      if (!ready_.empty() && ready_.back().contract == &spec) {
        ready_.back().workspace_bytes = bytes;
        // The first one's address is gone when this function is.
        ready_.back().make = [this, &spec](const Problem& problem) {
          return detgemm_arm(device_, spec, problem, case_.threads, buffers_);
        };
      }
    }
    for (const Baseline& baseline : baselines_) {
      if (!baseline.present || !wanted(baseline.name) || (baseline.searches && !case_.best)) continue;
      add(baseline.name, nullptr, [this, &baseline](const Problem& problem) {
        return baseline.make({problem, buffers_, case_.threads});
      });
    }
  }

  void add(const std::string& name, const ContractArm* spec,
           const std::function<Arm(const Problem&)>& make) {
    Ready r;
    r.contract = spec;
    r.make = make;
    try {
      r.arm = make(case_.problem);
      r.arm.name = name;
      // Outside a capture first: libraries load their kernels lazily.
      check(r.arm.enqueue(device_.queue().stream(), 0), "enqueue");
      device_.queue().wait();
    } catch (const std::exception& error) {
      result_.notes.push_back(name + ": left out: " + error.what());
      return;
    }
    r.rough_us = std::max(1e-3, time_roughly(device_.queue(), r.arm));
    ready_.push_back(std::move(r));
  }

  void record(const Protocol& p) {
    double least = ready_.front().rough_us;
    for (const Ready& r : ready_) least = std::min(least, r.rough_us);
    for (Ready& r : ready_) {
      // The same number of calls for arms of about the same speed, so that what a graph costs to
      // start weighs alike.
      const double us = r.rough_us < 4 * least ? least : r.rough_us;
      const auto calls = static_cast<int>(std::min(1.0 * kMostCalls, std::ceil(p.sample_us / us)));
      r.replay = device_.queue().record(r.arm, std::clamp(calls, p.least_calls, kMostCalls));
    }
  }

  void ask_for_batch_property() {
    invariant_.resize(ready_.size());
    if (!settings_.bits) return;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      try {
        invariant_[i] = keeps_row(device_, case_, ready_[i].arm, ready_[i].make, buffers_);
      } catch (const std::exception& error) {
        result_.notes.push_back(ready_[i].arm.name + ": batch property not known: " + error.what());
      }
    }
  }

  void store(Samples samples) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const Ready& r = ready_[i];
      ArmResult arm;
      arm.name = r.arm.name;
      arm.is_ours = r.contract != nullptr;
      if (arm.is_ours) {
        arm.contract = r.contract->contract.text();
        arm.digest = hex(r.contract->contract.digest());
      }
      arm.detail = r.arm.detail;
      arm.calls = r.replay->calls();
      arm.us = summarise(samples[i]);
      arm.samples = std::move(samples[i]);
      arm.workspace_bytes = r.workspace_bytes;
      arm.batch_invariant = invariant_[i];
      result_.arms.push_back(std::move(arm));
    }
  }

  /// ieee_fma runs where fp32 runs, whatever its inputs; the rest where its inputs' type does.
  void set_limit(const Ceilings& ceilings) {
    const Gemm g = gemm_of(case_.problem);
    const auto limit = [&](const std::string& unit) -> std::pair<double, std::string> {
      const double peak = ceilings.flops_of(unit);
      const double math = peak > 0 ? g.flops() / peak * 1e6 : 0;
      const double rate = std::max(ceilings.read_bytes_per_s, ceilings.copy_bytes_per_s);
      const double memory = rate > 0 && !case_.problem.hot ? g.bytes() / rate * 1e6 : 0;
      return math > memory ? std::pair{math, std::string("arithmetic")}
                           : std::pair{memory, std::string("memory")};
    };
    const auto own = limit(std::string(detgemm::name(case_.problem.type)));
    result_.limit_us = own.first;
    if (own.first > 0) result_.limited_by = own.second;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const bool fma =
          ready_[i].contract != nullptr && ready_[i].contract->contract.arithmetic == Arithmetic::ieee_fma;
      const double us = fma ? limit("fp32").first : own.first;
      result_.arms[i].share_of_limit =
          result_.arms[i].us.median > 0 ? us / result_.arms[i].us.median : 0;
    }
  }

  void compare() {
    for (const ArmResult& mine : result_.arms) {
      if (!mine.is_ours) continue;
      for (const ArmResult& other : result_.arms) {
        if (other.is_ours) continue;
        result_.comparisons.push_back(
            {mine.name, other.name, compare_paired(mine.samples, other.samples)});
      }
    }
  }

  BenchDevice& device_;
  const Case& case_;
  const std::vector<Baseline>& baselines_;
  const Buffers& buffers_;
  const Settings& settings_;
  CaseResult result_;
  std::vector<Ready> ready_;
  std::vector<std::optional<bool>> invariant_;
};

}  // namespace

std::vector<std::string> arms_of(const Case& c, const std::vector<Baseline>& baselines,
                                 const Settings& settings) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (settings.wanted(c.id + "/" + name)) names.push_back(name);
  };
  for (const ContractArm& spec : c.contract_arms) add(spec.name);
  for (const Baseline& baseline : baselines) {
    if (baseline.present && (!baseline.searches || c.best)) add(baseline.name);
  }
  return names;
}

int repetitions_of(const BenchDevice& device, const Case& c, const Settings& settings) {
  const int own =
      settings.repetitions > 0 ? settings.repetitions : device.protocol(c, settings.quick).repetitions;
  return std::max(std::min(3, own), static_cast<int>(std::lround(own * settings.shrink)));
}

double estimate_s(const BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                  const Settings& settings) {
  const Protocol p = device.protocol(c, settings.quick);
  const int repetitions = repetitions_of(device, c, settings);
  double seconds = 0;
  double own_us = 0;
  for (const std::string& arm : arms_of(c, baselines, settings)) {
    // A baseline is taken for as fast as the fastest of detgemm.
    double us = own_us;
    for (const ContractArm& spec : c.contract_arms) {
      if (spec.name == arm) us = device.guess_us(c, spec);
    }
    own_us = own_us > 0 ? std::min(own_us, us) : us;
    const double calls = std::clamp(p.sample_us / us, 1.0 * p.least_calls, 1.0 * kMostCalls);
    const double once = calls * us * 1e-6;
    if (c.mode == Mode::settled) {
      seconds += repetitions * std::max(p.block_ms * 1e-3, 2 * once);
    } else {
      seconds += repetitions * (p.idle_ms * 1e-3 + once) + 3 * once;
    }
    seconds += 0.02 + 8 * us * 1e-6;
  }
  return seconds + p.soak_s;
}

CaseResult run_case(BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                    const Buffers& buffers, const Ceilings& ceilings, const Settings& settings) {
  return Experiment(device, c, baselines, buffers, settings).run(ceilings);
}

}  // namespace detgemm::bench

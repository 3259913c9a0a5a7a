// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "bench/suite/batch.hpp"
#include "bench/suite/bits.hpp"

namespace detgemm::bench {
namespace {

constexpr int kWarmUps = 8;

/// An arm that has run once; arms that cannot are left out with a note.
struct Ready {
  Arm arm;
  const ContractArm* contract = nullptr;
  std::function<Arm(const Problem&)> make;  ///< the same arm for another batch
  Role role = Role::detgemm;
  std::size_t workspace_bytes = 0;
  double rough_us = 0;
  std::unique_ptr<Replay> replay{};
};

class Experiment {
 public:
  Experiment(BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
             const Buffers& buffers, const Settings& settings)
      : device_(device), case_(c), baselines_(baselines), buffers_(buffers), settings_(settings) {
    result_.what = c;
  }

  CaseResult run(const Ceilings& ceilings) {
    make_arms();
    if (ready_.empty()) return std::move(result_);
    const Protocol p = protocol_of(device_, case_, settings_);
    record(p);
    ask_for_batch_property();
    check_bits();
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
      add(spec.name, &spec, Role::detgemm, [&](const Problem& problem) {
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
      if (!baseline.present || !is_timed(case_, baseline) || !wanted(baseline.name)) continue;
      add(baseline.name, nullptr, baseline.role, [this, &baseline](const Problem& problem) {
        return baseline.make({problem, buffers_, case_.threads});
      });
    }
    if (not_taken_ > 0) {
      result_.notes.push_back(std::to_string(not_taken_) +
                              " forced kernels do not take this problem");
    }
  }

  void add(const std::string& name, const ContractArm* contract, Role role,
           const std::function<Arm(const Problem&)>& make) {
    Ready r;
    r.contract = contract;
    r.role = role;
    r.make = make;
    try {
      r.arm = make(case_.problem);
      if (case_.problem.before != Before::nothing) {
        r.arm = device_.after_small_kernel(std::move(r.arm), case_.problem, buffers_);
      }
      r.arm.name = name;
      // Outside a capture first: libraries load their kernels lazily.
      const Status status = r.arm.enqueue(device_.queue().stream(), 0);
      if (contract != nullptr && !contract->variant.empty() && status.code() == Errc::unsupported) {
        ++not_taken_;
        return;
      }
      check(status, "enqueue");
      device_.queue().wait();
    } catch (const std::exception& error) {
      result_.notes.push_back(name + ": left out: " + error.what());
      result_.arm_failed = result_.arm_failed || (contract != nullptr && is_computed(*contract));
      return;
    }
    r.rough_us = std::max(1e-3, time_roughly(device_.queue(), r.arm));
    ready_.push_back(std::move(r));
  }

  /// Whether the backend says that it computes the arm's contract, so that the arm ought to run. A
  /// device that an earlier error has made unusable says nothing of the kind, and it ought to.
  bool is_computed(const ContractArm& arm) const {
    const GemmSpec spec = spec_of(case_.problem, arm.contract);
    Status status = validate(spec);
    if (status) status = device_.backend().supports(spec);
    return status.code() != Errc::unsupported;
  }

  void record(const Protocol& p) {
    double least = ready_.front().rough_us;
    for (const Ready& r : ready_) least = std::min(least, r.rough_us);
    for (Ready& r : ready_) {
      // The same number of calls for arms of about the same speed, so that what a graph costs to
      // start weighs alike.
      const double us = r.rough_us < 4 * least ? least : r.rough_us;
      const auto calls = static_cast<int>(std::min(1.0 * kMaxCalls, std::ceil(p.sample_us / us)));
      r.replay = device_.queue().record(r.arm, std::clamp(calls, p.least_calls, kMaxCalls));
    }
  }

  void ask_for_batch_property() {
    invariant_.resize(ready_.size());
    if (!settings_.batch_property) return;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      if (ready_[i].role == Role::ceiling) continue;
      try {
        invariant_[i] = keeps_row(device_, case_, ready_[i].arm, ready_[i].make, buffers_);
      } catch (const std::exception& error) {
        result_.notes.push_back(ready_[i].arm.name + ": batch property not known: " + error.what());
      }
    }
  }

  /// An arm of detgemm against an independent computation, or against an arm of the same contract
  /// that was checked so; a baseline against the first arm of detgemm that was.
  void check_bits() {
    bits_.resize(ready_.size());
    if (!settings_.check_bits || case_.problem.accumulate) return;
    std::map<std::string, std::vector<std::byte>> outputs;  // by contract
    const std::int64_t d_size = gemm_of(case_.problem).d_size;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const Ready& r = ready_[i];
      if (r.role == Role::ceiling || (r.arm.d_size != 0 && r.arm.d_size != d_size)) continue;
      try {
        run_over_poison(device_, r.arm, case_.problem, buffers_);
        auto d = read_output(device_, case_.problem, buffers_, d_size);
        if (r.role == Role::baseline) {
          if (first_checked_ == nullptr) continue;
          const auto& first = outputs.at(first_checked_->contract->contract.text());
          bits_[i] = compare_outputs(first_checked_->arm.name, d, first, d_size);
          continue;
        }
        const std::string contract = r.contract->contract.text();
        const auto known = outputs.find(contract);
        if (known == outputs.end()) {
          bits_[i] = check_contract(device_, case_.problem, r.contract->contract, buffers_);
          // Only what has been checked, and was right, is a measure for others.
          if (bits_[i]->different == 0) {
            outputs[contract] = std::move(d);
            if (first_checked_ == nullptr) first_checked_ = &r;
          }
        } else {
          bits_[i] = compare_outputs("the first arm of " + contract, d, known->second, d_size);
        }
        if (bits_[i]->different != 0) {
          result_.notes.push_back(r.arm.name + ": WRONG BITS");
          result_.wrong_bits = true;
        }
      } catch (const std::exception& error) {
        result_.notes.push_back(r.arm.name + ": bits not checked: " + error.what());
      }
    }
  }

  void store(Samples samples) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const Ready& r = ready_[i];
      ArmResult arm;
      arm.name = r.arm.name;
      arm.role = r.role;
      if (r.contract != nullptr) {
        arm.contract = r.contract->contract.text();
        arm.digest = hex(r.contract->contract.digest());
        arm.stable = detgemm::name(r.contract->stable);
        arm.variant = r.contract->variant;
      }
      arm.detail = r.arm.detail;
      arm.calls = r.replay->calls();
      arm.us = summarise(samples[i].us);
      arm.samples = std::move(samples[i].us);
      arm.sm_mhz = summarise(std::move(samples[i].mhz)).median;
      arm.workspace_bytes = r.workspace_bytes;
      arm.batch_invariant = invariant_[i];
      arm.bits = bits_[i];
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
      const bool fma = ready_[i].contract != nullptr &&
                       ready_[i].contract->contract.arithmetic == Arithmetic::ieee_fma;
      const double us = fma ? limit("fp32").first : own.first;
      result_.arms[i].share_of_limit =
          result_.arms[i].us.median > 0 ? us / result_.arms[i].us.median : 0;
    }
  }

  void compare() {
    for (const ArmResult& mine : result_.arms) {
      if (mine.role != Role::detgemm) continue;
      for (const ArmResult& other : result_.arms) {
        if (other.role != Role::baseline) continue;
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
  std::vector<std::optional<BitsCheck>> bits_;
  const Ready* first_checked_ = nullptr;
  int not_taken_ = 0;  ///< forced kernels that refused the problem
};

}  // namespace

CaseResult run_case(BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                    const Buffers& buffers, const Ceilings& ceilings, const Settings& settings) {
  return Experiment(device, c, baselines, buffers, settings).run(ceilings);
}

}  // namespace detgemm::bench

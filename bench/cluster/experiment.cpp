// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cluster/experiment.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "detgemm/digest.hpp"

namespace detgemm::bench {
namespace {

constexpr int kWarmUps = 3;
constexpr int kMaxClusterCalls = 64;
constexpr double kLeadUs = 400;  // of other work, so that all hosts are ahead of their devices

struct Ready {
  const ClusterArm* what = nullptr;
  Arm arm;
  std::size_t workspace_bytes = 0;
  std::optional<BitsCheck> bits;
  std::unique_ptr<Replay> replay;
};

class ClusterExperiment {
 public:
  ClusterExperiment(RankKit& kit, const Case& c, const Buffers& buffers, const Settings& settings)
      : kit_(kit), case_(c), buffers_(buffers), settings_(settings) {
    result_.what = c;
  }

  CaseResult run() {
    for (const ClusterArm& arm : cluster_arms()) {
      if (settings_.wanted(case_.id + "/" + arm.name)) add(arm);
    }
    Protocol p = kit_.device->protocol(case_, settings_.quick);
    if (settings_.repetitions > 0) p.repetitions = settings_.repetitions;
    p.repetitions = std::min(p.repetitions, 64);
    for (Ready& r : ready_) record(r, p);
    sample(p);
    compare();
    return std::move(result_);
  }

 private:
  /// The arm, run once; left out on all ranks where one of them cannot run it.
  void add(const ClusterArm& arm) {
    Ready r;
    r.what = &arm;
    std::string why;
    try {
      r.arm = make_arm(kit_, arm, case_, buffers_, &r.workspace_bytes);
      kit_.ranks.meet();
      check(r.arm.enqueue(queue().stream(), 0), "enqueue");
      queue().wait();
    } catch (const std::exception& error) {
      if (why.empty()) why = error.what();
    }
    if (!kit_.ranks.all(why.empty())) {
      if (why != "absent") {
        result_.notes.push_back(arm.name + ": left out: " + (why.empty() ? "another rank" : why));
        result_.arm_failed = result_.arm_failed || arm.role == Role::detgemm;
      }
      return;
    }
    if (arm.role == Role::detgemm) check_bits(r);
    ready_.push_back(std::move(r));
  }

  /// What call number 0 has just written.
  void check_bits(Ready& r) {
    const Problem share = share_of(kit_, case_);
    const Gemm g = gemm_of(share);
    const auto own = cluster::rows_of(g.m, kit_.ranks.rank(), kit_.ranks.size());
    const auto row = static_cast<std::size_t>(g.n * g.d_size);
    const auto rows = static_cast<std::size_t>(r.what->in_rows ? own.size() : g.m);
    std::vector<std::byte> d(rows * row);
    check(kit_.device->backend().device().to_host(d.data(), buffers_.at(share, 0).d, d.size()),
          "reading D");
    BitsCheck bits{"D on the other ranks", g.m * g.n, 0};
    if (!r.what->in_rows) {
      const auto all = kit_.ranks.gather(digest_bytes(d.data(), d.size()));
      bits.different = std::count_if(all.begin(), all.end(), [&](auto x) { return x != all[0]; });
      whole_ = std::move(d);
    } else if (!whole_.empty()) {
      bits = {"the same rows of the first arm", own.size() * g.n, 0};
      const auto* from = whole_.data() + static_cast<std::size_t>(own.begin) * row;
      const bool equal = d.empty() || std::memcmp(from, d.data(), d.size()) == 0;
      bits.different = kit_.ranks.all(equal) ? 0 : 1;
    } else {
      return;  // the first arm was not asked for
    }
    r.bits = bits;
    if (bits.different == 0) return;
    result_.wrong_bits = true;
    result_.notes.push_back(r.what->name + ": WRONG BITS");
  }

  void record(Ready& r, const Protocol& p) {
    kit_.ranks.meet();
    const auto from = std::chrono::steady_clock::now();
    for (int i = 0; i < kWarmUps; ++i) check(r.arm.enqueue(queue().stream(), i), r.arm.name);
    queue().wait();
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - from;
    // As many calls on every rank, or they would wait for each other for ever.
    const double us = std::max(0.1, kit_.ranks.largest(spent.count() / kWarmUps));
    const auto calls = static_cast<int>(std::ceil(std::min(p.sample_us, 20'000.0) / us));
    r.replay = queue().record(r.arm, std::clamp(calls, 1, kMaxClusterCalls));
  }

  void sample(const Protocol& p) {
    std::vector<std::vector<double>> us(ready_.size());
    for (int repetition = -1; repetition < p.repetitions; ++repetition) {  // the first one warms up
      for (std::size_t i = 0; i < ready_.size(); ++i) {
        const std::size_t arm = repetition % 2 == 0 ? i : ready_.size() - 1 - i;
        queue().rest(p.idle_ms);
        kit_.ranks.meet();
        queue().occupy(kLeadUs);
        const auto begin = queue().mark();
        queue().launch(*ready_[arm].replay);
        const auto end = queue().mark();
        const double took = queue().us_between(*begin, *end) / ready_[arm].replay->calls();
        if (repetition >= 0) us[arm].push_back(took);
      }
    }
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const Ready& r = ready_[i];
      ArmResult arm;
      arm.name = r.what->name;
      arm.role = r.what->role;
      if (arm.role == Role::detgemm) {
        const Contract contract = contract_of(kit_, *r.what, case_);
        arm.contract = contract.text();
        arm.digest = hex(contract.digest());
        arm.stable = detgemm::name(r.what->stable ? Stable::b : case_.contract_arms.front().stable);
        arm.workspace_bytes = r.workspace_bytes;
      }
      arm.detail = r.arm.detail;
      arm.calls = r.replay->calls();
      arm.samples = kit_.ranks.largest(us[i]);
      arm.us = summarise(arm.samples);
      arm.bits = r.bits;
      result_.arms.push_back(std::move(arm));
    }
  }

  /// Each with those that leave D where it does.
  void compare() {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      for (std::size_t j = 0; j < ready_.size(); ++j) {
        const ClusterArm& mine = *ready_[i].what;
        const ClusterArm& other = *ready_[j].what;
        if (mine.role != Role::detgemm || other.role != Role::baseline) continue;
        if (mine.in_rows != other.in_rows) continue;
        result_.comparisons.push_back(
            {mine.name, other.name,
             compare_paired(result_.arms[i].samples, result_.arms[j].samples)});
      }
    }
  }

  Queue& queue() { return kit_.device->queue(); }

  RankKit& kit_;
  const Case& case_;
  const Buffers& buffers_;
  const Settings& settings_;
  CaseResult result_;
  std::vector<Ready> ready_;
  std::vector<std::byte> whole_;  ///< D of the first arm, call 0
};

}  // namespace

CaseResult run_cluster_case(RankKit& kit, const Case& c, const Buffers& buffers,
                            const Settings& settings) {
  return ClusterExperiment(kit, c, buffers, settings).run();
}

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/tune.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "bench/suite/device.hpp"

namespace detgemm::bench {
namespace {

const ContractArm* find(const Case& c, const std::string& name) {
  for (const ContractArm& arm : c.contract_arms) {
    if (arm.name == name) return &arm;
  }
  return nullptr;
}

/// Forced arms are named after the arm that they are compared with.
std::string base_of(const std::string& name) { return name.substr(0, name.find('@')); }

struct Pair {
  const ArmResult* chosen = nullptr;
  const ArmResult* fastest = nullptr;

  bool wins() const {
    return chosen != nullptr && fastest != nullptr &&
           fastest->us.median < (1 - kTuneGain) * chosen->us.median &&
           fastest->us.p90 < chosen->us.median;
  }
};

/// What the library chose and the fastest kernel that was forced, by arm.
std::map<std::string, Pair> pairs_of(const CaseResult& result) {
  std::map<std::string, Pair> pairs;
  for (const ArmResult& arm : result.arms) {
    if (arm.role != Role::detgemm || arm.us.median <= 0) continue;
    Pair& pair = pairs[base_of(arm.name)];
    const ArmResult*& place = arm.variant.empty() ? pair.chosen : pair.fastest;
    if (place == nullptr || arm.us.median < place->us.median) place = &arm;
  }
  return pairs;
}

/// A measured M: the kernel that won there, or none.
struct Point {
  std::string kernel;
  double us = 0, chosen_us = 0;
};

std::vector<TunedRange> ranges_of(const std::map<std::int64_t, Point>& points) {
  std::vector<TunedRange> ranges;
  std::int64_t before = 0;
  const Point* last = nullptr;
  for (const auto& [m, point] : points) {
    if (!point.kernel.empty()) {
      const bool same = last != nullptr && last->kernel == point.kernel;
      const std::int64_t first = same ? before + 1 : std::max(before + 1, m - kTuneReach);
      ranges.push_back({first, m, point.kernel, point.us, point.chosen_us});
    }
    before = m;
    last = &point;
  }
  return ranges;
}

}  // namespace

void add_candidates(const Backend& backend, int count, std::vector<Case>& cases) {
  const TuningEngine* const engine = backend.tuning();
  if (engine == nullptr) {
    throw std::invalid_argument("backend is " + std::string(backend.name()) +
                                ": it has no kernels that are chosen by time, so there is nothing "
                                "to tune");
  }
  for (Case& c : cases) {
    const std::vector<ContractArm> arms = c.contract_arms;
    const std::int64_t m = gemm_of(c.problem).m;
    for (const ContractArm& arm : arms) {
      auto names = engine->ranked(spec_of(c.problem, arm.contract), m);
      if (names.size() > static_cast<std::size_t>(count)) names.resize(count);
      for (const std::string& name : names) {
        ContractArm forced = arm;
        forced.name += "@" + name;
        forced.variant = name;
        c.contract_arms.push_back(std::move(forced));
      }
    }
  }
}

Case winners_of(const CaseResult& result) {
  Case again = result.what;
  again.contract_arms.clear();
  for (const auto& [base, pair] : pairs_of(result)) {
    if (!pair.wins()) continue;
    for (const ArmResult* arm : {pair.chosen, pair.fastest}) {
      if (const auto* found = find(result.what, arm->name)) again.contract_arms.push_back(*found);
    }
  }
  return again;
}

std::vector<TunedProduct> tuned_products(const std::vector<CaseResult>& results,
                                         const std::vector<CaseResult>& again) {
  // By what a row is for: contract, n, k and ops.
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, Op, Op>;
  std::map<Key, std::pair<TunedProduct, std::map<std::int64_t, Point>>> all;
  const auto point_of = [&](const CaseResult& result, const ContractArm& arm) -> Point& {
    const GemmSpec spec = spec_of(result.what.problem, arm.contract);
    auto& [product, points] = all[{arm.contract.text(), spec.n, spec.k, spec.op_a, spec.op_b}];
    product = {spec.contract, spec.n, spec.k, spec.op_a, spec.op_b, {}};
    return points[gemm_of(result.what.problem).m];
  };
  for (const CaseResult& result : results) {
    for (const ContractArm& arm : result.what.contract_arms) point_of(result, arm);
  }
  for (const CaseResult& result : again) {
    for (const auto& [base, pair] : pairs_of(result)) {
      const ContractArm* const arm = find(result.what, base);
      if (arm == nullptr || !pair.wins()) continue;
      point_of(result, *arm) = {pair.fastest->variant, pair.fastest->us.median,
                                pair.chosen->us.median};
    }
  }
  std::vector<TunedProduct> products;
  for (auto& [key, rows] : all) {
    rows.first.ranges = ranges_of(rows.second);
    if (!rows.first.ranges.empty()) products.push_back(std::move(rows.first));
  }
  return products;
}

void add_tuned_arms(const Backend& backend, const std::string& path, std::vector<Case>& cases) {
  if (path.empty()) return;
  const auto tuning = Tuning::load(backend, path);
  if (!tuning) throw std::invalid_argument("--tuning: " + tuning.status().message());
  for (Case& c : cases) {
    const std::vector<ContractArm> arms = c.contract_arms;
    for (const ContractArm& arm : arms) {
      if (!arm.variant.empty()) continue;
      ContractArm tuned = arm;
      tuned.name += "@tuned";
      tuned.tuning = *tuning;
      c.contract_arms.push_back(std::move(tuned));
    }
  }
}

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "bench/gpu/result.hpp"

namespace detgemm::bench {
namespace {

/// A number, or a dash where there is none.
std::string cell(double value, int decimals) {
  if (value <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string point(const Problem& p) {
  return std::to_string(p.tokens) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k);
}

/// What a group is judged by, as (label, value) where this point has it.
std::vector<std::pair<std::string, double>> figures(const CaseResult& r) {
  std::vector<std::pair<std::string, double>> all;
  const auto add = [&](const char* label, double value) {
    if (value > 0) all.emplace_back(label, value);
  };
  add("ratio, early", r.ratio("early"));
  add("ratio, plain", r.ratio("plain"));
  const double near = r.us("neighbour");
  const double mine = r.us("early") > 0 ? r.us("early") : r.us("plain");
  if (near > 0 && mine > 0) add("neighbour / ours", near / mine);
  if (r.read_us() > 0 && mine > 0) add("share of pure read", r.read_us() / mine);
  return all;
}

}  // namespace

double CaseResult::us(const std::string& arm) const {
  for (const ArmResult& result : arms) {
    if (result.name == arm) return result.us.median;
  }
  return 0;
}

double CaseResult::vendor_us() const {
  const double with = us("cublas");
  const double without = us("cublas0");
  return with > 0 && without > 0 ? std::min(with, without) : std::max(with, without);
}

double CaseResult::read_us() const {
  const double some = us("read128");
  const double more = us("read192");
  return some > 0 && more > 0 ? std::min(some, more) : std::max(some, more);
}

double CaseResult::ratio(const std::string& arm) const {
  const double mine = us(arm);
  return mine > 0 ? vendor_us() / mine : 0;
}

const char* name(Kind kind) {
  return kind == Kind::forward ? "forward" : kind == Kind::da ? "dA" : "dB";
}

const char* name(Mode mode) {
  return mode == Mode::stream ? "stream" : mode == Mode::burst ? "burst" : "settled";
}

void print_head(const Machine& m) {
  std::printf("%s, %d SMs, L2 %.0f MiB, driver %s, CUDA %s, cuBLASLt %s, commit %s, %s\n",
              m.device.c_str(), m.sms, m.l2_mib, m.driver.c_str(), m.cuda.c_str(),
              m.cublaslt.c_str(), m.commit.c_str(), m.date.c_str());
}

void print_row(const CaseResult& r) {
  static std::string group;
  if (group != r.what.group) {
    group = r.what.group;
    std::printf("\n%s, us a call (%s)\n", group.c_str(), name(r.what.mode));
    std::printf("%6s %6s %6s | %9s %9s %9s %9s | %6s %6s | %6s %6s | %s\n", "M", "N", "K", "early",
                "plain", "cublas", "cublas0", "ratio", "plain", "near", "read", "bits = cublas0");
  }
  const double mine = r.us("early") > 0 ? r.us("early") : r.us("plain");
  const double near = mine > 0 ? r.us("neighbour") / mine : 0;
  const double read = mine > 0 ? r.read_us() / mine : 0;
  std::string bits = "-";
  if (r.vendor.seen > 0) {
    bits = r.vendor.different == 0 ? "all"
                                   : std::to_string(r.vendor.different) + " of " +
                                         std::to_string(r.vendor.seen) + " differ";
  }
  std::printf("%6lld %6lld %6lld | %9s %9s %9s %9s | %6s %6s | %6s %6s | %s\n",
              static_cast<long long>(r.what.problem.tokens),
              static_cast<long long>(r.what.problem.n), static_cast<long long>(r.what.problem.k),
              cell(r.us("early"), 2).c_str(), cell(r.us("plain"), 2).c_str(),
              cell(r.us("cublas"), 2).c_str(), cell(r.us("cublas0"), 2).c_str(),
              cell(r.ratio("early"), 3).c_str(), cell(r.ratio("plain"), 3).c_str(),
              cell(near, 3).c_str(), cell(read, 3).c_str(), bits.c_str());
  for (const std::string& note : r.notes) std::printf("       %s\n", note.c_str());
  std::fflush(stdout);
}

void print_variants(const CaseResult& r) {
  std::vector<const ArmResult*> mine;
  const ArmResult* chosen = nullptr;
  for (const ArmResult& arm : r.arms) {
    if (arm.name == "chosen")
      chosen = &arm;
    else if (arm.name != "cublas" && arm.name != "cublas0")
      mine.push_back(&arm);
  }
  std::sort(mine.begin(), mine.end(),
            [](const auto* x, const auto* y) { return x->us.median < y->us.median; });
  std::printf("%s %s: ", name(r.what.problem.kind), point(r.what.problem).c_str());
  if (chosen != nullptr && !mine.empty()) {
    std::printf("chosen %.2f us, best %.2f (%.3f)", chosen->us.median, mine[0]->us.median,
                chosen->us.median / mine[0]->us.median);
  }
  if (r.vendor_us() > 0 && chosen != nullptr) {
    std::printf(", cuBLASLt %.2f (%.3f of chosen)", r.vendor_us(), r.ratio("chosen"));
  }
  std::printf("\n");
  if (chosen != nullptr) std::printf("   chosen: %s\n", chosen->detail.c_str());
  for (std::size_t i = 0; i < mine.size() && i < 6; ++i) {
    std::printf("   %9.2f  %s\n", mine[i]->us.median, mine[i]->name.c_str());
  }
  for (const std::string& note : r.notes) std::printf("   %s\n", note.c_str());
  std::fflush(stdout);
}

void print_summary(const std::vector<CaseResult>& results) {
  struct Sum {
    double logs = 0, worst = 1e30;
    int points = 0;
    std::string where;
  };
  std::vector<std::string> order;
  std::map<std::string, Sum> sums;
  for (const CaseResult& r : results) {
    for (const auto& [label, value] : figures(r)) {
      const std::string key = r.what.group + ": " + label;
      if (sums.count(key) == 0) order.push_back(key);
      Sum& sum = sums[key];
      sum.logs += std::log(value);
      ++sum.points;
      if (value < sum.worst) {
        sum.worst = value;
        sum.where = point(r.what.problem);
      }
    }
  }
  if (!order.empty()) {
    std::printf("\n%-28s %6s %8s %8s  at M x N x K\n", "", "points", "geomean", "worst");
  }
  for (const std::string& key : order) {
    const Sum& sum = sums[key];
    std::printf("%-28s %6d %8.3f %8.3f  %s\n", key.c_str(), sum.points,
                std::exp(sum.logs / sum.points), sum.worst, sum.where.c_str());
  }
  std::int64_t seen = 0;
  std::int64_t wrong = 0;
  int alike = 0;
  int compared = 0;
  for (const CaseResult& r : results) {
    seen += r.chain.seen;
    wrong += r.chain.different;
    compared += r.vendor.seen > 0 ? 1 : 0;
    alike += r.vendor.seen > 0 && r.vendor.different == 0 ? 1 : 0;
  }
  std::printf(
      "\nbits: %lld outputs against a plain mma.sync chain, %lld differ; "
      "%d of %d points equal cuBLASLt without workspace\n",
      static_cast<long long>(seen), static_cast<long long>(wrong), alike, compared);
}

}  // namespace detgemm::bench

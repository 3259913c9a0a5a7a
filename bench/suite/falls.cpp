// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/falls.hpp"

#include <algorithm>

namespace detgemm::bench {
namespace {

struct Point {
  std::int64_t m;
  Stats us;
};

/// The points of one arm, and the first case they came from.
struct Curve {
  const Case* first;
  std::string arm;
  Role role;
  std::vector<Point> points{};
};

bool differs_in_m_alone(const Case& x, const Case& y) {
  return x.model == y.model && x.layer == y.layer && x.problem.kind == y.problem.kind &&
         x.problem.type == y.problem.type && output_of(x.problem) == output_of(y.problem) &&
         x.problem.accumulate == y.problem.accumulate && x.problem.extra == y.problem.extra &&
         x.problem.hot == y.problem.hot && x.problem.before == y.problem.before &&
         x.mode == y.mode && x.threads == y.threads;
}

Fall worst_of(const Curve& curve) {
  Fall fall;
  fall.what = *curve.first;
  fall.arm = curve.arm;
  fall.role = curve.role;
  fall.points = static_cast<int>(curve.points.size());
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const Point& here = curve.points[i];
    for (std::size_t j = i + 1; j < curve.points.size(); ++j) {
      const Point& later = curve.points[j];
      if (later.m > here.m + kFallReach) break;
      const double ratio = here.us.median / later.us.median;
      if (ratio <= fall.ratio) continue;
      fall.ratio = ratio;
      fall.m = here.m;
      fall.us = here.us.median;
      fall.later_m = later.m;
      fall.later_us = later.us.median;
      fall.certain = here.us.p10 > later.us.p90;
    }
  }
  return fall;
}

}  // namespace

std::vector<Fall> find_falls(const std::vector<CaseResult>& results) {
  std::vector<Curve> curves;
  for (const CaseResult& result : results) {
    for (const ArmResult& arm : result.arms) {
      if (arm.role == Role::ceiling || arm.us.median <= 0) continue;
      auto curve = std::find_if(curves.begin(), curves.end(), [&](const Curve& c) {
        return c.arm == arm.name && differs_in_m_alone(*c.first, result.what);
      });
      if (curve == curves.end()) {
        curve = curves.insert(curves.end(), {&result.what, arm.name, arm.role});
      }
      curve->points.push_back({result.what.problem.tokens, arm.us});
    }
  }
  std::vector<Fall> falls;
  for (Curve& curve : curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const Point& x, const Point& y) { return x.m < y.m; });
    if (static_cast<int>(curve.points.size()) < kMinPoints) continue;
    Fall fall = worst_of(curve);
    if (fall.m > 0) falls.push_back(std::move(fall));
  }
  return falls;
}

}  // namespace detgemm::bench

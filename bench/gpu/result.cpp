// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu/result.hpp"

#include <algorithm>

namespace detgemm::bench {

double CaseResult::us(const std::string& arm) const {
  for (const ArmResult& result : arms) {
    if (result.name == arm) return result.us.median;
  }
  return 0;
}

double CaseResult::ours_us() const {
  for (const char* arm : {"early", "plain", "serial"}) {
    if (us(arm) > 0) return us(arm);
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

double CaseResult::best_variant_us() const {
  double best = 0;
  if (us("chosen") <= 0) return 0;
  for (const ArmResult& arm : arms) {
    if (arm.name == "chosen" || arm.name == "cublas" || arm.name == "cublas0") continue;
    best = best > 0 ? std::min(best, arm.us.median) : arm.us.median;
  }
  return best;
}

}  // namespace detgemm::bench

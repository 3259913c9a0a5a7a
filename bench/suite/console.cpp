// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/console.hpp"

#include <chrono>
#include <cstdio>

namespace detgemm::bench {
namespace {

std::string number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// A rate, or that there is none.
std::string rate(double value, const char* unit) {
  return value > 0 ? number("%.3g ", value) + unit : "not measured";
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string text_of_rate(double flops_per_s) {
  if (flops_per_s >= 1e12) return number("%.3f TFLOP/s", flops_per_s * 1e-12);
  return number("%.3f GFLOP/s", flops_per_s * 1e-9);
}

std::string text_of(const Ceilings& ceilings) {
  std::string text = "copy " + rate(ceilings.copy_bytes_per_s, "B/s") + ", read " +
                     rate(ceilings.read_bytes_per_s, "B/s");
  if (ceilings.flops.empty()) text += ", arithmetic not measured";
  for (const auto& [unit, flops] : ceilings.flops)
    text += ", " + unit + " " + rate(flops, "FLOP/s");
  return text;
}

std::string text_of(const Fall& fall) {
  const Case& c = fall.what;
  const std::string where = c.model + "/" + c.layer + "/" + name(c.problem.kind) + "/" +
                            std::string(detgemm::name(c.problem.type)) + "/" + fall.arm + ", " +
                            std::to_string(fall.points) + " values of M: ";
  if (fall.ratio <= 1) return where + "the time never falls when M grows";
  return where + "the time falls by a factor of " + number("%.3f", fall.ratio) +
         " from M = " + std::to_string(fall.m) + number(" (%.2f us) to M = ", fall.us) +
         std::to_string(fall.later_m) + number(" (%.2f us)", fall.later_us) +
         (fall.certain ? "" : ", within the noise");
}

}  // namespace detgemm::bench

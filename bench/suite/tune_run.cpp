// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/tune_run.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>

#include "bench/suite/console.hpp"
#include "bench/suite/experiment.hpp"
#include "bench/suite/forced.hpp"
#include "bench/suite/tune.hpp"

namespace detgemm::bench {
namespace {

constexpr int kFirstLook = 5, kSecondLook = 9;  // samples per arm
constexpr double kRestMs = 2;                   // before each sample

/// The median of an arm, by whether its kernel was forced; 0 where there is none.
double us_of(const CaseResult& result, bool forced) {
  for (const ArmResult& arm : result.arms) {
    if (arm.role == Role::detgemm && arm.variant.empty() != forced) return arm.us.median;
  }
  return 0;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// What was found, in words.
void summarise(const Tuning& tuning, const std::vector<CaseResult>& again, std::size_t measured,
               std::size_t left, double seconds) {
  double logs = 0;
  int count = 0;
  for (const CaseResult& result : again) {
    const double ratio = us_of(result, false) / us_of(result, true);
    if (!std::isfinite(ratio) || ratio <= 1) continue;
    logs += std::log(ratio);
    ++count;
  }
  std::size_t rows = 0;
  for (const TunedProduct& product : tuning.products()) rows += product.ranges.size();
  std::printf("%zu problems timed in %.0f s: %zu rows for %zu products", measured, seconds, rows,
              tuning.products().size());
  if (count > 0)
    std::printf(", %.1f %% less time on average where a row is",
                100 * (1 - std::exp(-logs / count)));
  std::printf("\n");
  if (left > 0) std::printf("%zu problems were not timed: the budget was spent\n", left);
}

}  // namespace

std::optional<RunResult> run_tune(const Options& options, const std::string& command) {
  const auto device = find_device(options);
  auto cases = find_cases(options, *device);
  refuse_unsupported(device->backend(), cases);
  add_candidates(device->backend(), options.candidates, cases);
  Settings settings;
  settings.batch_property = false;
  settings.check_bits = options.check_bits;
  settings.repetitions = options.repetitions > 0 ? options.repetitions : kFirstLook;
  std::vector<Problem> problems;
  double estimate = 1;
  for (Case& c : cases) {
    c.idle_ms = kRestMs;
    c.best = false;
    problems.push_back(c.problem);
    estimate += estimate_s(*device, c, {}, settings);
  }
  std::printf("%zu problems, about %.0f s\n", cases.size(), estimate);
  if (options.dry) return std::nullopt;
  const Buffers buffers(device->memory(), problems, device->pools());
  RunResult run = result_of_today(options, command);
  run.backend = device->name();
  run.machine = device->facts();
  std::vector<CaseResult> again;
  const double begin = now_s();
  for (const Case& c : cases) {
    if (options.seconds > 0 && now_s() - begin > options.seconds) break;
    run.results.push_back(run_case(*device, c, {}, buffers, {}, settings));
    if (run.results.back().arm_failed || run.results.back().wrong_bits) ++run.failed;
    const Case winners = winners_of(run.results.back());
    if (winners.contract_arms.empty()) continue;
    Settings second = settings;
    second.repetitions = kSecondLook;
    again.push_back(run_case(*device, winners, {}, buffers, {}, second));
    std::printf("%-56s %10.2f us, chosen %10.2f us  %s\n", c.id.c_str(), us_of(again.back(), true),
                us_of(again.back(), false), winners.contract_arms.back().variant.c_str());
    std::fflush(stdout);
  }
  const auto tuning = Tuning::make(device->backend(), tuned_products(run.results, again));
  check(tuning.status(), "a tuning");
  write(options.out, (*tuning)->text());
  run.not_measured = static_cast<int>(cases.size() - run.results.size());
  summarise(**tuning, again, run.results.size(), cases.size() - run.results.size(),
            now_s() - begin);
  return run;
}

}  // namespace detgemm::bench

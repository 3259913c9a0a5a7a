// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/run.hpp"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <regex>
#include <sstream>

#include "bench/suite/console.hpp"
#include "bench/suite/devices.hpp"
#include "bench/suite/experiment.hpp"
#include "bench/suite/falls.hpp"
#include "bench/suite/forced.hpp"
#include "bench/suite/overheads.hpp"
#include "bench/suite/tune.hpp"
#include "detgemm/version.hpp"

namespace detgemm::bench {
namespace {

std::string today() {
  char text[16] = {};
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::string commit_of(const Options& options) {
  if (!options.commit.empty()) return options.commit;
  std::string text;
  if (FILE* pipe = popen("git describe --always --tags --dirty 2>/dev/null", "r")) {
    char part[128];
    while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
    pclose(pipe);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? DETGEMM_BENCH_COMMIT : text;
}

/// One line per arm, with the time that is left.
class Progress {
 public:
  Progress(double estimate, std::size_t arms) : estimate_(estimate), arms_(arms) {}

  void left_out(const std::string& name, const std::string& why) {
    ++done_;
    std::printf("%-64s %s\n", name.c_str(), why.c_str());
    std::fflush(stdout);
  }
  void measured(const std::string& name, double us, double flops, const std::string& detail) {
    ++done_;
    const double spent = now_s() - begin_;
    const double share = static_cast<double>(done_) / static_cast<double>(arms_);
    // The estimate at first, what was measured later.
    const double left = (1 - share) * (spent + (1 - share) * estimate_);
    std::printf("%-64s %11.2f us %16s   %zu of %zu, %.0f s left  %s\n", name.c_str(), us,
                text_of_rate(flops / us * 1e6).c_str(), done_, arms_, left, detail.c_str());
    std::fflush(stdout);
  }

 private:
  double begin_ = now_s();
  double estimate_;
  std::size_t arms_;
  std::size_t done_ = 0;
};

/// The cases of a run and their results, shared by the lines of their arms.
struct Session {
  BenchDevice& device;
  const std::vector<Case>& cases;
  Settings settings;
  double budget_s;
  double begin = now_s();
  std::unique_ptr<Buffers> buffers{};
  RunResult run{};
  const Case* current = nullptr;  ///< the last of run.results is its result

  /// Null where the budget was spent. The first case is measured in any case: what comes before it
  /// (operands, ceilings, overheads) may take longer than a small budget.
  const CaseResult* result_of(const Case& c) {
    if (current == &c) return &run.results.back();
    if (budget_s > 0 && current != nullptr && now_s() - begin > budget_s) return nullptr;
    current = &c;
    try {
      run.results.push_back(run_case(device, c, run.baselines, *buffers, run.ceilings, settings));
    } catch (const std::exception& error) {
      // What was measured before it is kept, and the run's exit code says that something failed.
      CaseResult failed;
      failed.what = c;
      failed.notes.push_back(std::string("failed: ") + error.what());
      run.results.push_back(std::move(failed));
      ++run.failed;
    }
    if (run.results.back().wrong_bits || run.results.back().arm_failed) ++run.failed;
    return &run.results.back();
  }
};

/// The line of one arm; `result` is null where the case was not measured.
void print_arm(Progress& progress, const Case& c, const CaseResult* result,
               const std::string& name) {
  const std::string line = c.id + "/" + name;
  if (result == nullptr) return progress.left_out(line, "not measured: the budget is spent");
  for (const ArmResult& arm : result->arms) {
    if (arm.name != name) continue;
    std::string detail = arm.detail;
    if (arm.batch_invariant) detail += *arm.batch_invariant ? "" : "; ROW 0 DEPENDS ON M";
    if (arm.bits && arm.role == Role::detgemm && arm.bits->different != 0) detail += "; WRONG BITS";
    if (arm.us.noise() > kNoisy) detail += "; noisy";
    return progress.measured(line, arm.us.median, gemm_of(c.problem).flops(), detail);
  }
  for (const std::string& note : result->notes) {
    if (note.rfind(name + ":", 0) == 0 || note.rfind("failed: ", 0) == 0) {
      return progress.left_out(line, note);
    }
  }
  progress.left_out(line, "left out");
}

void describe(Session& session, const Options& options, const std::string& command) {
  RunResult& run = session.run;
  const RunResult now = result_of_today(options, command);
  run.date = now.date;
  run.commit = now.commit;
  run.command = now.command;
  run.version = now.version;
  run.quick = now.quick;
  run.backend = session.device.name();
  if (options.drawn) run.seed = options.seed;
  run.machine = session.device.facts();
  for (const auto& fact : options.facts) run.machine.push_back(fact);
  for (const auto& [key, value] : run.machine) std::printf("%s: %s\n", key.c_str(), value.c_str());
  for (const Baseline& baseline : run.baselines) {
    std::printf("baseline %s: %s%s\n", baseline.name.c_str(),
                baseline.present ? "" : "absent: ", baseline.what.c_str());
  }
}

/// What is measured beside the cases: without it they are measured all the same.
void beside(const char* what, const std::function<void()>& measure) {
  try {
    measure();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "detgemm bench: no %s: %s\n", what, error.what());
  }
}

void measure(Session& session, double estimate) {
  RunResult& run = session.run;
  std::vector<Problem> problems;
  for (const Case& c : session.cases) {
    problems.push_back(c.problem);
    for (const Problem& other : session.device.baselines_need(c.problem)) problems.push_back(other);
  }
  session.buffers =
      std::make_unique<Buffers>(session.device.memory(), problems, session.device.pools());
  beside("ceilings",
         [&] { run.ceilings = session.device.measure_ceilings(session.settings.quick); });
  std::printf("%s\n", text_of(run.ceilings).c_str());
  beside("overheads", [&] {
    run.overheads = measure_overheads(session.device, native_arithmetic(session.device));
  });
  for (const auto& [what, us] : run.overheads.us) {
    if (what.find("call") != std::string::npos)
      std::printf("host %7.2f us  %s\n", us, what.c_str());
  }
  std::size_t arms = 0;
  for (const Case& c : session.cases) {
    arms += arms_of(c, run.baselines, session.settings).size();
  }
  Progress progress(estimate, arms);
  for (const Case& c : session.cases) {
    const CaseResult* result = session.result_of(c);
    for (const std::string& arm : arms_of(c, run.baselines, session.settings)) {
      print_arm(progress, c, result, arm);
    }
  }
  run.falls = find_falls(run.results);
  for (const Fall& fall : run.falls) std::printf("%s\n", text_of(fall).c_str());
}

/// What may be timed beside detgemm. With `look` libraries are loaded, and those that are absent
/// are named; without it their names are all that is known.
std::vector<Baseline> find_baselines(BenchDevice& device, const Options& options, bool look) {
  std::vector<Baseline> all;
  if (look) {
    all = device.baselines();
  } else {
    for (const std::string& name : device.baseline_names()) {
      Baseline& baseline = all.emplace_back();
      baseline.name = name;
      baseline.present = true;
    }
  }
  if (options.weight_read) {
    for (Baseline& arm : device.ceiling_arms()) all.push_back(std::move(arm));
  }
  return all;
}

}  // namespace

std::unique_ptr<BenchDevice> find_device(const Options& options) {
  std::string why;
  std::string all;
  for (const char* name : {"cuda", "hip", "cpu"}) {
    if (!options.backend.empty() && options.backend != name) continue;
    const std::string backend = name;
    auto device = backend == "cuda"  ? make_cuda_device(options.cublaslt, why)
                  : backend == "hip" ? make_hip_device(why)
                                     : make_host_device(why);
    if (device != nullptr) {
      if (!all.empty()) std::fprintf(stderr, "absent: %s\n", all.c_str());
      return device;
    }
    all += (all.empty() ? "" : "; ") + backend + ": " + why;
  }
  throw NothingRan("no backend can run here: " + all);
}

std::vector<Case> find_cases(const Options& options, const BenchDevice& device) {
  CaseQuery query;
  query.backend = device.name();
  query.native = native_arithmetic(device);
  query.suites = options.suites;
  query.tokens = options.tokens;
  query.quick = options.quick;
  query.own = options.own;
  query.seed = options.seed;
  if (options.cases.empty()) return read_cases(built_in_cases(), query);
  std::ifstream file(options.cases);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    throw std::invalid_argument("cases is \"" + options.cases +
                                "\": it must be a file that can be read");
  }
  return read_cases(text.str(), query);
}

std::function<bool(const std::string&)> matcher(const std::string& filter) {
  if (filter.empty()) return [](const std::string&) { return true; };
  try {
    const std::regex expression(filter);
    return [expression](const std::string& name) { return std::regex_search(name, expression); };
  } catch (const std::regex_error& error) {
    throw std::invalid_argument("filter is \"" + filter +
                                "\": it must be a regular expression: " + error.what());
  }
}

RunResult result_of_today(const Options& options, const std::string& command) {
  RunResult run;
  run.date = today();
  run.commit = commit_of(options);
  run.command = command;
  run.version = version();
  run.quick = options.quick;
  return run;
}

std::optional<RunResult> run_bench(const Options& options, const std::string& command) {
  const auto device = find_device(options);
  auto all = find_cases(options, *device);
  if (options.own.asked()) refuse_unsupported(device->backend(), all);
  add_tuned_arms(device->backend(), options.tuning, all);
  add_forced_arms(device->backend(), options.variants, all);
  Settings settings;
  settings.quick = options.quick;
  settings.batch_property = options.batch_property;
  settings.check_bits = options.check_bits;
  settings.repetitions = options.repetitions;
  settings.wanted = matcher(options.filter);
  const bool measures = !options.list && !options.dry;
  const auto baselines = find_baselines(*device, options, measures);
  std::vector<Case> cases;
  double estimate = 3;
  for (const Case& c : all) {
    if (arms_of(c, baselines, settings).empty()) continue;
    cases.push_back(c);
    estimate += estimate_s(*device, c, baselines, settings);
  }
  if (cases.empty()) {
    throw NothingRan("no case is left for backend " + device->name() +
                     ": --suite, --filter and --m must leave one");
  }
  if (options.list) {
    for (const Case& c : cases) {
      for (const auto& arm : arms_of(c, baselines, settings)) {
        std::printf("%s/%s\n", c.id.c_str(), arm.c_str());
      }
    }
    return std::nullopt;
  }
  std::printf("%zu cases, about %.0f s\n", cases.size(), estimate);
  if (options.dry) return std::nullopt;
  if (options.seconds > 0 && estimate > options.seconds) {
    settings.shrink = options.seconds / estimate;
  }
  Session session{*device, cases, settings, options.seconds};
  session.run.baselines = baselines;
  session.run.results.reserve(cases.size());
  describe(session, options, command);
  measure(session, estimate);
  session.run.not_measured = static_cast<int>(cases.size() - session.run.results.size());
  return std::move(session.run);
}

}  // namespace detgemm::bench

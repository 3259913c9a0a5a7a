// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_run.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "core/cli/arguments.hpp"
#include "core/cli/build_info.hpp"
#include "core/cli/conform_console.hpp"
#include "core/cli/conform_engines.hpp"
#include "core/cli/conform_job.hpp"
#include "core/conformance/json.hpp"

namespace detgemm::cli {
namespace {

using conformance::Verdict;

constexpr std::array<std::string_view, 6> kFormats{"text", "markdown", "summary",
                                                   "json", "junit",    "badge"};

std::string render(std::string_view format, const std::vector<conformance::Report>& reports) {
  if (format == "markdown") return conformance::render_markdown(reports);
  if (format == "summary") return conformance::render_summary(reports);
  if (format == "json") return conformance::render_json(reports);
  if (format == "junit") return conformance::render_junit(reports);
  if (format == "badge") return conformance::render_badge(reports);
  return conformance::render_text(reports);
}

/// A report that is also written: its format, and the file.
struct Saved {
  std::string format;
  ReportFile file;
};

std::vector<Saved> open_saved(const ConformOptions& options) {
  std::vector<Saved> list;
  for (const std::string& text : options.save) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign + 1 == text.size()) {
      refuse("save is " + in_quotes(text) + ": it must read FORMAT=FILE");
    }
    const std::string format = text.substr(0, sign);
    check_format(format);
    list.push_back({format, ReportFile(text.substr(sign + 1), {options.engine, options.expect})});
  }
  return list;
}

bool fails_on(const ConformOptions& options, Verdict verdict) {
  return std::find(options.fail_on.begin(), options.fail_on.end(), conformance::name(verdict)) !=
         options.fail_on.end();
}

void check_fail_on(const ConformOptions& options) {
  for (const std::string& verdict : options.fail_on) {
    if (verdict == "unsupported" || verdict == "skipped") continue;
    refuse("fail-on is " + in_quotes(verdict) +
           ": it must be unsupported or skipped; failed, mistrusted and untested always fail");
  }
}

std::string read_expected(const ConformOptions& options) {
  if (options.expect.empty()) return {};
  std::ifstream file(options.expect);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || file.bad()) {
    throw Refusal(
        Status{Errc::io, "expect is " + in_quotes(options.expect) + ": it cannot be read"});
  }
  return text.str();
}

/// The properties that were asked for, without those to be left out.
std::vector<std::string> chosen_properties(const ConformOptions& options) {
  if (options.skip.empty()) return options.properties;
  std::vector<std::string> list = options.properties;
  std::string known;
  for (const conformance::PropertyName& one : conformance::property_names()) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    if (options.properties.empty()) list.emplace_back(one.name);
  }
  for (const std::string& name : options.skip) {
    if (std::erase(list, name) == 0) {
      throw Refusal(Status{
          Errc::not_found,
          "skip is " + in_quotes(name) + ": it must be one of those to be tested, of " + known});
    }
  }
  if (list.empty()) refuse("skip leaves no property to test");
  return list;
}

conformance::Options harness_options(const ConformOptions& options) {
  conformance::Options harness;
  harness.properties = chosen_properties(options);
  harness.level = options.level();
  harness.seed = parse_seed("seed", options.seed);
  if (!options.only_case.empty()) harness.only_case = parse_size("case", options.only_case);
  harness.soak = parse_size("soak", options.soak);
  for (const std::string& text : options.contracts) {
    harness.contracts.push_back(need(Contract::parse(text)));
  }
  return harness;
}

conformance::Isolation isolation_of(const ConformOptions& options) {
  conformance::Isolation isolation;
  isolation.seconds_per_case = static_cast<double>(parse_float("timeout", options.timeout));
  if (!(isolation.seconds_per_case > 0.0)) {
    refuse("timeout is " + in_quotes(options.timeout) + ": it must be more than 0 seconds");
  }
  isolation.jobs = static_cast<int>(
      std::min<std::int64_t>(parse_size("jobs", options.jobs), std::numeric_limits<int>::max()));
  return isolation;
}

Result<conformance::Report> test(const Tested& one, conformance::Options harness,
                                 const ConformOptions& options) {
  harness.engine_flag = one.flag;
  if (!options.in_process) {
    conformance::Isolation isolation = isolation_of(options);
    if (isolation.jobs == 0) {
      const unsigned processors = std::thread::hardware_concurrency();
      isolation.jobs = one.on_host && processors > 1 ? static_cast<int>(processors) : 1;
    }
    return conformance::run_isolated(harness, isolation, one.load);
  }
  auto candidate = one.load();
  if (!candidate) return candidate.status();
  harness.engine = candidate->engine;
  harness.oracle = candidate->oracle;
  return conformance::run_conformance(harness);
}

/// The reports of everything that can run here. An interrupted one is the last.
std::vector<conformance::Report> test_all(const ConformOptions& options,
                                          conformance::Options harness, Console& console) {
  const int threads = parse_threads(options.threads);
  const auto list = options.engine.empty() ? tested_backends(options.backend, threads)
                                           : tested_engine(options.engine, threads);
  std::vector<conformance::Report> reports;
  for (const Tested& one : list) {
    auto report = test(one, harness, options);
    const bool absent = !report && report.status().code() == Errc::unavailable;
    if (absent && console.stop()) throw Refusal(report.status(), kInterrupted);
    if (absent && options.engine.empty() && options.backend == "all") continue;
    reports.push_back(need(std::move(report)));
    reports.back().commit = kCommit;
    if (reports.back().interrupted) break;
  }
  return reports;
}

/// The lines of the list of expected failures that no report needed.
std::vector<std::string> unused_lines(const std::string& expected,
                                      std::vector<conformance::Report>& reports) {
  std::vector<std::string> unused;
  bool first = true;
  for (conformance::Report& report : reports) {
    const auto more = need(conformance::expect_failures(report, expected));
    if (first) unused = more;
    first = false;
    std::erase_if(unused, [&](const std::string& line) {
      return std::find(more.begin(), more.end(), line) == more.end();
    });
  }
  return unused;
}

Exit exit_of(const std::vector<conformance::Report>& reports, const ConformOptions& options) {
  bool ran = false;
  bool failed = false;
  for (const conformance::Report& one : reports) {
    if (one.interrupted) return static_cast<Exit>(Console::exit_of_signal());
    ran = ran || one.ran();
    failed = failed || one.bad() != 0 || !one.cut_short.empty();
    for (const Verdict verdict : {Verdict::unsupported, Verdict::skipped}) {
      failed = failed || (fails_on(options, verdict) && one.count(verdict) != 0);
    }
  }
  return failed ? kFailed : ran ? kOk : kNothingRan;
}

}  // namespace

void check_format(const std::string& format) {
  if (std::find(kFormats.begin(), kFormats.end(), format) != kFormats.end()) return;
  refuse("report is " + in_quotes(format) +
         ": it must be one of text, markdown, summary, json, junit, badge");
}

std::string outcome_of(const Report& report) {
  switch (report.exit) {
    case kOk:
      return "passed";
    case kNothingRan:
      return "nothing ran";
    case kFailed:
    case kUsage:
      return "failed";
    default:
      return "interrupted";
  }
}

void move_to_file(Report& report, ReportFile& file, const std::string& outcome) {
  if (const Status written = file.finish(report.text); !written) {
    std::fprintf(stderr, "detgemm conform: %s\n", printable(written.message()).c_str());
    report.exit = kFailed;
    return;
  }
  report.text = outcome + "; the report is in " + printable(file.path()) + "\n";
}

namespace {

/// Tests with `test`, writes the files, and returns what goes to stdout.
template <class Test>
Report report_of(const ConformOptions& options, Test&& test) {
  check_fail_on(options);
  isolation_of(options);
  const conformance::Options harness = harness_options(options);
  const std::string expected = read_expected(options);
  conformance::Report none;
  need(conformance::expect_failures(none, expected));
  std::vector<ReportFile> file;
  if (!options.output.empty()) {
    file.emplace_back(options.output, std::vector{options.engine, options.expect});
  }
  std::vector<Saved> saved = open_saved(options);
  Console console([&](const conformance::Cell& cell) {
    if (!file.empty()) file.front().note(conformance::line_of(conformance::to_json(cell)));
  });
  conformance::Options watched = harness;
  watched.observer = &console;
  auto reports = test(watched, console);
  const auto unused = unused_lines(expected, reports);

  Report report;
  report.exit = exit_of(reports, options);
  report.text = render(options.format, reports);
  report.json = Json::parse(conformance::render_json(reports));
  const bool whole = report.exit == kOk || report.exit == kFailed || report.exit == kNothingRan;
  if (whole && !unused.empty()) {
    for (const std::string& line : unused) {
      std::fprintf(stderr, "detgemm conform: expected to fail, and did not: %s\n", line.c_str());
    }
    report.exit = kFailed;
  }
  // A file that is there is not replaced by half a report: that goes to stdout.
  if (whole && !file.empty()) move_to_file(report, file.front(), outcome_of(report));
  for (Saved& one : saved) {
    Report copy;
    copy.text = render(one.format, reports);
    if (whole) move_to_file(copy, one.file, "");
    if (copy.exit == kFailed) report.exit = kFailed;
  }
  return report;
}

}  // namespace

/// On all ranks of a job, of which one writes the report; its exit code is that of all.
Report run_job(const ConformOptions& options) {
  Job job(options);
  ConformOptions here = options;
  if (!job.speaks()) {
    here.output.clear();
    here.save.clear();
  }
  const auto run = [&]() -> Report {
    if (here.controls) {
      return job.controls(here.level(), parse_seed("seed", here.seed), here.format == "markdown");
    }
    return report_of(
        here, [&](const conformance::Options& harness, Console&) { return job.test(harness); });
  };
  try {
    Report report = run();
    report.exit = job.agree(report.exit);
    return report;
  } catch (const Refusal& refusal) {
    job.agree(refusal.exit());
    if (job.speaks()) throw;
    Report silent;
    silent.exit = refusal.exit();
    return silent;
  }
}

Report run_conform(const ConformOptions& options) {
  return report_of(options, [&](const conformance::Options& harness, Console& console) {
    return test_all(options, harness, console);
  });
}

}  // namespace detgemm::cli

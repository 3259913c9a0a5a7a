// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "core/cli/arguments.hpp"
#include "core/cli/build_info.hpp"
#include "core/cli/command.hpp"
#include "core/cli/conform_controls.hpp"
#include "core/cli/conform_engines.hpp"
#include "core/cli/files.hpp"
#include "core/cli/subcommands.hpp"
#include "core/conformance/harness.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "Prove or refute that a backend keeps its promises: same bits for any batch, layout, cut, "
    "thread, kernel, and the reference's bits";
constexpr const char* kFooter =
    R"(Use it on a new machine, after a change to a kernel, and on a GEMM of your own. Everything is
compared byte for byte; the only tolerance is the derived error bound (docs/error-bound.md). Failed,
mistrusted (the data could not have shown a difference) and untested (an error) make the run fail;
skipped and unsupported come with their reason. Each failure ends with the command that repeats it
alone. With -o the report goes to a file, and stdout gets one line that says so.

Examples:
  detgemm conform                                   every backend that can run here, quickly
  detgemm conform --backend reference --full --report markdown -o conformance.md
  detgemm conform --contract "hopper/bf16/tree:512->bf16" --property batch
  detgemm conform --controls                        broken engines, each of which must be found
  detgemm conform --engine ./libmine.so             your own GEMM, see detgemm/engine.h

Exit codes: 0 everything that ran passed; 1 something failed, or the report could not be written
in full; 2 a wrong argument, name or file; 3 nothing ran, or the backend is not available here.)";

constexpr std::array<std::string_view, 4> kFormats{"text", "markdown", "json", "junit"};

struct ConformOptions {
  std::string backend = "all";
  std::string engine;
  std::vector<std::string> contracts;
  std::vector<std::string> properties;
  bool quick = false;
  bool full = false;
  bool controls = false;
  bool list = false;
  std::string seed = "1";
  std::string only_case;
  std::string threads = "0";
  std::string format = "text";
  std::string output;

  conformance::Level level() const {
    return full ? conformance::Level::full : conformance::Level::quick;
  }
};

void check(const ConformOptions& options) {
  if (options.quick && options.full) refuse("conform takes either --quick or --full");
  if (options.controls && options.list) refuse("conform takes either --controls or --list");
  if (!options.engine.empty() && options.backend != "all") {
    refuse("conform takes either --backend or --engine");
  }
  if (std::find(kFormats.begin(), kFormats.end(), options.format) == kFormats.end()) {
    refuse("report is " + in_quotes(options.format) +
           ": it must be one of text, markdown, json, junit");
  }
  if ((options.controls || options.list) && options.format == "junit") {
    refuse("report is \"junit\": --controls and --list take text, markdown or json");
  }
}

conformance::Options harness_options(const ConformOptions& options) {
  conformance::Options harness;
  harness.properties = options.properties;
  harness.level = options.level();
  harness.seed = parse_seed("seed", options.seed);
  if (!options.only_case.empty()) harness.only_case = parse_size("case", options.only_case);
  for (const std::string& text : options.contracts) {
    harness.contracts.push_back(need(Contract::parse(text)));
  }
  return harness;
}

std::string render(const std::string& format, const std::vector<conformance::Report>& reports) {
  if (format == "markdown") return conformance::render_markdown(reports);
  if (format == "json") return conformance::render_json(reports);
  if (format == "junit") return conformance::render_junit(reports);
  return conformance::render_text(reports);
}

/// One property per line.
Report list_properties(bool markdown) {
  Report report;
  report.json["command"] = "conform";
  report.json["properties"] = Json::array();
  if (markdown) report.text = "| property | claim |\n|---|---|\n";
  for (const conformance::Property& property : conformance::properties()) {
    report.json["properties"].push_back({{"property", property.name}, {"claim", property.claim}});
    std::string name(property.name);
    if (!markdown) name.resize(std::max<std::size_t>(name.size(), 16), ' ');
    const std::string claim(property.claim);
    report.text += markdown ? "| " + name + " | " + claim + " |\n" : name + " " + claim + "\n";
  }
  return report;
}

/// Runs the harness on every candidate.
std::vector<conformance::Report> run_harness(const ConformOptions& options) {
  conformance::Options harness = harness_options(options);
  const auto list =
      options.engine.empty() ? candidates(options.backend) : candidate_from_file(options.engine);
  Progress progress;
  harness.progress = [&](std::size_t done, std::size_t total, const std::string& cell) {
    progress.show(std::to_string(done + 1) + "/" + std::to_string(total) + " " + cell);
  };
  std::vector<conformance::Report> reports;
  for (const Candidate& one : list) {
    harness.engine = one.engine;
    harness.oracle = one.oracle;
    harness.engine_flag = one.flag;
    reports.push_back(need(conformance::run_conformance(harness)));
    reports.back().commit = kCommit;
  }
  return reports;
}

Report test(const ConformOptions& options) {
  const auto reports = run_harness(options);
  bool ran = false;
  bool passed = true;
  for (const conformance::Report& one : reports) {
    ran = ran || one.ran();
    passed = passed && (one.passed() || !one.ran());
  }
  Report report;
  report.text = render(options.format, reports);
  report.json = Json::parse(conformance::render_json(reports));
  report.exit = !ran ? kNothingRan : passed ? kOk : kFailed;
  return report;
}

/// The report's text goes to the file, and a line on stdout says so.
void move_to_file(Report& report, OutputFile& file, const std::string& path) {
  file.write(report.text.data(), report.text.size());
  const char* verdict = report.exit == kOk       ? "passed"
                        : report.exit == kFailed ? "failed"
                                                 : "nothing ran";
  report.text = std::string(verdict) + "; the report is in " + printable(path) + "\n";
}

Report conform(const ConformOptions& options) {
  check(options);
  const int threads = parse_threads(options.threads);
  const std::uint64_t seed = parse_seed("seed", options.seed);
  std::optional<OutputFile> file;
  if (!options.output.empty()) file.emplace(options.output, std::vector{options.engine});
  const Runtime runtime = need(Runtime::start({threads}));
  const bool markdown = options.format == "markdown";
  Report report = options.list       ? list_properties(markdown)
                  : options.controls ? run_controls(options.level(), seed, markdown)
                                     : test(options);
  if ((options.list || options.controls) && options.format == "json") {
    report.text = report.json.dump(1) + "\n";
  }
  if (file) move_to_file(report, *file, options.output);
  return report;
}

}  // namespace

void register_conform(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<ConformOptions>();
  Command command(root, exit_code, "conform", kSummary);
  command.group("What is tested");
  command.option("--backend", "NAME", options->backend,
                 "a backend, skeleton, control:NAME, or all that can run here");
  command.option("--engine", "FILE", options->engine, "a shared object with your own GEMM");
  command.repeated("--contract", "CONTRACT", options->contracts,
                   "may be repeated; else every arithmetic and input type under chain, fold and "
                   "tree");
  command.repeated("--property", "NAME", options->properties, "may be repeated; else all");
  command.flag("--controls", options->controls,
               "show that the engines that must fail do, each by the property meant for it");
  command.flag("--list", options->list, "list the properties and what each claims");
  command.group("How");
  command.flag("--quick", options->quick, "small problems (the default)");
  command.flag("--full", options->full, "larger problems and more of them");
  command.option("--seed", "SEED", options->seed, "of shapes and data, 0 to 2^64 - 1");
  command.option("--case", "INDEX", options->only_case, "run only this case of each property");
  command.option("--threads", "COUNT", options->threads, "host threads; 0 for all");
  command.group("Report");
  command.option("--report", "FORMAT", options->format, "text, markdown, json or junit");
  command.option("-o,--output", "FILE", options->output,
                 "write the report to this file; replaced if it exists");
  command.footer(kFooter);
  command.action([options] { return conform(*options); });
}

}  // namespace detgemm::cli

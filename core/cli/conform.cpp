// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>

#include "core/cli/build_info.hpp"
#include "core/cli/conform_controls.hpp"
#include "core/cli/conform_engines.hpp"
#include "core/cli/subcommands.hpp"
#include "core/conformance/harness.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {
namespace {

enum Exit { kPassed = 0, kFailed = 1, kUsage = 2, kNothingRan = 3 };

constexpr const char* kSummary =
    "Prove or refute that a backend keeps its promises: same bits for any batch, layout, cut, "
    "thread, kernel, and the reference's bits";
constexpr const char* kFooter =
    R"(Everything is compared byte for byte; the only tolerance is the derived error bound
(docs/error-bound.md). Failed, mistrusted (the data could not have shown a difference) and
untested (an error) make the run fail; skipped and unsupported come with their reason. Each
failure ends with the command that repeats it alone.

Examples:
  detgemm conform                                   every backend that can run here, quickly
  detgemm conform --backend reference --full --report markdown -o conformance.md
  detgemm conform --contract 'hopper/bf16/tree:512->bf16' --property batch
  detgemm conform --controls                        broken engines, each of which must be found
  detgemm conform --engine ./libmine.so             your own GEMM, see detgemm/engine.h

Exit codes: 0 all passed; 1 something failed; 2 asked wrongly; 3 nothing ran.)";

struct Choices {
  std::string backend = "all";
  std::string engine;
  std::vector<std::string> contracts;
  std::vector<std::string> properties;
  bool quick = false;
  bool full = false;
  bool controls = false;
  bool list = false;
  std::uint64_t seed = 1;
  std::int64_t only_case = -1;
  int threads = 0;
  std::string report = "text";
  std::string output;
};

int refuse(const Status& status, int code = kUsage) {
  std::fprintf(stderr, "detgemm conform: %s\n", status.message().c_str());
  return code;
}

int write(const std::string& text, const std::string& file) {
  if (file.empty()) return std::fputs(text.c_str(), stdout) < 0 ? kFailed : kPassed;
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (stream) return kPassed;
  return refuse({Errc::io, "output \"" + file + "\" cannot be written"}, kFailed);
}

std::string render(const std::string& format, const std::vector<conformance::Report>& reports) {
  if (format == "markdown") return conformance::render_markdown(reports);
  if (format == "json") return conformance::render_json(reports);
  if (format == "junit") return conformance::render_junit(reports);
  return conformance::render_text(reports);
}

/// One line on stderr that the next replaces, on a terminal only.
void show_progress(std::size_t done, std::size_t total, const std::string& what) {
  std::fprintf(stderr, "\r\033[K%zu/%zu %s", done, total, what.c_str());
  std::fflush(stderr);
}

int list_properties() {
  for (const conformance::Property& property : conformance::properties()) {
    std::printf("%-16.*s %.*s\n", static_cast<int>(property.name.size()), property.name.data(),
                static_cast<int>(property.claim.size()), property.claim.data());
  }
  return kPassed;
}

int test(const Choices& choices) {
  auto list =
      choices.engine.empty() ? candidates(choices.backend) : candidate_from_file(choices.engine);
  if (!list) return refuse(list.status());
  conformance::Options options;
  options.properties = choices.properties;
  options.level = choices.full ? conformance::Level::full : conformance::Level::quick;
  options.seed = choices.seed;
  if (choices.only_case >= 0) options.only_case = choices.only_case;
  for (const std::string& text : choices.contracts) {
    auto contract = Contract::parse(text);
    if (!contract) return refuse(contract.status());
    options.contracts.push_back(*contract);
  }
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) options.progress = show_progress;
  std::vector<conformance::Report> reports;
  bool passed = true;
  bool ran = false;
  for (const Candidate& one : *list) {
    options.engine = one.engine;
    options.oracle = one.oracle;
    options.engine_flag = one.flag;
    auto report = conformance::run_conformance(options);
    if (terminal) std::fputs("\r\033[K", stderr);
    if (!report) {
      const bool absent = report.status().code() == Errc::unavailable;
      return refuse(report.status(), absent ? kNothingRan : kUsage);
    }
    report->commit = kCommit;
    ran = ran || report->ran();
    passed = passed && (report->passed() || !report->ran());
    reports.push_back(std::move(report).value());
  }
  const int written = write(render(choices.report, reports), choices.output);
  if (written != kPassed) return written;
  return !ran ? kNothingRan : passed ? kPassed : kFailed;
}

int run(const Choices& choices) {
  if (choices.list) return list_properties();
  auto runtime = Runtime::start({choices.threads});
  if (!runtime) return refuse(runtime.status(), kFailed);
  if (!choices.controls) return test(choices);
  auto table = run_controls(choices.full ? conformance::Level::full : conformance::Level::quick,
                            choices.seed, choices.report == "markdown");
  if (!table) return refuse(table.status(), kFailed);
  const int written = write(table->text, choices.output);
  if (written != kPassed) return written;
  return table->all_caught ? kPassed : kFailed;
}

}  // namespace

void register_conform(CLI::App& root, int& exit_code) {
  auto choices = std::make_shared<Choices>();
  CLI::App& app = *root.add_subcommand("conform", kSummary);
  app.footer(kFooter);
  auto* backend = app.add_option("--backend", choices->backend,
                                 "a backend's name, or all that can run here (default); also "
                                 "skeleton and control:NAME");
  app.add_option("--engine", choices->engine, "a shared object with your own GEMM")
      ->excludes(backend);
  app.add_option("--contract", choices->contracts,
                 "a contract, may be repeated; default: every arithmetic and input type under "
                 "chain, fold and tree");
  app.add_option("--property", choices->properties, "a property, may be repeated; default: all");
  auto* quick = app.add_flag("--quick", choices->quick, "small problems (default)");
  app.add_flag("--full", choices->full, "larger problems and more of them")->excludes(quick);
  app.add_option("--seed", choices->seed, "what shapes and data are drawn from");
  app.add_option("--case", choices->only_case, "run only this case of each property")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", choices->threads, "host threads of the reference; 0 for all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--report", choices->report, "what to write")
      ->check(CLI::IsMember({"text", "markdown", "json", "junit"}));
  app.add_option("-o,--output", choices->output, "write the report to this file");
  app.add_flag("--controls", choices->controls,
               "show that the engines that must fail do, each by the property meant for it");
  app.add_flag("--list", choices->list, "list the properties and what each claims");
  app.callback([choices, &exit_code] { exit_code = run(*choices); });
}

}  // namespace detgemm::cli

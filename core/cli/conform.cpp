// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>

#include "core/cli/arguments.hpp"
#include "core/cli/command.hpp"
#include "core/cli/conform_controls.hpp"
#include "core/cli/conform_run.hpp"
#include "core/cli/subcommands.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "Prove or refute that a backend keeps its promises: same bits for any batch, layout, cut, "
    "thread, kernel, and the reference's bits";
constexpr const char* kFooter =
    R"(Use it on a new machine, after a change to a kernel, and on a GEMM of your own. Everything is
compared byte for byte; the only tolerance is the derived error bound (docs/error-bound.md). Failed,
mistrusted (the data could not have shown a difference) and untested (an error) make the run fail;
skipped and unsupported have their reason. Each failure ends with the command that repeats it
alone. What is tested runs in a process of its own: an engine that exits, crashes or does not return
fails the case in which it does, and the rest is tested all the same. With -o the report goes to a
file, and stdout gets one line about it; Ctrl-C prints what has finished.

Examples:
  detgemm conform                                   every backend that can run here, quickly
  detgemm conform --backend reference --full --report markdown -o conformance.md
  detgemm conform --contract "hopper/bf16/tree:512->bf16" --property batch
  detgemm conform --controls                        broken engines, each of which must be found
  detgemm conform --engine ./libmine.so             your own GEMM, see detgemm/engine.h
  detgemm conform --transport threads:3             K spread over three ranks, in every way there is
  mpirun -n 3 detgemm conform --transport mpi       the same with processes; one of them prints
  detgemm conform --engine ./libmine.so --save junit=r.xml --save summary="$GITHUB_STEP_SUMMARY"

Exit codes: 0 everything that ran passed; 1 something failed, or the report could not be written
in full; 2 a wrong argument, name or file; 3 nothing ran, or the backend is not available here;
130 ended by Ctrl-C.)";

void check(const ConformOptions& options) {
  if (options.quick && options.full) refuse("conform takes either --quick or --full");
  if (options.controls && options.list) refuse("conform takes either --controls or --list");
  const bool chooses = options.backend != "all" || !options.engine.empty() ||
                       !options.contracts.empty() || !options.properties.empty() ||
                       !options.skip.empty() || !options.only_case.empty();
  if ((options.controls || options.list) && chooses) {
    refuse(
        "--controls and --list take no --backend, --engine, --contract, --property, --skip or "
        "--case: "
        "what they run or list is fixed");
  }
  if (!options.engine.empty() && options.backend != "all") {
    refuse("conform takes either --backend or --engine");
  }
  if (!options.transport.empty() && (!options.engine.empty() || options.list)) {
    refuse(
        "--transport takes no --engine and no --list: ranks compute with backends of this build");
  }
  if (options.jobs != "0" &&
      (options.controls || options.list || options.in_process || !options.transport.empty())) {
    refuse(
        "--controls, --list, --in-process and --transport take no --jobs: they run in one process "
        "each");
  }
  check_format(options.format);
  const bool of_runs =
      options.format == "junit" || options.format == "badge" || options.format == "summary";
  if ((options.controls || options.list) && of_runs) {
    refuse("report is " + in_quotes(options.format) +
           ": --controls and --list take text, markdown or json");
  }
  if ((options.controls || options.list) && !options.save.empty()) {
    refuse("--controls and --list take no --save: there is no report of a run");
  }
}

/// One property per line.
Report list_properties(bool markdown) {
  Report report;
  report.json["command"] = "conform";
  report.json["properties"] = Json::array();
  if (markdown) report.text = "| property | claim |\n|---|---|\n";
  for (const conformance::PropertyName& property : conformance::property_names()) {
    report.json["properties"].push_back({{"property", property.name}, {"claim", property.claim}});
    std::string name(property.name);
    if (!markdown) name.resize(std::max<std::size_t>(name.size(), 16), ' ');
    const std::string claim(property.claim);
    report.text += markdown ? "| " + name + " | " + claim + " |\n" : name + " " + claim + "\n";
  }
  return report;
}

Report conform(const ConformOptions& options) {
  check(options);
  parse_threads(options.threads);
  const std::uint64_t seed = parse_seed("seed", options.seed);
  if (!options.list && !options.controls && options.transport.empty()) return run_conform(options);
  if (!options.list && !options.transport.empty() && !options.controls) return run_job(options);
  std::vector<ReportFile> file;
  if (!options.output.empty()) file.emplace_back(options.output, std::vector<std::string>{});
  const bool markdown = options.format == "markdown";
  Report report = options.list                ? list_properties(markdown)
                  : options.transport.empty() ? run_controls(options.level(), seed, markdown)
                                              : run_job(options);
  if (options.format == "json") report.text = report.json.dump(1) + "\n";
  if (!file.empty()) {
    move_to_file(report, file.front(), options.list ? "listed" : outcome_of(report));
  }
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
  command.option("--transport", "RANKS", options->transport,
                 "threads:P or mpi: test ranks together, as one product spread over them");
  command.repeated("--contract", "CONTRACT", options->contracts,
                   "may be repeated; else every arithmetic and input type under chain, fold and "
                   "tree");
  command.repeated("--property", "NAME", options->properties, "may be repeated; else all");
  command.repeated("--skip", "NAME", options->skip, "leave this property out; may be repeated");
  command.flag("--controls", options->controls,
               "show that the engines that must fail do, each by the property meant for it");
  command.flag("--list", options->list, "list the properties and what each claims");
  command.group("How");
  command.flag("--quick", options->quick, "small problems (the default)");
  command.flag("--full", options->full, "larger problems and more of them");
  command.option("--seed", "SEED", options->seed, "of shapes and data, 0 to 2^64 - 1");
  command.option("--case", "INDEX", options->only_case, "run only this case of each property");
  command.option("--soak", "CALLS", options->soak,
                 "further calls in each case of run_to_run, to find late failures");
  command.option("--threads", "COUNT", options->threads, "host threads; 0 for all");
  command.option("--jobs", "COUNT", options->jobs,
                 "processes that test side by side; 0 for one per processor, of a backend of the "
                 "host, else one");
  command.option("--timeout", "SECONDS", options->timeout, "the longest that a case may take");
  command.flag("--in-process", options->in_process,
               "for debuggers: run the engine in this process, where a crash ends the command");
  command.group("Verdict");
  command.repeated("--fail-on", "VERDICT", options->fail_on,
                   "unsupported or skipped: fail there too; may be repeated");
  command.option("--expect", "FILE", options->expect,
                 "lines PROPERTY CONTRACT (or *): cells that are known to fail");
  command.group("Report");
  command.option("--report", "FORMAT", options->format,
                 "text, markdown, summary, json, junit or badge");
  command.option("-o,--output", "FILE", options->output,
                 "write the report to this file; one that exists is replaced by a whole one");
  command.repeated("--save", "FORMAT=FILE", options->save,
                   "write this report too; may be repeated");
  command.footer(kFooter);
  command.action([options] { return conform(*options); });
}

}  // namespace detgemm::cli

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "core/cli/arguments.hpp"
#include "core/cli/report.hpp"
#include "core/cli/subcommands.hpp"
#include "detgemm/version.hpp"

namespace {

constexpr const char* kAbout =
    "detgemm: C = A*B under a written contract, with the same bits for a row whatever batch it "
    "rides in, on every backend.";

constexpr const char* kFooter = R"(
Start here:
  detgemm info                                         what this build can do
  detgemm run --contract hopper/bf16/chain --m 8 --n 64 --k 256
  detgemm explain --contract "hopper/bf16/tree:512->bf16" --m 8 --n 64 --k 4096
  detgemm SUBCOMMAND --help                            options and examples of one subcommand

A contract reads ARITHMETIC/INPUT/REDUCTION->OUTPUT. Quote it in a shell, because of the '>'.

Exit codes, the same for every subcommand: 0 done, and what was checked holds; 1 tried and failed; 2 a
wrong argument, name or file; 3 nothing ran, or no backend here does it.)";

/// Whether the answer should be JSON, when the command line itself could not be read.
bool asks_for_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

/// Refuses a first word that is no subcommand by name; CLI11 would only say one is missing.
void need_subcommand(const CLI::App& root, const char* word) {
  if (word == nullptr || word[0] == '-') return;
  std::string known;
  for (const CLI::App* sub : root.get_subcommands({})) {
    if (sub->get_name() == word) return;
    known += (known.empty() ? "" : ", ") + sub->get_name();
  }
  detgemm::cli::refuse("subcommand is " + detgemm::cli::in_quotes(word) + ": it must be one of " +
                       known);
}

/// The subcommand that was being read when parsing stopped, for the hint.
std::string reached(const CLI::App& root) {
  std::string name = root.get_name();
  for (const CLI::App* sub : root.get_subcommands()) name += " " + sub->get_name();
  return name;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace detgemm;
  CLI::App root(kAbout, "detgemm");
  root.footer(kFooter);
  root.set_version_flag("--version", std::string("detgemm ") + version());
  root.require_subcommand(1);
  int exit_code = cli::kNothingRan;
  cli::register_info(root, exit_code);
  cli::register_explain(root, exit_code);
  cli::register_run(root, exit_code);
  cli::register_digest(root, exit_code);
  cli::register_golden(root, exit_code);
  cli::register_conform(root, exit_code);
  cli::register_bench(root, exit_code);
  try {
    if (argc > 1 && std::strcmp(argv[1], "bench") == 0) cli::run_bench_program(argc, argv);
    need_subcommand(root, argc > 1 ? argv[1] : nullptr);
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // --help, --version
    const bool json = asks_for_json(argc, argv);
    const std::string command = reached(root);
    const int code = cli::emit_error(command, cli::Refusal(invalid(error.what())), json);
    if (!json) std::fprintf(stderr, "Try '%s --help'.\n", command.c_str());
    return code;
  } catch (const cli::Refusal& refusal) {
    return cli::emit_error("detgemm", refusal, asks_for_json(argc, argv));
  } catch (const std::exception& error) {
    return cli::emit_error("detgemm", cli::Refusal({Errc::internal, error.what()}),
                           asks_for_json(argc, argv));
  }
  return exit_code;
}

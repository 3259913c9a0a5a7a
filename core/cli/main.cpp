// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "core/arithmetic/floating_point_mode.hpp"
#include "core/cli/arguments.hpp"
#include "core/cli/conform_job.hpp"
#include "core/cli/report.hpp"
#include "core/cli/subcommands.hpp"
#include "core/cli/syntax.hpp"
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
  detgemm help SUBCOMMAND                              options and examples of one subcommand

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

/// The command line's words, with `help [SUBCOMMAND]` and `version` as the options that they stand
/// for.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "version") return {"--version"};
  if (!words.empty() && words[0] == "help" && words.size() <= 2) {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
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
  const arithmetic::FloatingPointMode ieee;  // a preloaded library may have set another
  CLI::App root(kAbout, "detgemm");
  root.footer(kFooter);
  root.set_version_flag("--version", std::string("detgemm ") + version());
  root.require_subcommand(1);
  int exit_code = cli::kNothingRan;
  cli::register_info(root, exit_code);
  cli::register_explain(root, exit_code);
  cli::register_run(root, exit_code);
  cli::register_digest(root, exit_code);
  cli::register_snap(root, exit_code);
  cli::register_golden(root, exit_code);
  cli::register_verify(root, exit_code);
  cli::register_conform(root, exit_code);
  cli::register_bench(root, exit_code);
  cli::register_preload(root, exit_code);
  cli::register_completion(root, exit_code);
  cli::register_man(root, exit_code);
  try {
    auto words = words_of(argc, argv);
    if (!words.empty() && cli::is_bench_task(words[0])) cli::run_bench_program(words);
    if (cli::mpi_door == nullptr && cli::asks_for_mpi(words)) cli::run_mpi_program(words);
    if (!words.empty() && words[0] == "preload") {
      cli::run_preloaded({words.begin() + 1, words.end()});
    }
    cli::check_words(cli::syntax_of(root), words);
    std::reverse(words.begin(), words.end());  // as the parser takes them
    root.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      root.exit(error, text, text);
      cli::Report report;
      report.text = text.str();
      return cli::emit(report, false);
    }
    const bool json = asks_for_json(argc, argv);
    const std::string command = reached(root);
    const int code = cli::emit_error(command, cli::Refusal(invalid(error.what())), json);
    if (!json) std::fprintf(stderr, "Try '%s --help'.\n", command.c_str());
    return code;
  } catch (const cli::Refusal& refusal) {
    const bool known = argc > 1 && cli::syntax_of(root).find(argv[1]) != nullptr;
    const std::string command = known ? std::string("detgemm ") + argv[1] : "detgemm";
    const int code = cli::emit_error(command, refusal, asks_for_json(argc, argv));
    if (!asks_for_json(argc, argv) && code == cli::kUsage) {
      std::fprintf(stderr, "Try '%s --help'.\n", command.c_str());
    }
    return code;
  } catch (const std::exception& error) {
    return cli::emit_error("detgemm", cli::Refusal({Errc::internal, error.what()}),
                           asks_for_json(argc, argv));
  }
  return exit_code;
}

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "core/cli/arguments.hpp"
#include "core/cli/command.hpp"
#include "core/cli/subcommands.hpp"
#include "core/cli/syntax.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kCompletion = "Print a script with which a shell completes this command";
constexpr const char* kCompletionFooter =
    R"(Use it where detgemm was not installed by a package, which brings these files along.

Examples:
  detgemm completion bash > ~/.local/share/bash-completion/completions/detgemm
  detgemm completion zsh > ~/.zfunc/_detgemm           with ~/.zfunc in fpath
  detgemm completion fish > ~/.config/fish/completions/detgemm.fish

Exit codes: 0 printed; 1 stdout could not be written; 2 a wrong argument.)";
constexpr const char* kMan = "Print the manual page";
constexpr const char* kManFooter =
    R"(Use it to read all of the help at once. The page is made from what --help prints.

Examples:
  detgemm man | man -l -
  detgemm man > detgemm.1

Exit codes: 0 printed; 1 stdout could not be written; 2 a wrong argument.)";

Report printed(const char* command, std::string text) {
  Report report;
  report.json["command"] = command;
  report.json["text"] = text;
  report.text = std::move(text);
  return report;
}

}  // namespace

void register_completion(CLI::App& root, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  Command command(root, exit_code, "completion", kCompletion);
  command.word("SHELL", *shell, "bash, zsh or fish");
  command.footer(kCompletionFooter);
  command.action(
      [&root, shell] { return printed("completion", completion(syntax_of(root), *shell)); });
}

void register_man(CLI::App& root, int& exit_code) {
  Command command(root, exit_code, "man", kMan);
  command.footer(kManFooter);
  command.action([&root] { return printed("man", man_page(syntax_of(root))); });
}

}  // namespace detgemm::cli

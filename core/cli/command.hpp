// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/cli/report.hpp"

namespace CLI {
class App;
}

namespace detgemm::cli {

/// One subcommand. It wraps CLI11, so that only command.cpp and main.cpp compile that header. The
/// variables bound to options must live as long as the root does: keep them in a shared_ptr that
/// the action holds.
class Command {
 public:
  /// `--json` belongs to every subcommand and is added here.
  Command(CLI::App& root, int& exit_code, const std::string& name, const std::string& summary);

  /// Options added from here on are listed under this heading.
  void group(const std::string& heading) { group_ = heading; }
  /// `kind` stands for the value in the help, for example FILE. Values stay text here, so that a
  /// wrong one is refused with a sentence that names it.
  void option(const std::string& names, const std::string& kind, std::string& value,
              const std::string& help);
  /// An option that may be given more than once.
  void repeated(const std::string& names, const std::string& kind, std::vector<std::string>& values,
                const std::string& help);
  void required(const std::string& names, const std::string& kind, std::string& value,
                const std::string& help);
  /// Arguments without a dash: one, or any number.
  void positional(const std::string& name, std::string& value, const std::string& help);
  void positional(const std::string& name, std::vector<std::string>& values,
                  const std::string& help);
  /// One required argument without a dash that is no file.
  void word(const std::string& name, std::string& value, const std::string& help);
  void flag(const std::string& names, bool& value, const std::string& help);
  /// Text below the options: examples and exit codes.
  void footer(const std::string& text);
  /// The function that runs. Whatever it throws becomes a sentence and an exit code.
  void action(std::function<Report()> run);

 private:
  CLI::App& app_;
  int& exit_code_;
  std::string group_ = "Options";
};

}  // namespace detgemm::cli

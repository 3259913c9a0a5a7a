// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace detgemm::cli {

/// One option of a subcommand, or an argument without a dash.
struct OptionSyntax {
  std::vector<std::string> names;  ///< "--output", "-o"; empty for a positional argument
  std::string positional;          ///< its name, for example "PATH"; else empty
  std::string value;               ///< what stands for the value in the help; empty for a flag
  std::string help;
  std::string fallback;  ///< the default, where there is one
  bool required = false;
};

struct CommandSyntax {
  std::string name, summary, footer;
  std::vector<OptionSyntax> options;

  /// The option of that name, or null.
  const OptionSyntax* find(std::string_view name) const;
};

/// Everything that a command line may hold, read back from the parser, so that the help, the man
/// page, the completions and the hints after a misspelling cannot differ.
struct Syntax {
  std::string about, footer;
  std::vector<CommandSyntax> commands;

  const CommandSyntax* find(std::string_view name) const;
};

Syntax syntax_of(const CLI::App& root);

/// Throws a Refusal for a subcommand, an option or a bare word that the parser would refuse for
/// another reason (a missing option) or without a hint. `words` is the command line after the
/// program's name.
void check_words(const Syntax& syntax, const std::vector<std::string>& words);

/// The manual page detgemm(1) in roff, and completion scripts for the shells that `shells` names.
std::string man_page(const Syntax& syntax);
const std::vector<std::string>& shells();
std::string completion(const Syntax& syntax, std::string_view shell);

}  // namespace detgemm::cli

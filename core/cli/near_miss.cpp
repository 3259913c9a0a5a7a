// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/near_miss.hpp"

#include <algorithm>
#include <cctype>

#include "core/cli/arguments.hpp"
#include "core/cli/refusal.hpp"
#include "core/cli/syntax.hpp"

namespace detgemm::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && (std::isalpha(word[1]) != 0 || word[1] == '-');
}

void check_option(const CommandSyntax& command, const std::string& name) {
  if (command.find(name) != nullptr) return;
  // Short options may be written together with their value, and are the parser's to read.
  if (name.size() > 2 && name[1] != '-' && command.find(name.substr(0, 2)) != nullptr) return;
  std::vector<std::string> known;
  for (const OptionSyntax& option : command.options) {
    known.insert(known.end(), option.names.begin(), option.names.end());
  }
  refuse("option is " + in_quotes(name) + ": detgemm " + command.name +
         " has no option of that name" + did_you_mean(name, known));
}

void check_bare_word(const CommandSyntax& command, const std::string& word) {
  for (const OptionSyntax& option : command.options) {
    if (option.names.empty()) return;
  }
  const bool contract = std::count(word.begin(), word.end(), '/') == 2;
  refuse("argument is " + in_quotes(word) + ": detgemm " + command.name +
         " takes options alone, each with its name" +
         (contract && command.find("--contract") != nullptr ? ", such as --contract " + word : ""));
}

}  // namespace

void check_words(const Syntax& syntax, const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty() || words[0][0] == '-') return;
  const CommandSyntax* command = syntax.find(words[0]);
  if (command == nullptr) {
    std::vector<std::string> known;
    for (const CommandSyntax& one : syntax.commands) known.push_back(one.name);
    refuse("subcommand is " + in_quotes(words[0]) + ": it must be one of " + joined(known) +
           did_you_mean(words[0], known));
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--") return;
    if (!is_option(words[i])) {
      check_bare_word(*command, words[i]);
      continue;
    }
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    check_option(*command, name);
    const OptionSyntax* option = command->find(name);
    if (option != nullptr && !option->value.empty() && equals == std::string::npos) ++i;
  }
}

}  // namespace detgemm::cli

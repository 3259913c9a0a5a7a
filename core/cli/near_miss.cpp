// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cctype>

#include "core/cli/arguments.hpp"
#include "core/cli/refusal.hpp"
#include "core/cli/syntax.hpp"

namespace detgemm::cli {
namespace {

/// Insertions, removals, replacements and exchanges of neighbours that turn one word into the
/// other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

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
  refuse("option is " + in_quotes(name) + ": detgemm " + command.name + " has none of that name" +
         did_you_mean(name, known));
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

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.size() > 64) return best;  // nobody misspells that much
  for (const std::string& candidate : known) {
    const std::size_t far = distance(word, candidate);
    if (far < least) {
      least = far;
      best = candidate;
    }
  }
  return best;
}

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

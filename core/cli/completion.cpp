// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/refusal.hpp"
#include "core/cli/syntax.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kLicence =
    "# SPDX-"
    "FileCopyrightText: 2026 The detgemm authors\n"
    "# SPDX-"
    "License-Identifier: Apache-2.0\n";

bool wants_file(const OptionSyntax& option) {
  return option.value == "FILE" || option.value == "PATH";
}

/// The names of a command's options that satisfy a condition, joined.
template <class Condition>
std::string names(const CommandSyntax& command, const char* between, Condition&& condition) {
  std::string all;
  for (const OptionSyntax& option : command.options) {
    for (const std::string& name : option.names) {
      if (condition(option)) all += (all.empty() ? "" : between) + name;
    }
  }
  return all;
}

std::string commands(const Syntax& syntax) {
  std::string all = "help version";
  for (const CommandSyntax& command : syntax.commands) all += " " + command.name;
  return all;
}

bool takes_files(const CommandSyntax& command) {
  for (const OptionSyntax& option : command.options) {
    if (option.names.empty() && wants_file(option)) return true;
  }
  return false;
}

std::string bash(const Syntax& syntax) {
  std::string out = std::string("# bash completion for detgemm\n") + kLicence +
                    "_detgemm() {\n"
                    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "  COMPREPLY=()\n"
                    "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                    "    mapfile -t COMPREPLY < <(compgen -W '" +
                    commands(syntax) + " --help --version' -- \"$cur\")\n    return\n  fi\n" +
                    "  case ${COMP_WORDS[1]} in\n";
  for (const CommandSyntax& command : syntax.commands) {
    out += "    " + command.name + ")\n      case $prev in\n";
    const std::string files = names(command, "|", wants_file);
    const std::string others =
        names(command, "|", [](const auto& o) { return !o.value.empty() && !wants_file(o); });
    if (!files.empty()) {
      out += "        " + files + ") mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n";
    }
    if (!others.empty()) out += "        " + others + ") return ;;\n";
    out += "      esac\n      mapfile -t COMPREPLY < <(compgen -W '" +
           names(command, " ", [](const auto&) { return true; }) + "' -- \"$cur\")\n";
    if (command.name == "completion") {
      out += "      mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- \"$cur\")\n";
    } else if (takes_files(command)) {
      out += "      [[ $cur == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n";
    }
    out += "      ;;\n";
  }
  return out + "    help) mapfile -t COMPREPLY < <(compgen -W '" + commands(syntax) +
         "' -- \"$cur\") ;;\n  esac\n}\ncomplete -o filenames -F _detgemm detgemm\n";
}

/// Text inside single quotes of a shell, without what _arguments reads in brackets.
std::string quoted(std::string_view text, bool brackets = false) {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (brackets && (c == '[' || c == ']' || c == ':')) {
      out += "\\";
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string zsh(const Syntax& syntax) {
  std::string out = std::string("#compdef detgemm\n") + kLicence +
                    "local -a commands=(\n  'help:Print the help of a subcommand'\n"
                    "  'version:Print the version'\n";
  for (const CommandSyntax& command : syntax.commands) {
    out += "  '" + command.name + ":" + quoted(command.summary) + "'\n";
  }
  out +=
      ")\nif (( CURRENT == 2 )); then\n  _describe 'subcommand' commands\n  return\nfi\n"
      "case $words[2] in\n";
  for (const CommandSyntax& command : syntax.commands) {
    out += "  " + command.name + ")\n    shift words; (( CURRENT-- ))\n    _arguments";
    for (const OptionSyntax& option : command.options) {
      for (const std::string& name : option.names) {
        out += " \\\n      '*" + name + "[" + quoted(option.help, true) + "]";
        if (!option.value.empty()) {
          out += ":" + option.value + ":" + (wants_file(option) ? "_files" : "");
        }
        out += "'";
      }
      if (option.names.empty()) {
        out += " \\\n      '*:" + option.positional + ":" +
               (command.name == "completion" ? "(bash zsh fish)" : "_files") + "'";
      }
    }
    out += "\n    ;;\n";
  }
  return out + "  help) _describe 'subcommand' commands ;;\nesac\n";
}

std::string fish(const Syntax& syntax) {
  std::string out =
      std::string("# fish completion for detgemm\n") + kLicence + "complete -c detgemm -f\n";
  const std::string first = "complete -c detgemm -n __fish_use_subcommand -a ";
  out += first + "help -d 'Print the help of a subcommand'\n";
  out += first + "version -d 'Print the version'\n";
  for (const CommandSyntax& command : syntax.commands) {
    out += first + command.name + " -d '" + quoted(command.summary) + "'\n";
    const std::string inside =
        "complete -c detgemm -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const OptionSyntax& option : command.options) {
      if (option.names.empty()) {
        out += inside + (command.name == "completion" ? " -a 'bash zsh fish'" : " -F") + "\n";
        continue;
      }
      out += inside;
      for (const std::string& name : option.names) {
        out += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.value.empty()) out += wants_file(option) ? " -r -F" : " -x";
      out += " -d '" + quoted(option.help) + "'\n";
    }
  }
  return out;
}

}  // namespace

const std::vector<std::string>& shells() {
  static const std::vector<std::string> names{"bash", "zsh", "fish"};
  return names;
}

std::string completion(const Syntax& syntax, std::string_view shell) {
  if (shell == "bash") return bash(syntax);
  if (shell == "zsh") return zsh(syntax);
  if (shell == "fish") return fish(syntax);
  refuse("shell is \"" + std::string(shell) + "\": it must be one of bash, zsh, fish");
}

}  // namespace detgemm::cli

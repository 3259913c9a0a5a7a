// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/syntax.hpp"

#include <CLI/CLI.hpp>

namespace detgemm::cli {
namespace {

OptionSyntax syntax_of(const CLI::Option& option) {
  OptionSyntax syntax;
  for (const std::string& name : option.get_lnames()) syntax.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) syntax.names.push_back("-" + name);
  if (syntax.names.empty()) syntax.positional = option.get_name();
  if (option.get_items_expected_max() > 0) syntax.value = option.get_type_name();
  syntax.help = option.get_description();
  syntax.fallback = option.get_default_str();
  syntax.required = option.get_required();
  return syntax;
}

}  // namespace

const OptionSyntax* CommandSyntax::find(std::string_view name) const {
  for (const OptionSyntax& option : options) {
    for (const std::string& known : option.names) {
      if (known == name) return &option;
    }
  }
  return nullptr;
}

const CommandSyntax* Syntax::find(std::string_view name) const {
  for (const CommandSyntax& command : commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

Syntax syntax_of(const CLI::App& root) {
  Syntax syntax{root.get_description(), root.get_footer(), {}};
  for (const CLI::App* app : root.get_subcommands({})) {
    CommandSyntax command{app->get_name(), app->get_description(), app->get_footer(), {}};
    for (const CLI::Option* option : app->get_options()) {
      command.options.push_back(syntax_of(*option));
    }
    syntax.commands.push_back(std::move(command));
  }
  return syntax;
}

}  // namespace detgemm::cli

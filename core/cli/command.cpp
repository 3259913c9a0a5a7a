// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <new>
#include <utility>

namespace detgemm::cli {
namespace {

/// Runs the action; an exception ends in a sentence, never in a crash.
int guarded(const std::string& name, bool json, const std::function<Report()>& run) {
  try {
    return emit(run(), json);
  } catch (const Refusal& refusal) {
    return emit_error(name, refusal, json);
  } catch (const std::bad_alloc&) {
    return emit_error(name, Refusal({Errc::internal, "host memory is exhausted"}), json);
  } catch (const std::exception& error) {
    return emit_error(name, Refusal({Errc::internal, error.what()}), json);
  }
}

}  // namespace

Command::Command(CLI::App& root, int& exit_code, const std::string& name,
                 const std::string& summary)
    : app_(*root.add_subcommand(name, summary)), exit_code_(exit_code) {
  const std::string help = "print one JSON object on stdout, also where something is refused";
  app_.add_flag("--json", help);
}

void Command::option(const std::string& names, const std::string& kind, std::string& value,
                     const std::string& help) {
  app_.add_option(names, value, help)->group(group_)->type_name(kind)->capture_default_str();
}

void Command::repeated(const std::string& names, const std::string& kind,
                       std::vector<std::string>& values, const std::string& help) {
  app_.add_option(names, values, help)->group(group_)->type_name(kind)->allow_extra_args(false);
}

void Command::required(const std::string& names, const std::string& kind, std::string& value,
                       const std::string& help) {
  app_.add_option(names, value, help)->group(group_)->type_name(kind)->required();
}

void Command::positional(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->type_name("FILE");
}

void Command::positional(const std::string& name, std::vector<std::string>& values,
                         const std::string& help) {
  app_.add_option(name, values, help)->type_name("PATH")->required();
}

void Command::word(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->type_name("NAME")->required();
}

void Command::flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag(names, value, help)->group(group_);
}

void Command::footer(const std::string& text) { app_.footer("\n" + text); }

void Command::action(std::function<Report()> run) {
  app_.callback([app = &app_, exit_code = &exit_code_, run = std::move(run)] {
    const bool json = app->count("--json") > 0;
    *exit_code = guarded("detgemm " + app->get_name(), json, run);
  });
}

}  // namespace detgemm::cli

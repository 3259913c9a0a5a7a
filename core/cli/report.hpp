// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/cli/refusal.hpp"

namespace detgemm::cli {

using Json = nlohmann::ordered_json;

/// What a subcommand found, once for people and once for programs.
struct Report {
  Json json = Json::object();
  std::string text;
  Exit exit = kOk;

  /// Adds `label      value` to the text.
  void line(std::string_view label, std::string_view value);
};

/// Prints the text, or the one JSON object, on stdout. Returns the exit code, which is kFailed
/// where stdout could not be written.
int emit(const Report& report, bool json);

/// Prints `{"error": {"code", "message"}}` on stdout, or the sentence on stderr.
int emit_error(std::string_view command, const Refusal& refusal, bool json);

/// One line on stderr that the next one replaces; silent unless stderr is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  void show(const std::string& line);

 private:
  bool terminal_;
};

}  // namespace detgemm::cli

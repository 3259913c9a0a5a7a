// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/report.hpp"

#include <unistd.h>

#include <cstdio>

#include "core/cli/arguments.hpp"

namespace detgemm::cli {
namespace {

constexpr std::size_t kLabelWidth = 12;

/// Writes all of `text` and a line end if it has none; false if stdout does not take it.
bool print(const std::string& text) {
  bool good = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (text.empty() || text.back() != '\n') good = std::fputc('\n', stdout) != EOF && good;
  return std::fflush(stdout) == 0 && good;
}

/// File names need not be UTF-8; bytes that are not are replaced rather than refused.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void Report::line(std::string_view label, std::string_view value) {
  std::string row(label);
  row.resize(row.size() < kLabelWidth ? kLabelWidth : row.size() + 1, ' ');
  text += row + std::string(value) + "\n";
}

int emit(const Report& report, bool json) {
  if (print(json ? dump(report.json) : report.text)) return report.exit;
  std::fputs("detgemm: stdout could not be written\n", stderr);
  return kFailed;
}

int emit_error(std::string_view command, const Refusal& refusal, bool json) {
  if (json) {
    const Json error{{"code", name(refusal.code())}, {"message", refusal.what()}};
    if (print(dump(Json{{"error", error}}))) return refusal.exit();
  }
  std::fprintf(stderr, "%s: %s\n", std::string(command).c_str(), printable(refusal.what()).c_str());
  return refusal.exit();
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::show(const std::string& line) {
  if (terminal_) std::fprintf(stderr, "\r\033[K%.100s", printable(line).c_str());
}

}  // namespace detgemm::cli

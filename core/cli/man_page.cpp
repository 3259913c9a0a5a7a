// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/syntax.hpp"
#include "detgemm/version.hpp"

namespace detgemm::cli {
namespace {

/// Text as roff prints it: no escapes, and no request at the beginning of a line.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = i == 0 || text[i - 1] == '\n';
    if (starts && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Paragraphs as they are, and indented lines (examples) unfilled.
std::string body(std::string_view text) {
  std::string out;
  bool example = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const bool indented = line.starts_with("  ");
    if (indented != example) {
      out += indented ? ".PP\n.nf\n" : ".fi\n.PP\n";
      example = indented;
    } else if (line.empty() && !out.empty()) {
      out += ".PP\n";
    }
    if (!line.empty()) out += roff(line) + "\n";
  }
  return out + (example ? ".fi\n" : "");
}

std::string entry(const OptionSyntax& option) {
  std::string names = option.positional.empty() ? "" : "\\fI" + roff(option.positional) + "\\fR";
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  }
  if (!option.names.empty() && !option.value.empty())
    names += " \\fI" + roff(option.value) + "\\fR";
  std::string out = ".TP\n" + names + "\n" + roff(option.help);
  if (option.required) out += " (required)";
  if (!option.fallback.empty()) out += " (default: " + roff(option.fallback) + ")";
  return out + "\n";
}

}  // namespace

std::string man_page(const Syntax& syntax) {
  std::string page =
      ".TH DETGEMM 1 \"\" \"detgemm " + std::string(version()) + "\" \"User Commands\"\n";
  page += ".SH NAME\ndetgemm \\- matrix products whose bits do not depend on the batch\n";
  page += ".SH SYNOPSIS\n.B detgemm\n\\fISUBCOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  page += ".SH DESCRIPTION\n" + body(syntax.about + "\n" + syntax.footer);
  page += ".SH SUBCOMMANDS\n";
  for (const CommandSyntax& command : syntax.commands) {
    page += ".SS \"detgemm " + roff(command.name) + "\"\n" + body(command.summary + ".");
    for (const OptionSyntax& option : command.options) page += entry(option);
    if (!command.footer.empty()) page += ".PP\n" + body(command.footer);
  }
  return page;
}

}  // namespace detgemm::cli

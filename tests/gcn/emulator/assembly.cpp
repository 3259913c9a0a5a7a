// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/assembly.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace detgemm::gcn {

namespace {

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

std::uint32_t number(std::string_view s) {
  return static_cast<std::uint32_t>(std::stoul(std::string(trimmed(s)), nullptr, 0));
}

/// Modifiers follow the operands: NAME:VALUE, or one of these words.
const std::set<std::string, std::less<>> kFlags = {"glc", "slc", "sc0", "sc1", "nt", "offen"};

bool is_modifier(std::string_view word) {
  return kFlags.count(word) != 0 || (word.find(':') != std::string_view::npos &&
                                     word.find('[') != 0 && word.find('[') > word.find(':'));
}

/// Splits at commas and blanks outside brackets.
std::vector<std::string_view> words(std::string_view s) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    const char c = i < s.size() ? s[i] : ',';
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (depth == 0 && (c == ',' || c == ' ' || c == '\t')) {
      if (i > begin) out.push_back(s.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return out;
}

Statement statement(std::string_view text, int line) {
  Statement s;
  s.line = line;
  s.text = text;
  const auto parts = words(text);
  s.mnemonic = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view word = parts[i];
    if (!is_modifier(word)) {
      s.operands.emplace_back(word);
      continue;
    }
    const auto colon = word.find(':');
    const bool flag = colon == std::string_view::npos;
    s.modifiers.emplace(word.substr(0, colon), flag ? "" : word.substr(colon + 1));
  }
  return s;
}

/// A line of the YAML between .amdgpu_metadata and .end_amdgpu_metadata, in the layout the compiler
/// writes: two blanks per level, `- ` before the first key of an item. Adds the kernels' names,
/// arguments and largest workgroups to `kernels`.
void metadata_line(std::string_view raw, std::vector<KernelText>& kernels) {
  const auto indent = raw.find_first_not_of(' ');
  std::string_view text = trimmed(raw);
  if (text.substr(0, 2) == "- ") {
    if (indent == 2) kernels.emplace_back();
    if (indent == 6) kernels.back().arguments.emplace_back();
    text = trimmed(text.substr(2));
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || indent < 4 || kernels.empty()) return;
  const std::string_view key = text.substr(0, colon);
  const std::string_view value = trimmed(text.substr(colon + 1));
  KernelText& kernel = kernels.back();
  if (indent == 4) {
    if (key == ".name") kernel.name = value;
    if (key == ".max_flat_workgroup_size") kernel.amdhsa["max_flat_workgroup_size"] = number(value);
  } else if (!kernel.arguments.empty()) {
    Argument& argument = kernel.arguments.back();
    if (key == ".offset") argument.offset = number(value);
    if (key == ".size") argument.size = number(value);
    if (key == ".value_kind") argument.kind = value;
  }
}

/// Takes a line from the text.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string_view without_comment(std::string_view line) {
  const std::string_view code = line.substr(0, line.find(';'));
  return trimmed(code.substr(0, code.find("//")));
}

}  // namespace

std::uint32_t KernelText::descriptor(const std::string& name) const {
  const auto found = amdhsa.find(name);
  return found == amdhsa.end() ? 0 : found->second;
}

std::vector<KernelText> list_kernels(std::string_view text) {
  std::vector<KernelText> kernels;
  std::vector<KernelText> described;  // in the metadata
  KernelText function;                // the last one: a kernel if a descriptor follows
  std::string architecture;
  std::string declared;  // in the last .type NAME,@function
  bool in_descriptor = false, in_metadata = false;
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view raw = next_line(text);
    if (trimmed(raw) == ".end_amdgpu_metadata") in_metadata = false;
    if (in_metadata) metadata_line(raw, described);
    const std::string_view code = without_comment(raw);
    if (code.empty() || in_metadata) continue;
    if (code.back() == ':') {
      const std::string label(code.substr(0, code.size() - 1));
      if (label != declared) continue;
      std::string_view body = text.substr(0, text.find(".Lfunc_end"));
      body = body.substr(0, body.find(".amdhsa_kernel"));  // which describes a kernel
      function = {label, architecture, {}, {}, {}, {}, body, line + 1};
      text.remove_prefix(function.body.size());
      line += static_cast<int>(std::count(function.body.begin(), function.body.end(), '\n'));
      declared.clear();
      continue;
    }
    if (code[0] != '.') continue;
    const auto parts = words(code);
    const std::string_view first = parts.at(0);
    if (first == ".amdgpu_metadata") in_metadata = true;
    if (first == ".amdgcn_target") {
      const auto at = parts.at(1).find("gfx");
      if (at == std::string_view::npos) throw std::runtime_error("no gfx target in the text");
      architecture = parts[1].substr(at, parts[1].find_first_of(":\"", at) - at);
    }
    if (first == ".type" && parts.size() == 3 && parts[2] == "@function") declared = parts[1];
    if (first == ".amdhsa_kernel") {
      if (parts.at(1) != function.name) throw std::runtime_error("a descriptor without its kernel");
      in_descriptor = true;
    } else if (first == ".end_amdhsa_kernel") {
      kernels.push_back(function);
      in_descriptor = false;
    } else if (in_descriptor && first.rfind(".amdhsa_", 0) == 0) {
      function.amdhsa[std::string(first.substr(8))] = number(parts.at(1));
    }
  }
  for (KernelText& k : kernels) {
    for (KernelText& d : described) {
      if (d.name != k.name) continue;
      k.arguments = d.arguments;
      k.amdhsa.merge(d.amdhsa);
    }
  }
  return kernels;
}

void read_code(KernelText& kernel) {
  std::string_view text = kernel.body;
  for (int line = kernel.first_line; !text.empty(); ++line) {
    const std::string_view code = without_comment(next_line(text));
    if (code.empty()) continue;
    if (code.back() == ':') {
      kernel.labels[std::string(code.substr(0, code.size() - 1))] =
          static_cast<std::uint32_t>(kernel.code.size());
    } else if (code[0] != '.') {
      kernel.code.push_back(statement(code, line));
    }
  }
}

std::vector<KernelText> parse_assembly(std::string_view text) {
  std::vector<KernelText> kernels = list_kernels(text);
  for (KernelText& kernel : kernels) read_code(kernel);
  return kernels;
}

}  // namespace detgemm::gcn

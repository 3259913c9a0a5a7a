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
const std::set<std::string, std::less<>> kFlags = {"glc", "slc", "sc0", "sc1", "nt"};

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

}  // namespace

std::uint32_t KernelText::descriptor(const std::string& name) const {
  const auto found = amdhsa.find(name);
  return found == amdhsa.end() ? 0 : found->second;
}

std::vector<KernelText> parse_assembly(std::string_view text) {
  std::vector<KernelText> kernels;
  std::vector<KernelText> described;  // in the metadata
  KernelText function;                // the one being read: a kernel if a descriptor follows
  std::string architecture;
  std::string declared;  // in the last .type NAME,@function
  bool in_code = false, in_descriptor = false, in_metadata = false;
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view raw = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), raw.size() + 1));
    if (trimmed(raw) == ".end_amdgpu_metadata") in_metadata = false;
    if (in_metadata) metadata_line(raw, described);
    std::string_view code = raw.substr(0, raw.find(';'));
    code = trimmed(code.substr(0, code.find("//")));
    if (code.empty() || in_metadata) continue;
    if (code.back() == ':') {
      const std::string label(code.substr(0, code.size() - 1));
      if (label == declared) {
        function = {label, architecture, {}, {}, {}, {}};
        in_code = true;
        declared.clear();
      } else if (label.rfind(".Lfunc_end", 0) == 0) {
        in_code = false;
      } else if (in_code) {
        function.labels[label] = static_cast<std::uint32_t>(function.code.size());
      }
      continue;
    }
    if (code[0] != '.') {
      if (in_code) function.code.push_back(statement(code, line));
      continue;
    }
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

}  // namespace detgemm::gcn

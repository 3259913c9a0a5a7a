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
const std::set<std::string, std::less<>> kFlags = {
    "row_mirror", "row_half_mirror", "glc",   "slc",   "sc0", "sc1", "nt",
    "lds",        "offen",           "idxen", "clamp", "gds"};

bool is_modifier(std::string_view word) {
  return kFlags.count(word) != 0 || (word.find(':') != std::string_view::npos &&
                                     word.find('[') != 0 && word.find('[') > word.find(':'));
}

/// Cuts at commas and blanks outside brackets.
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

/// The kernels' .args lists and largest workgroups out of the YAML between .amdgpu_metadata and
/// .end_amdgpu_metadata, in the layout the compiler writes: two blanks a level, `- ` at the first
/// key of an item.
class Metadata {
 public:
  struct Entry {
    std::vector<Argument> arguments;
    std::uint32_t largest = 0;
  };
  explicit Metadata(std::map<std::string, Entry>& out) : out_(out) {}

  void line(std::string_view raw) {
    const auto indent = raw.find_first_not_of(' ');
    std::string_view text = trimmed(raw);
    if (indent == 2 && text.substr(0, 2) == "- ") finish();
    if (indent == 6 && text.substr(0, 2) == "- ") entry_.arguments.emplace_back();
    if (text.substr(0, 2) == "- ") text = trimmed(text.substr(2));
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = text.substr(0, colon);
    const std::string_view value = trimmed(text.substr(colon + 1));
    if (indent >= 6 && !entry_.arguments.empty()) {
      if (key == ".offset") entry_.arguments.back().offset = number(value);
      if (key == ".size") entry_.arguments.back().size = number(value);
      if (key == ".value_kind") entry_.arguments.back().kind = value;
    } else if (indent == 4 && key == ".name") {
      name_ = value;
    } else if (indent == 4 && key == ".max_flat_workgroup_size") {
      entry_.largest = number(value);
    }
  }

  void finish() {
    if (!name_.empty()) out_[name_] = entry_;
    name_.clear();
    entry_ = {};
  }

 private:
  std::map<std::string, Entry>& out_;
  std::string name_;
  Entry entry_;
};

}  // namespace

std::uint32_t KernelText::descriptor(const std::string& name) const {
  const auto found = amdhsa.find(name);
  return found == amdhsa.end() ? 0 : found->second;
}

std::vector<KernelText> parse_assembly(std::string_view text) {
  std::vector<KernelText> functions;  // every function; those with a descriptor are kernels
  std::set<std::string> kernels;
  std::map<std::string, Metadata::Entry> entries;
  Metadata metadata(entries);
  std::string architecture;
  KernelText* open = nullptr;        // the function whose code is being read
  KernelText* descriptor = nullptr;  // the kernel whose .amdhsa_ lines are being read
  bool in_metadata = false;
  std::string function;  // named by the last .type NAME,@function
  int line = 0;
  while (!text.empty()) {
    ++line;
    const auto end = text.find('\n');
    const std::string_view raw = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (trimmed(raw) == ".end_amdgpu_metadata") in_metadata = false, metadata.finish();
    if (in_metadata) metadata.line(raw);
    std::string_view code = raw.substr(0, raw.find(';'));
    code = trimmed(code.substr(0, code.find("//")));
    if (code.empty() || in_metadata) continue;
    if (code.back() == ':') {
      const std::string label(code.substr(0, code.size() - 1));
      if (label == function) {
        functions.emplace_back();
        open = &functions.back();
        open->name = label;
        open->architecture = architecture;
        function.clear();
      } else if (label.rfind(".Lfunc_end", 0) == 0) {
        open = nullptr;
      } else if (open != nullptr) {
        open->labels[label] = static_cast<std::uint32_t>(open->code.size());
      }
      continue;
    }
    if (code[0] != '.') {
      if (open != nullptr && descriptor == nullptr) open->code.push_back(statement(code, line));
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
    if (first == ".type" && parts.size() == 3 && parts[2] == "@function") function = parts[1];
    if (first == ".amdhsa_kernel") {
      kernels.emplace(parts.at(1));
      for (KernelText& f : functions) {
        if (f.name == parts[1] && f.architecture == architecture) descriptor = &f;
      }
      if (descriptor == nullptr) throw std::runtime_error("a descriptor before its kernel");
    } else if (first == ".end_amdhsa_kernel") {
      descriptor = nullptr;
    } else if (descriptor != nullptr && first.rfind(".amdhsa_", 0) == 0) {
      descriptor->amdhsa[std::string(first.substr(8))] = number(parts.at(1));
    }
  }
  functions.erase(std::remove_if(functions.begin(), functions.end(),
                                 [&](const KernelText& f) { return kernels.count(f.name) == 0; }),
                  functions.end());
  for (KernelText& f : functions) {
    f.arguments = entries[f.name].arguments;
    f.amdhsa["max_flat_workgroup_size"] = entries[f.name].largest;
  }
  return functions;
}

}  // namespace detgemm::gcn

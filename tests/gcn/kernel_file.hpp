// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gcn/emulator/launch.hpp"

namespace detgemm::gcn {

inline std::string read_text(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The text without one line of a function: the `which`-th whose instruction starts with `prefix`
/// (from 0, -1 for the last).
inline std::string without_line(const std::string& text, const std::string& function,
                                const std::string& prefix, int which) {
  const std::size_t begin = text.find("\n" + function + ":");
  const std::size_t end = text.find(".Lfunc_end", begin);
  std::vector<std::size_t> found;
  for (std::size_t at = text.find("\n\t" + prefix, begin); at < end;
       at = text.find("\n\t" + prefix, at + 1)) {
    found.push_back(at);
  }
  const std::size_t index =
      which < 0 ? found.size() + static_cast<std::size_t>(which) : static_cast<std::size_t>(which);
  if (begin == std::string::npos || index >= found.size()) {
    throw std::runtime_error("no such line to plant a fault at: " + prefix);
  }
  return text.substr(0, found[index]) + text.substr(text.find('\n', found[index] + 1));
}

inline KernelText kernel_of(const std::string& text, const std::string& name) {
  for (KernelText& k : parse_assembly(text)) {
    if (k.name == name) return std::move(k);
  }
  throw std::runtime_error("no kernel " + name);
}

}  // namespace detgemm::gcn

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/golden_file.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "core/cli/arguments.hpp"
#include "core/cli/files.hpp"
#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

namespace fs = std::filesystem;

/// So long that the bytes of a file with this K fit 63 bits whatever the type.
constexpr std::int64_t kMaxK = std::int64_t{1} << 48;

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// The K of "kK", digits only; -1 if it is anything else.
std::int64_t parse_k(std::string_view text) {
  if (text.size() < 2 || text[0] != 'k' || text[1] == '-') return -1;
  std::int64_t k = -1;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), k);
  return error == std::errc{} && end == text.data() + text.size() && k <= kMaxK ? k : -1;
}

}  // namespace

std::uint64_t GoldenFile::operand_bytes() const {
  return static_cast<std::uint64_t>(kGoldenExtent) * static_cast<std::uint64_t>(k) * size_of(type);
}

std::uint64_t GoldenFile::tile_bytes() const {
  return static_cast<std::uint64_t>(kGoldenExtent * kGoldenExtent) * size_of(DType::fp32);
}

GoldenFile open_golden(const std::string& path) {
  GoldenFile file;
  file.path = path;
  if (std::error_code error; !fs::exists(path, error)) {
    throw Refusal(
        Status{Errc::io, "file is " + in_quotes(path) + ": there is no file of that name"});
  }
  const std::string stem = fs::path(path).stem().string();
  const std::size_t first = stem.find('_');
  const std::size_t last = stem.rfind('_');
  if (first == std::string::npos || first == last || fs::path(path).extension() != ".bin") {
    refuse("file is " + in_quotes(path) + ": its name must read TYPE_DIST_kK.bin");
  }
  const auto type = parse_dtype(stem.substr(0, first));
  if (!type) refuse("file is " + in_quotes(path) + ": " + type.status().message());
  file.type = *type;
  file.distribution = stem.substr(first + 1, last - first - 1);
  file.k = parse_k(std::string_view(stem).substr(last + 1));
  if (!is_word(file.distribution) || file.k < 0) {
    refuse("file is " + in_quotes(path) +
           ": its name must read TYPE_DIST_kK.bin, with DIST a word and K an integer");
  }
  need_file("file", path, file.bytes(),
            "A and B of 64 x " + std::to_string(file.k) + " " + std::string(name(file.type)) +
                ", C and D of 64 x 64 fp32");
  return file;
}

std::vector<std::string> find_golden(const std::vector<std::string>& paths,
                                     std::vector<BadPath>& bad) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      found.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    auto it = fs::recursive_directory_iterator(path, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      if (it->path().extension() == ".bin") inside.push_back(it->path().string());
    }
    if (error) bad.push_back({path, "folder is " + in_quotes(path) + ": " + error.message()});
    std::sort(inside.begin(), inside.end());
    found.insert(found.end(), inside.begin(), inside.end());
  }
  return found;
}

}  // namespace detgemm::cli

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace detgemm::cli {

/// The size of a regular file, or a Refusal: missing, a directory, a device.
std::uint64_t size_of_file(std::string_view what, const std::string& path);

/// Throws unless the file is regular and exactly `bytes` long; `rule` says what the length is of,
/// for example "2 x 3 of bf16".
void need_file(std::string_view what, const std::string& path, std::uint64_t bytes,
               const std::string& rule);

/// Reads a file that `need_file` accepted; throws if it is unreadable or its size has changed.
void read_file(std::string_view what, const std::string& path, void* out, std::size_t bytes);

/// A file to be written at the end, opened at the beginning: a path that cannot be written is
/// refused before the work, not after it. Until `write`, a file that was there is untouched;
/// a file that `open` made is removed unless it was written.
class OutputFile {
 public:
  OutputFile() = default;
  /// Refuses a directory and any of `inputs`, by identity, not by name.
  OutputFile(const std::string& path, const std::vector<std::string>& inputs);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(const void* data, std::size_t bytes);

 private:
  std::string path_;
  int descriptor_ = -1;
  bool made_here_ = false;
};

}  // namespace detgemm::cli

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>

namespace detgemm::cli {

/// A file that appears under its name when it is whole, or not at all: it is written beside that
/// name and renamed at the end. A file that was there is replaced then, and untouched before.
class WholeFile {
 public:
  /// Refuses what is no regular file, what may not be written, and `input`, by identity.
  WholeFile(const std::string& path, const std::string& input);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();

  void write(const void* data, std::size_t bytes);
  /// On the disk and under its name.
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::string path_;    ///< as the caller calls it, for sentences
  std::string target_;  ///< without symbolic links
  std::string beside_;  ///< empty when nothing has to be removed
  int descriptor_ = -1;
};

}  // namespace detgemm::cli

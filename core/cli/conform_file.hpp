// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "detgemm/status.hpp"

namespace detgemm::cli {

/// A file for a report. A path that cannot be written is refused before the run, a file that was
/// there is replaced only by a whole report, and until then the cells that have finished lie in
/// PATH.PID.partial, one JSON object per line, whatever becomes of this process.
class ReportFile {
 public:
  /// Refuses a directory, a folder that cannot be written, and any of `inputs`.
  ReportFile(const std::string& path, const std::vector<std::string>& inputs);
  ReportFile(const ReportFile&) = delete;
  ReportFile(ReportFile&& other) noexcept;
  ~ReportFile();

  /// Adds a line to the partial file. A full disk is found by `finish`.
  void note(const std::string& line);
  /// Replaces the file. On failure the old one is as it was.
  Status finish(const std::string& text);
  const std::string& path() const { return path_; }

 private:
  std::string path_;     // as it was given
  std::string target_;   // without links; empty for a pipe or a device
  std::string partial_;  // beside it
  int descriptor_ = -1;
};

}  // namespace detgemm::cli

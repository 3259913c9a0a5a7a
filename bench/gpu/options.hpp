// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace detgemm::bench {

struct Options {
  std::vector<std::string> groups;   ///< empty: all
  std::vector<std::string> shapes;   ///< "NxK"; empty: all
  std::vector<std::int64_t> tokens;  ///< in place of each group's own
  std::vector<std::string> arms;     ///< empty: all
  std::string variant;               ///< force ours
  std::string cublaslt;              ///< path of the library
  std::string json;
  std::string commit;
  double seconds = 0;   ///< budget; 0: none
  int repetitions = 0;  ///< 0: each mode's own
  bool quick = false;
  bool all_variants = false;
  bool dry = false;  ///< list and estimate, nothing more
  bool bits = true;
};

/// Exits with the usage text where the arguments are wrong or ask for it.
Options parse_options(int argc, char** argv);

/// Whether a list that is empty for "all" holds it.
bool wanted(const std::vector<std::string>& list, const std::string& item);

}  // namespace detgemm::bench

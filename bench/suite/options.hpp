// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/suite/case.hpp"

namespace detgemm::bench {

/// What the program does, by its first word; none: bench.
enum class Task { bench, tune, calibrate };

struct Options {
  Task task = Task::bench;
  std::string backend;  ///< empty: the first of cuda, hip, cpu that can run
  std::vector<std::string> suites;
  std::vector<std::int64_t> tokens;
  OwnCases own;
  std::uint64_t seed = 7;
  bool drawn = false;                 ///< something depends on the seed
  std::vector<std::string> variants;  ///< kernels to force: "all", or patterns of their names
  std::string filter;                 ///< a regular expression of CASE/ARM
  std::string cases;                  ///< a file in place of the table that was compiled in
  std::string json, csv, markdown;
  std::string commit;
  std::string cublaslt;                                    ///< path of the library
  std::string nccl;                                        ///< likewise
  std::string out;                                         ///< tune: the file to write
  std::string tuning;                                      ///< a file to time arms under
  int candidates = 6;                                      ///< tune: kernels timed per problem
  int ranks = 0;                                           ///< of the suite cluster; 0: all GPUs
  std::vector<std::pair<std::string, std::string>> facts;  ///< recorded with the machine
  double seconds = 0;                                      ///< budget; 0: none
  int repetitions = 0;
  bool quick = false;
  bool list = false;
  bool dry = false;
  bool batch_property = true;
  bool check_bits = false;
  bool weight_read = false;
  bool help = false;
};

/// Throws std::invalid_argument with a sentence that names the argument, its value and the rule.
Options parse_options(const std::vector<std::string>& arguments);
extern const char* const kUsage;
extern const char* const kTuneUsage;
extern const char* const kCalibrateUsage;

}  // namespace detgemm::bench

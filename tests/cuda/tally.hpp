// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cuda/kernels.hpp"
#include "tests/cuda/problem.hpp"

namespace detgemm::test {

/// Outputs compared and what was wrong with them, under any number of headings.
struct Count {
  unsigned long long runs = 0, outputs = 0, nans = 0, mismatches = 0, outside = 0, inputs = 0;

  bool clean() const { return mismatches == 0 && outside == 0 && inputs == 0; }
};

class Tally {
 public:
  /// One run: `kernel` is what ran, `variant` what was asked ("" for the backend's own choice).
  void add(const Problem& problem, const std::string& variant, const std::string& kernel,
           const Difference& difference, bool inputs_intact);
  const Count& total() const { return total_; }
  std::string text() const;
  nlohmann::json json() const;

 private:
  Count total_;
  std::map<std::string, std::map<std::string, Count>> by_;  // heading, value
};

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "detgemm/contract.hpp"

namespace detgemm::test {

/// One line of tests/models/vectors.txt: d = c + the steps over a and b, all raw bits.
struct StepVector {
  std::string unit;  ///< arithmetic/input
  std::vector<std::uint32_t> a, b;
  std::uint32_t c, d;
};

inline std::vector<std::uint32_t> hex_list(const std::string& text) {
  std::vector<std::uint32_t> values;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    values.push_back(static_cast<std::uint32_t>(std::stoul(item, nullptr, 16)));
  }
  return values;
}

inline std::vector<StepVector> read_step_vectors(const char* path) {
  std::vector<StepVector> vectors;
  std::ifstream file(path);
  for (std::string unit, a, b, c, d; file >> unit >> a >> b >> c >> d;) {
    vectors.push_back({unit, hex_list(a), hex_list(b), hex_list(c)[0], hex_list(d)[0]});
  }
  return vectors;
}

inline std::string unit_of(const Contract& contract) {
  return std::string(name(contract.arithmetic)) + "/" + std::string(name(contract.input));
}

}  // namespace detgemm::test

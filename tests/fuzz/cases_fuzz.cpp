// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A table of benchmark cases from any bytes: cases whose sizes and contracts are valid, or a
// sentence.

#include <stdexcept>
#include <string>

#include "bench/suite/case.hpp"
#include "tests/fuzz/sentence.hpp"

using namespace detgemm;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  bench::CaseQuery query;
  query.backend = data[0] % 2 == 0 ? "cuda" : "cpu";
  query.quick = data[0] % 4 >= 2;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    for (const bench::Case& c : bench::read_cases(text, query)) {
      require(!c.id.empty() && !c.suites.empty(), "a case has a name and a suite");
      require(c.problem.tokens > 0 && c.problem.n > 0 && c.problem.k > 0, "sizes are positive");
      for (const bench::ContractArm& arm : c.contract_arms) {
        require(arm.contract.validate().ok(), "an arm's contract is valid");
      }
    }
  } catch (const std::invalid_argument& error) {
    fuzz::require_sentence(error.what());
  }
  return 0;
}

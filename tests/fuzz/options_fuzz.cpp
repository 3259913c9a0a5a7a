// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The options of `detgemm run` and `detgemm explain`, one per line: a problem whose sizes are
// consistent and whose bytes are counted right, or a sentence.

#include <array>
#include <cmath>
#include <string>

#include "core/cli/problem.hpp"
#include "core/cli/refusal.hpp"
#include "tests/fuzz/sentence.hpp"

using namespace detgemm;
using fuzz::require;

namespace {

void check_array(const cli::Array& array) {
  if (!array.used) return;
  require(array.rows >= 0 && array.cols >= 0, "extents are not negative");
  const auto bytes = static_cast<unsigned __int128>(array.rows) *
                     static_cast<unsigned __int128>(array.cols) * size_of(array.dtype);
  require(bytes == array.bytes, "bytes are counted without overflow");
}

void check(const cli::Problem& problem) {
  require(validate(problem.spec).ok(), "what parses is valid");
  require(std::isfinite(problem.spec.alpha) && std::isfinite(problem.spec.beta), "finite factors");
  for (const cli::Array* array : {&problem.a, &problem.b, &problem.c, &problem.bias, &problem.d}) {
    check_array(*array);
  }
  require(problem.c.used == problem.spec.reads_c(), "a problem that reads C has a C");
  require(problem.d.rows == problem.m && problem.d.cols == problem.spec.n, "D is M x N");
  require(problem.bytes() >= problem.d.bytes, "the sum counts D");
  require(!problem.json().dump().empty(), "a problem can be written down");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<std::string, 9> words;
  std::size_t word = 0;
  for (std::size_t i = 0; i < size && word < words.size(); ++i) {
    if (data[i] == '\n') {
      ++word;
    } else {
      words[word] += static_cast<char>(data[i]);
    }
  }
  cli::ProblemOptions options;
  options.contract = words[0];
  options.m = words[1];
  options.n = words[2];
  options.k = words[3];
  if (!words[4].empty()) options.layout = words[4];
  if (!words[5].empty()) options.alpha = words[5];
  if (!words[6].empty()) options.beta = words[6];
  if (!words[7].empty()) options.activation = words[7];
  options.continue_from_c = !words[8].empty() && words[8][0] == '1';
  options.bias_type = words[8].size() > 1 ? words[8].substr(1) : "";
  try {
    check(cli::parse_problem(options));
  } catch (const cli::Refusal& refusal) {
    fuzz::require_sentence(refusal.what());
    require(refusal.exit() == cli::kUsage, "a wrong option is a wrong argument");
  }
  return 0;
}

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cli/command.hpp"
#include "detgemm/gemm_spec.hpp"

namespace detgemm::cli {

/// A problem as the command line gives it; `explain` and `run` share these options.
struct ProblemOptions {
  std::string contract;
  std::string m;
  std::string n;
  std::string k;
  std::string layout = "NN";
  std::string alpha = "1";
  std::string beta = "0";
  std::string activation = "none";
  std::string bias_type;
  bool continue_from_c = false;
};

void add_problem_options(Command& command, ProblemOptions& options);

/// One array of a problem as it lies in memory or in a raw file: row-major and packed.
struct Array {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  DType dtype = DType::bf16;
  std::uint64_t bytes = 0;
  bool used = true;

  /// For example "8 x 64 of bf16".
  std::string shape() const;
  ConstMatrix view(const void* data) const { return row_major(data, rows, cols, dtype); }
};

/// A checked problem with its M.
struct Problem {
  GemmSpec spec;
  std::int64_t m = 0;
  std::string layout;
  Array a, b, c, bias, d;

  /// The arrays that are read or written, D last.
  std::vector<const Array*> arrays() const;
  std::uint64_t bytes() const;
  Json json() const;
  /// What happens to A*B, for example "alpha 0.5, gelu"; empty where nothing does.
  std::string epilogue() const;
};

/// Throws a Refusal on any option that is wrong, including sizes whose bytes overflow.
Problem parse_problem(const ProblemOptions& options);

}  // namespace detgemm::cli

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "bench/common/stats.hpp"
#include "bench/gpu/bits.hpp"
#include "bench/gpu/cases.hpp"
#include "bench/gpu/nvml.hpp"

namespace detgemm::bench {

struct ArmResult {
  std::string name;
  std::string detail;
  int calls = 0;  ///< in a graph
  Stats us;       ///< a call
};

struct CaseResult {
  Case what;
  std::vector<ArmResult> arms;
  std::vector<std::string> notes;  ///< arms that could not run, and why
  Counted vendor;                  ///< ours against cuBLASLt without workspace
  Counted chain;                   ///< ours, inside the timed graphs, against a plain chain
  Watched watched;                 ///< settled alone

  /// Ours as it ought to be called: the first of early, plain and serial that ran; 0 for none.
  double ours_us() const;
  /// Median of an arm; 0 where it did not run.
  double us(const std::string& arm) const;
  /// The faster of the two cuBLASLt arms; 0 where none ran.
  double vendor_us() const;
  /// The faster of the pure reads; 0 where none ran.
  double read_us() const;
  double ratio(const std::string& arm) const;
  /// The fastest of the forced kernels (run_variants); 0 where none was.
  double best_variant_us() const;
};

/// What every file says of the machine and the build.
struct Machine {
  std::string device, driver, cuda, cublaslt, date, commit, command;
  int sms = 0;
  double l2_mib = 0;
};

void print_head(const Machine& machine);
/// The table's head when the group changes, then the row.
void print_row(const CaseResult& result);
void print_variants(const CaseResult& result);
/// Geometric mean and worst point of each group.
void print_summary(const std::vector<CaseResult>& results);
/// False where the file cannot be written.
bool write_json(const std::string& path, const Machine& machine,
                const std::vector<CaseResult>& results);

}  // namespace detgemm::bench

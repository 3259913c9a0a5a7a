// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "core/cli/conform_file.hpp"
#include "core/cli/report.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::cli {

/// The command line of `conform`, as text.
struct ConformOptions {
  std::string backend = "all";
  std::string engine;
  std::string transport;  ///< empty: one rank
  std::vector<std::string> contracts;
  std::vector<std::string> properties;
  std::vector<std::string> skip;
  bool quick = false;
  bool full = false;
  bool controls = false;
  bool list = false;
  bool in_process = false;
  std::string seed = "1";
  std::string only_case;
  std::string soak = "0";
  std::string threads = "0";
  std::string jobs = "0";
  std::string timeout = "300";
  std::vector<std::string> fail_on;
  std::string expect;
  std::string format = "text";
  std::string output;
  std::vector<std::string> save;

  conformance::Level level() const {
    return full ? conformance::Level::full : conformance::Level::quick;
  }
};

/// Refuses a name that is no format of a report.
void check_format(const std::string& format);

/// Tests what was asked for, writes the files, and returns what goes to stdout.
Report run_conform(const ConformOptions& options);

/// The same where `options.transport` names ranks: properties of a job, or its planted faults.
Report run_job(const ConformOptions& options);

/// "passed", "failed", "interrupted" or "nothing ran".
std::string outcome_of(const Report& report);

/// The report's text goes to the file, and a line takes its place. If the file cannot be written,
/// the text stays, so that it is not lost, and the run fails.
void move_to_file(Report& report, ReportFile& file, const std::string& outcome);

}  // namespace detgemm::cli

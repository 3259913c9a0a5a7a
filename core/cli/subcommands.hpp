// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace CLI {
class App;
}

namespace detgemm::cli {

/// Each adds one subcommand to `root`; when it was asked for, parsing the command line runs it
/// and stores its exit code.
void register_info(CLI::App& root, int& exit_code);
void register_explain(CLI::App& root, int& exit_code);
void register_run(CLI::App& root, int& exit_code);
void register_digest(CLI::App& root, int& exit_code);
void register_golden(CLI::App& root, int& exit_code);
void register_conform(CLI::App& root, int& exit_code);

}  // namespace detgemm::cli

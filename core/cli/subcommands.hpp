// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

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
void register_snap(CLI::App& root, int& exit_code);
void register_golden(CLI::App& root, int& exit_code);
void register_verify(CLI::App& root, int& exit_code);
void register_conform(CLI::App& root, int& exit_code);
void register_completion(CLI::App& root, int& exit_code);
void register_man(CLI::App& root, int& exit_code);
/// Listed with the others; its arguments belong to another program, see below.
void register_bench(CLI::App& root, int& exit_code);

/// Whether the first word of a command line belongs to the benchmark: bench, tune, calibrate.
bool is_bench_task(const std::string& word);
/// Becomes the benchmark with these words; throws a Refusal if it is not there.
void run_bench_program(std::vector<std::string> words);

/// Becomes this command linked with MPI, with all of its words; throws if it is not there.
void run_mpi_program(std::vector<std::string> words);

/// Listed with the others; what follows its options belongs to another program, see below.
void register_preload(CLI::App& root, int& exit_code);

/// Becomes the program named by the words after `detgemm preload`; throws a Refusal if it cannot,
/// and returns false where the words ask for this command's own help.
bool run_preloaded(const std::vector<std::string>& words);

}  // namespace detgemm::cli

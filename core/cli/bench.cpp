// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/cli/command.hpp"
#include "core/cli/subcommands.hpp"

namespace detgemm::cli {
namespace {

/// What detgemm_bench does, by the first word.
struct BenchTask {
  const char* name;
  const char* summary;
  const char* footer;
};
constexpr BenchTask kBenchTasks[] = {
    {"bench", "Measure this library and the vendor's own, with one experiment for every backend",
     R"(Examples:
  detgemm bench --help
  detgemm bench --quick
  detgemm bench --backend cuda --json h200.json

Exit codes: 0 measured; 1 failed; 2 a wrong argument; 3 nothing ran, or this build has no benchmark.)"},
    {"tune", "Time the kernels of a contract on this device, and write which ones to take",
     R"(Examples:
  detgemm tune --help
  detgemm tune --layers llama3-8b --contract chain+stable --out llama3-8b.tuning

Exit codes: 0 written; 1 failed; 2 a wrong argument; 3 nothing ran, or this build has no benchmark.)"},
    {"calibrate", "Measure what models of time read of this device",
     R"(Examples:
  detgemm calibrate --help
  detgemm calibrate --json device.json

Exit codes: 0 measured; 1 failed; 2 a wrong argument; 3 nothing ran, or this build has no benchmark.)"}};
constexpr const char* kFooter =
    R"(, which is installed beside this program where the benchmarks were built, with
all arguments unchanged.

)";

/// The path of a program beside this one; empty if there is none.
std::string beside(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const auto path = self.parent_path() / name;
  return std::filesystem::is_regular_file(path, error) ? path.string() : std::string();
}

/// Becomes that program.
[[noreturn]] void become(std::string path, std::vector<std::string> words) {
  std::vector<char*> arguments{path.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  throw Refusal(Status(Errc::unavailable, path + " cannot be run: " + std::strerror(errno)));
}

}  // namespace

bool is_bench_task(const std::string& word) {
  return std::any_of(std::begin(kBenchTasks), std::end(kBenchTasks),
                     [&](const BenchTask& task) { return word == task.name; });
}

void run_bench_program(std::vector<std::string> words) {
  const std::string task = words[0];
  if (task == "bench") words.erase(words.begin());  // the task of no word
  const std::string path = beside("detgemm_bench");
  if (path.empty()) {
    throw Refusal(
        Status(Errc::unavailable,
               task + " is not in this build: configure with -DDETGEMM_BUILD_BENCH=ON and "
                      "build the target detgemm_bench, which is placed beside this program"));
  }
  become(path, std::move(words));
}

void run_mpi_program(std::vector<std::string> words) {
  const std::string path = beside("detgemm_mpi");
  if (path.empty()) {
    throw Refusal(Status(Errc::unavailable,
                         "--transport mpi is not in this build: install MPI (Debian: "
                         "libopenmpi-dev), configure with -DDETGEMM_ENABLE_MPI=ON and build the "
                         "target detgemm_mpi_cli, which is placed beside this program"));
  }
  become(path, std::move(words));
}

void register_bench(CLI::App& root, int& exit_code) {
  for (const BenchTask& task : kBenchTasks) {
    Command command(root, exit_code, task.name, task.summary);
    command.footer(std::string("Runs detgemm_bench") + kFooter + task.footer);
  }
}

}  // namespace detgemm::cli

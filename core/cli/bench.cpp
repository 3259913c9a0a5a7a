// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/cli/command.hpp"
#include "core/cli/subcommands.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "Measure this library and the vendor's own, with one experiment for every backend";
constexpr const char* kFooter =
    R"(Runs detgemm_bench, which is installed beside this program where the benchmarks were built, with
all arguments unchanged.

Examples:
  detgemm bench --help
  detgemm bench --quick
  detgemm bench --backend cuda --json h200.json

Exit codes: 0 measured; 1 failed; 2 a wrong argument; 3 nothing ran, or this build has no benchmark.)";

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

void run_bench_program(std::vector<std::string> words) {
  const std::string path = beside("detgemm_bench");
  if (path.empty()) {
    throw Refusal(Status(Errc::unavailable,
                         "bench is not in this build: configure with -DDETGEMM_BUILD_BENCH=ON and "
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
  Command command(root, exit_code, "bench", kSummary);
  command.footer(kFooter);
}

}  // namespace detgemm::cli

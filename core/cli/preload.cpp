// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/cli/command.hpp"
#include "core/cli/subcommands.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "Run a program whose cuBLAS calls get a contract's bits, without changing it";
constexpr const char* kFooter =
    R"(Runs PROGRAM with libdetgemm_cublas.so loaded before everything else (LD_PRELOAD). Its matrix
products run under the contracts that a file names; without a file, bf16 and fp16 run under
hopper/.../chain and fp32 under ieee_fma/fp32/chain. At exit, and on SIGUSR1, a table on stderr names
every product that was called for, and why one was passed on. docs/dropin.md has the file's keys.

Options go before the program; everything from the program on is the program's.

Examples:
  detgemm preload -- python3 generate.py
  detgemm preload --config bits.conf --log calls.jsonl -- ./program --its-own options

Exit codes: the program's; 2 a wrong argument, name or file; 3 this build has no library to preload; 126
and 127 as in a shell: the program cannot be run, or does not exist.)";

struct PreloadOptions {
  std::string config, log, library = "cublas";
  bool print = false;
};

/// The library beside this program: where it was built, or where it was installed.
std::string library_path(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string file = "libdetgemm_" + name + ".so";
  for (const char* folder : {"../../lib", "../lib", "../lib64", ".", DETGEMM_LIBRARY_FOLDER}) {
    const auto path = self.parent_path() / folder / file;
    if (!error && std::filesystem::is_regular_file(path, error)) {
      return std::filesystem::canonical(path, error).string();
    }
    error.clear();
  }
  throw Refusal(Status(Errc::unavailable,
                       file + " is not in this build: configure with -DDETGEMM_BUILD_DROPIN=ON"));
}

std::string readable(const char* option, const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    refuse(std::string(option) + " is \"" + path + "\": " + std::strerror(errno));
  }
  return std::filesystem::absolute(path).string();
}

/// The value of an option, either behind a '=' or as the next word.
bool take(const std::string& name, const std::vector<std::string>& words, std::size_t& at,
          std::string& out) {
  const std::string& word = words[at];
  if (word.starts_with(name + "=")) {
    out = word.substr(name.size() + 1);
    return true;
  }
  if (word != name) return false;
  if (++at == words.size()) refuse(name + " has no value");
  out = words[at];
  return true;
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

}  // namespace

bool run_preloaded(const std::vector<std::string>& words) {
  PreloadOptions options;
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with("-") && words[at] != "--"; ++at) {
    if (words[at] == "--help" || words[at] == "-h" || words[at] == "--json") return false;
    if (take("--config", words, at, options.config) || take("--log", words, at, options.log) ||
        take("--library", words, at, options.library)) {
      continue;
    }
    refuse("\"" + words[at] +
           "\" is not an option of preload: put the program's own options after the program");
  }
  if (at < words.size() && words[at] == "--") ++at;
  if (at == words.size()) refuse("no program is named: detgemm preload -- PROGRAM [ARGUMENTS]");
  if (options.library != "cublas" && options.library != "hipblas") {
    refuse("--library is \"" + options.library + "\": it must be cublas or hipblas");
  }
  const std::string path = library_path(options.library);
  if (!options.config.empty()) set("DETGEMM_PRELOAD", readable("--config", options.config));
  if (!options.log.empty()) {
    set("DETGEMM_PRELOAD_LOG", std::filesystem::absolute(options.log).string());
  }
  const char* before = std::getenv("LD_PRELOAD");
  set("LD_PRELOAD", before == nullptr || *before == '\0' ? path : path + ":" + before);
  std::vector<std::string> program(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  std::vector<char*> arguments;
  for (std::string& word : program) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  std::fprintf(stderr, "detgemm preload: %s cannot be run: %s\n", arguments[0],
               std::strerror(error));
  _exit(error == ENOENT ? 127 : 126);
}

void register_preload(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<PreloadOptions>();
  Command command(root, exit_code, "preload", kSummary);
  auto program = std::make_shared<std::vector<std::string>>();
  command.option("--config", "FILE", options->config, "what is taken, and under which contracts");
  command.option("--log", "FILE", options->log, "append every call to it as a line of JSON");
  command.option("--library", "NAME", options->library, "cublas, or hipblas for AMD");
  command.positional("program", *program, "the program and its own arguments");
  command.footer(kFooter);
  command.action([options, program]() -> Report {
    refuse("no program is named: detgemm preload -- PROGRAM [ARGUMENTS]");
  });
}

}  // namespace detgemm::cli

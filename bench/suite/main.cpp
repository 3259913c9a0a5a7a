// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// detgemm_bench, which `detgemm bench` runs.

#include <cstdio>
#include <fstream>

#include "bench/cluster/suite.hpp"
#include "bench/suite/calibrate.hpp"
#include "bench/suite/options.hpp"
#include "bench/suite/run.hpp"
#include "bench/suite/tune_run.hpp"
#include "detgemm/runtime.hpp"

namespace {

using namespace detgemm::bench;

/// What a user called: detgemm bench, tune or calibrate.
std::string command_of(const std::vector<std::string>& words) {
  const bool named = !words.empty() && (words[0] == "tune" || words[0] == "calibrate");
  return named ? "detgemm " + words[0] : "detgemm bench";
}

/// Before the work, so that minutes of measuring do not end in a path that cannot be written.
void need_writable(const std::string& path) {
  if (path.empty()) return;
  if (!std::ofstream(path, std::ios::app)) {
    throw std::invalid_argument("output is \"" + path +
                                "\": it must be a file that can be written");
  }
}

bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream out(path);
  out << text;
  out.close();
  if (out) return true;
  std::fprintf(stderr, "detgemm bench: cannot write %s\n", path.c_str());
  return false;
}

/// Writes the files that were asked for: the exit code.
int finish(const Options& options, const RunResult& run) {
  const bool written = write(options.json, to_json(run)) & write(options.csv, to_csv(run)) &
                       write(options.markdown, to_markdown(run));
  if (run.failed != 0) std::fprintf(stderr, "detgemm bench: %d cases failed\n", run.failed);
  return written && run.failed == 0 ? 0 : 1;
}

int bench(const Options& options, const std::string& command) {
  const bool cluster = asks_for_cluster(options);
  for (const auto* path : {&options.json, &options.csv, &options.markdown, &options.out}) {
    need_writable(*path);
  }
  if (cluster) {
    return run_cluster(options, command,
                       [&](const RunResult& run) { return finish(options, run); });
  }
  const auto runtime = detgemm::Runtime::start();
  if (!runtime) throw NothingRan(runtime.status().message());
  if (options.task == Task::calibrate) return run_calibrate(options) ? 0 : 1;
  const auto run =
      options.task == Task::tune ? run_tune(options, command) : run_bench(options, command);
  return run ? finish(options, *run) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string command = "detgemm bench";
  const auto refuse = [&](const std::exception& error, int code) {
    std::fprintf(stderr, "%s: %s\n", command.c_str(), error.what());
    return code;
  };
  try {
    command = command_of(arguments);
    const Options options = parse_options(arguments);
    if (options.help) {
      std::fputs(options.task == Task::tune        ? kTuneUsage
                 : options.task == Task::calibrate ? kCalibrateUsage
                                                   : kUsage,
                 stdout);
      return 0;
    }
    std::string line = options.task == Task::bench ? command : "detgemm";
    for (const std::string& argument : arguments) line += " " + argument;
    return bench(options, line);
  } catch (const std::invalid_argument& error) {
    return refuse(error, 2);
  } catch (const NothingRan& error) {
    return refuse(error, 3);
  } catch (const std::exception& error) {
    return refuse(error, 1);
  }
}

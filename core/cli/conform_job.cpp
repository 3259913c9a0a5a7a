// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_job.hpp"

#include <cstdio>
#include <functional>
#include <optional>
#include <thread>

#include "cluster/conformance/job.hpp"
#include "core/cli/arguments.hpp"
#include "core/cli/build_info.hpp"
#include "core/cli/conform_engines.hpp"
#include "core/conformance/controls/control.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {

const MpiDoor* mpi_door = nullptr;

namespace {

constexpr int kMaxThreads = 64;

std::vector<std::shared_ptr<cluster::Transport>> open(const std::string& text) {
  constexpr std::string_view threads = "threads:";
  if (text == "mpi") {
    if (mpi_door == nullptr) {
      throw Refusal(Status(Errc::unavailable,
                           "transport is \"mpi\": this program is not linked with MPI, detgemm_mpi "
                           "is"));
    }
    return {need(mpi_door->open())};
  }
  if (text.substr(0, threads.size()) == threads) {
    const std::int64_t ranks = parse_integer("transport", text.substr(threads.size()));
    if (ranks >= 1 && ranks <= kMaxThreads) return cluster::threads(static_cast<int>(ranks));
  }
  refuse("transport is " + in_quotes(text) + ": it must be mpi or threads:P, with P from 1 to " +
         std::to_string(kMaxThreads));
}

/// The backends that ranks take in turn: the one that was named, or all that can run here, and the
/// skeleton, so that ranks differ.
std::vector<const Backend*> backends_of(const std::string& name) {
  const Backend& skeleton = controls::honest();
  if (name == skeleton.name()) return {&skeleton};
  if (name != "all") {
    const Backend* const backend = need(find_backend(name));
    need(backend->available());
    return {backend};
  }
  std::vector<const Backend*> list;
  for (const Backend* backend : backends()) {
    if (backend->available()) list.push_back(backend);
  }
  list.push_back(&skeleton);
  return list;
}

}  // namespace

/// What the ranks of this process need while they are tested.
struct Job::Ranks {
  Runtime runtime;
  std::vector<const Backend*> backends;
};

bool asks_for_mpi(const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "conform") return false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--transport=mpi") return true;
    if (words[i] == "--transport" && i + 1 < words.size() && words[i + 1] == "mpi") return true;
  }
  return false;
}

Job::Job(const ConformOptions& options)
    : options_(options),
      transports_(open(options.transport)),
      over_mpi_(options.transport == "mpi") {
  try {
    // Ranks share the machine, so each has one thread unless it is told otherwise.
    const int threads = options.threads == "0" ? 1 : parse_threads(options.threads);
    ranks_ = std::unique_ptr<Ranks>(
        new Ranks{need(Runtime::start({threads})), backends_of(options.backend)});
  } catch (const Refusal& refusal) {
    exit_code_ = refusal.exit();
    if (over_mpi_) mpi_door->close(false, exit_code_);
    throw;
  }
}

Job::~Job() {
  const bool broken = !transports_.front()->health().ok();
  transports_.clear();
  if (over_mpi_) mpi_door->close(broken, exit_code_);
}

namespace {

/// fn(transport, backend, rank) on every rank of this process, on a thread each; what rank 0, or
/// this process's rank, returned.
template <class T, class Fn>
T on_ranks(const std::vector<std::shared_ptr<cluster::Transport>>& transports,
           const std::vector<const Backend*>& backends, Fn&& fn) {
  std::vector<std::optional<Result<T>>> results(transports.size());
  std::vector<std::thread> all;
  const auto one = [&](std::size_t i) {
    const auto rank = static_cast<std::size_t>(transports[i]->rank());
    results[i] = fn(transports[i], *backends[rank % backends.size()]);
    // Nobody waits for a thread that has left. Processes agree on an exit code yet.
    if (!*results[i] && transports.size() > 1) transports[i]->abort();
  };
  for (std::size_t i = 1; i < transports.size(); ++i) all.emplace_back(one, i);
  one(0);
  for (std::thread& thread : all) thread.join();
  return need(*std::move(results.front()));
}

}  // namespace

std::vector<conformance::Report> Job::test(const conformance::Options& harness) {
  return on_ranks<std::vector<conformance::Report>>(
      transports_, ranks_->backends,
      [&](const std::shared_ptr<cluster::Transport>& transport, const Backend& backend) {
        cluster::JobOptions options;
        options.harness = harness;
        options.harness.engine_flag =
            "--transport " + options_.transport + " --backend " + options_.backend;
        if (transport->rank() != 0) options.harness.observer = nullptr;
        options.harness.oracle = oracle_for(backend);
        options.backend = &backend;
        for (const Backend* one : ranks_->backends) {
          options.backends += (options.backends.empty() ? "" : " and ") + std::string(one->name());
        }
        options.patience = patience();
        auto reports = cluster::run_job(transport, options);
        const bool stopped = reports && !reports->empty() && reports->back().interrupted;
        if (stopped) transport->abort();
        if (reports) {
          for (conformance::Report& report : *reports) report.commit = kCommit;
        }
        return reports;
      });
}

std::chrono::milliseconds Job::patience() const {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(1000.0F * parse_float("timeout", options_.timeout)));
}

Report Job::controls(conformance::Level level, std::uint64_t seed, bool markdown) {
  const auto list = on_ranks<std::vector<cluster::Planted>>(
      transports_, ranks_->backends,
      [&](const std::shared_ptr<cluster::Transport>& transport, const Backend& backend) {
        cluster::JobOptions options;
        options.harness.level = level;
        options.harness.seed = seed;
        options.harness.oracle.backend = &controls::honest();
        options.backend = &backend;
        options.patience = patience();
        return cluster::run_planted(transport, options);
      });
  Report report;
  report.json["command"] = "conform";
  Json& rows = report.json["controls"] = Json::array();
  if (markdown) {
    report.text = "| control | property meant | caught | fault |\n|---|---|---|---|\n";
  }
  std::size_t caught = 0;
  bool good = true;
  for (const cluster::Planted& one : list) {
    const bool honest = &one == &list.back();
    caught += one.caught && !honest ? 1 : 0;
    good = good && one.caught != honest;
    const std::string verdict = honest ? (one.caught ? "YES" : "no") : (one.caught ? "yes" : "NO");
    rows.push_back({{"control", one.name},
                    {"property", one.property},
                    {"caught", one.caught},
                    {"fault", one.fault}});
    char line[320];
    std::snprintf(line, sizeof line, markdown ? "| %s | %s | %s | %s |\n" : "%-20s %-16s %-8s %s\n",
                  one.name.c_str(), one.property.c_str(), verdict.c_str(), one.fault.c_str());
    report.text += line;
  }
  report.text += std::string(markdown ? "\n" : "") + std::to_string(caught) + " of " +
                 std::to_string(list.size() - 1) +
                 " planted faults were caught; the same code "
                 "without one " +
                 (list.back().caught ? "FAILS" : "passes") + "\n";
  report.json["all_caught"] = caught + 1 == list.size();
  report.json["honest_passes"] = !list.back().caught;
  report.exit = good ? kOk : kFailed;
  return report;
}

Exit Job::agree(Exit mine) {
  exit_code_ = mine;
  if (over_mpi_) {
    const auto most = cluster::greatest(*transports_.front(), mine, patience());
    exit_code_ = most ? *most : static_cast<int>(kFailed);
  }
  return static_cast<Exit>(exit_code_);
}

}  // namespace detgemm::cli

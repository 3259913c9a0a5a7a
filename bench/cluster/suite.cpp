// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cluster/suite.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/cluster/experiment.hpp"
#include "bench/suite/console.hpp"
#include "bench/suite/devices.hpp"
#include "detgemm/nccl.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::bench {
namespace {

constexpr int kHostRanks = 2;
/// Bytes of a window: room for the roots of the largest case.
constexpr std::size_t kWindow = std::size_t{512} << 20;

/// Where ranks run: every one on a GPU of its own, or all on the host.
struct Place {
  bool gpus = false;
  int ranks = 0;
};

[[noreturn]] void wrong_ranks(const Options& o, const std::string& rule) {
  throw std::invalid_argument("--ranks is \"" + std::to_string(o.ranks) + "\": " + rule);
}

Place place_of(const Options& o) {
  if (o.ranks > Ranks::kMax) {
    wrong_ranks(o, "it must be from 1 to " + std::to_string(Ranks::kMax));
  }
  if (o.backend == "hip") {
    throw NothingRan("the suite cluster has no ranks on hip yet: cuda or cpu");
  }
  // Asked in another process, because CUDA does not survive a fork.
  const int gpus = o.backend == "cpu" ? 0 : ask_in_a_process(cuda_device_count);
  if (o.backend == "cuda" && gpus == 0)
    throw NothingRan("no CUDA device is visible to this process");
  if (gpus == 0) return {false, o.ranks == 0 ? kHostRanks : o.ranks};
  if (o.ranks > gpus) {
    wrong_ranks(o, "this process sees " + std::to_string(gpus) + " CUDA devices");
  }
  return {true, o.ranks == 0 ? std::min(gpus, Ranks::kMax) : o.ranks};
}

RankKit make_kit(Ranks& ranks, const Place& place, const Options& o,
                 std::shared_ptr<cluster::Transport> transport) {
  RankKit kit{ranks, nullptr, nullptr, {}, nullptr, std::nullopt, std::nullopt, {}};
  std::string why;
  if (place.gpus) {
    use_cuda_device(ranks.rank());
    kit.device = make_cuda_device(o.cublaslt, why);
  } else {
    kit.device = make_host_device(why);
  }
  if (kit.device == nullptr) throw NothingRan(why);
  if (place.gpus) {
    kit.nccl = Nccl::open(o.nccl, kit.why_no_nccl);
    if (kit.nccl == nullptr) throw NothingRan("no NCCL: " + kit.why_no_nccl);
    NcclId id;
    if (ranks.rank() == 0) id = kit.nccl->new_id();
    id.bytes = ranks.from_first(id.bytes);
    kit.comm = kit.nccl->communicator(id, ranks.size(), ranks.rank());
    auto made = cluster::nccl(kit.comm, DeviceKind::cuda);
    check(made.status(), "the transport");
    transport = *made;
  } else {
    kit.why_no_nccl = "NCCL moves the memory of GPUs alone";
  }
  auto communicator = cluster::Communicator::create(transport);
  check(communicator.status(), "the communicator");
  kit.communicator = *communicator;
  if (place.gpus && ranks.size() > 1) {
    cluster::Options options;
    options.window_bytes = kWindow;
    options.window_backend = &kit.device->backend();
    auto peers = cluster::Communicator::create(transport, options);
    check(peers.status(), "the communicator with windows");
    if (peers->has_windows()) {
      kit.peers = *peers;
    } else if (ranks.rank() == 0) {
      std::printf("no windows: %s\n", peers->describe().c_str());
    }
  }
  kit.products = place.gpus ? kit.device->baselines() : std::vector<Baseline>{};
  return kit;
}

std::vector<Case> cases_of(const RankKit& kit, const Place& place, const Options& o) {
  CaseQuery query;
  query.backend = place.gpus ? "cluster" : "cluster-cpu";
  query.native = native_arithmetic(*kit.device);
  query.suites = {"cluster"};
  query.tokens = o.tokens;
  query.quick = o.quick;
  auto all = read_cases(built_in_cases(), query);
  for (Case& c : all) c.id += "/p" + std::to_string(kit.ranks.size());
  return all;
}

RunResult describe(RankKit& kit, const Place& place, const Options& o, const std::string& command) {
  RunResult run = result_of_today(o, command);
  run.backend = kit.device->name();
  run.ranks = kit.ranks.size();
  run.machine = kit.device->facts();
  run.machine.emplace_back("ranks", std::to_string(kit.ranks.size()));
  run.machine.emplace_back("ranks are",
                           place.gpus ? "a process for each GPU" : "threads of one process");
  run.machine.emplace_back("transport", kit.communicator->describe());
  if (kit.peers) run.machine.emplace_back("peers", kit.peers->describe());
  const char* const nvls = std::getenv("NCCL_NVLS_ENABLE");
  run.machine.emplace_back("NCCL_NVLS_ENABLE", nvls != nullptr ? nvls : "not set");
  for (const auto& fact : o.facts) run.machine.push_back(fact);
  run.baselines = baselines_of(kit);
  return run;
}

void print(const RunResult& run) {
  for (const auto& [key, value] : run.machine) std::printf("%s: %s\n", key.c_str(), value.c_str());
  for (const Baseline& baseline : run.baselines) {
    std::printf("baseline %s: %s%s\n", baseline.name.c_str(),
                baseline.present ? "" : "absent: ", baseline.what.c_str());
  }
}

void print(const CaseResult& result) {
  for (const ArmResult& arm : result.arms) {
    std::printf("%-64s %11.2f us%s\n", (result.what.id + "/" + arm.name).c_str(), arm.us.median,
                arm.bits && arm.bits->different != 0 ? "  WRONG BITS" : "");
  }
  for (const std::string& note : result.notes) std::printf("  %s\n", note.c_str());
  std::fflush(stdout);
}

int measure(RankKit& kit, const Place& place, const Options& o, const std::string& command,
            const std::function<int(const RunResult&)>& finish) {
  const bool first = kit.ranks.rank() == 0;
  Settings settings;
  settings.quick = o.quick;
  settings.repetitions = o.repetitions;
  settings.wanted = matcher(o.filter);
  std::vector<Case> cases;
  for (Case& c : cases_of(kit, place, o)) {
    const auto& arms = cluster_arms();
    const bool any = std::any_of(arms.begin(), arms.end(), [&](const ClusterArm& arm) {
      return settings.wanted(c.id + "/" + arm.name);
    });
    if (any) cases.push_back(std::move(c));
  }
  RunResult run = describe(kit, place, o, command);
  if (first) print(run);
  std::vector<Problem> problems;
  for (const Case& c : cases) {
    problems.push_back(share_of(kit, c));
    problems.push_back(problems.back());
    problems.back().output = DType::fp32;
  }
  const Buffers buffers(kit.device->memory(), problems, kit.device->pools());
  const double begin = now_s();
  for (const Case& c : cases) {
    const bool spent = first && o.seconds > 0 && now_s() - begin > o.seconds;
    if (!kit.ranks.all(!spent)) break;
    run.results.push_back(run_cluster_case(kit, c, buffers, settings));
    const CaseResult& result = run.results.back();
    if (result.wrong_bits || result.arm_failed) ++run.failed;
    if (first) print(result);
  }
  run.not_measured = static_cast<int>(cases.size() - run.results.size());
  kit.ranks.meet();
  return first ? finish(run) : 0;
}

/// CASE/ARM of what would run.
std::vector<std::string> names(const Options& o, const Place& place) {
  std::vector<std::string> all;
  CaseQuery query;
  query.backend = place.gpus ? "cluster" : "cluster-cpu";
  query.suites = {"cluster"};
  query.tokens = o.tokens;
  query.quick = o.quick;
  const auto wanted = matcher(o.filter);
  for (const Case& c : read_cases(built_in_cases(), query)) {
    for (const ClusterArm& arm : cluster_arms()) {
      const std::string name = c.id + "/p" + std::to_string(place.ranks) + "/" + arm.name;
      if (wanted(name)) all.push_back(name);
    }
  }
  if (all.empty()) throw NothingRan("no case is left: --filter and --m must leave one");
  return all;
}

}  // namespace

bool asks_for_cluster(const Options& o) {
  const bool asked = std::find(o.suites.begin(), o.suites.end(), "cluster") != o.suites.end();
  if (asked && o.suites.size() > 1) {
    throw std::invalid_argument("--suite has cluster among others: it is measured alone");
  }
  if (!asked && o.ranks != 0) wrong_ranks(o, "it goes with --suite cluster alone");
  if (asked && (!o.variants.empty() || !o.cases.empty() || o.check_bits || o.weight_read)) {
    throw std::invalid_argument(
        "--suite cluster takes no --variants, --cases, --check-bits and --weight-read");
  }
  return asked;
}

int run_cluster(const Options& o, const std::string& command,
                const std::function<int(const RunResult&)>& finish) {
  const Place place = place_of(o);
  const auto all = names(o, place);
  if (o.dry) std::printf("%zu arms of cases\n", all.size());
  if (o.list) {
    for (const std::string& name : all) std::printf("%s\n", name.c_str());
  }
  if (o.list || o.dry) return 0;
  if (place.gpus) {
    return run_as_processes(place.ranks, [&](Ranks& ranks) {
      RankKit kit = make_kit(ranks, place, o, nullptr);
      const int code = measure(kit, place, o, command, finish);
      kit.peers.reset();
      kit.communicator.reset();
      kit.nccl->destroy(kit.comm);
      return code;
    });
  }
  const auto runtime = Runtime::start();
  if (!runtime) throw NothingRan(runtime.status().message());
  const auto transports = cluster::threads(place.ranks);
  return run_as_threads(place.ranks, [&](Ranks& ranks) {
    RankKit kit = make_kit(ranks, place, o, transports[static_cast<std::size_t>(ranks.rank())]);
    return measure(kit, place, o, command, finish);
  });
}

}  // namespace detgemm::bench

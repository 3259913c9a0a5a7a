// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// gpus [--ranks P] [--threads] [--nccl PATH] [--seeds S] [--replays R] [--json FILE] [--plant]
//      [--trace] [--one-chunk] [--one-way] [--peers [--same-device] [--outputs N] [--seconds S]
//      [--times] [--gradients] [--early]]
//
// Ranks over NCCL on the GPUs of one host, started here: a process for each, or with --threads the
// threads of this process. Every output is compared with that of one rank. Exit status 77: fewer
// than P GPUs. With --plant roots are mixed up on their way, and the run must fail. To find what
// hangs: --trace says on stderr what each rank begins, --replays 0 leaves graphs out, --one-chunk
// moves nothing beside a product, --one-way does nothing but send messages one way, in every manner
// of tests/cluster/one_way.hpp, and says which ones did not end. --peers needs no NCCL: ranks join
// through windows in the memory of their devices (gpu_peers.hpp), with --same-device all in
// that of device 0; at least N outputs are compared on each rank, or as many as S seconds
// allow. With --times nothing is compared: it prints microseconds per call of every way.
// --gradients: sums of gradients, their bits and their times beside NCCL's (gpu_gradients.hpp).
// --early, with --threads --same-device: joins that begin early, on one GPU, S rounds of each check
// (gpu_early.hpp).
// Compiled with GPUS_STAND_IN it runs on the stand-ins of tests/cluster/fake_nccl.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/cluster/nccl.hpp"
#include "bench/cluster/ranks.hpp"
#include "detgemm/detgemm_cluster.h"
#include "detgemm/nccl.hpp"
#include "tests/cluster/gpu_gradients.hpp"
#include "tests/cluster/one_way.hpp"
#include "tests/cluster/passing.hpp"
#include "tests/cluster/shares.hpp"

#ifdef GPUS_STAND_IN
#include "cluster/nccl/library.hpp"
#include "tests/cluster/fake_nccl/device.hpp"
#else
#include <cuda_runtime_api.h>

#include "tests/cluster/gpu_early.hpp"
#endif

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;
using bench::Nccl;
using bench::Ranks;

struct Settings {
  int ranks = 2;
  bool threads = false, plant = false, trace = false, one_chunk = false, one_way = false;
  bool peers = false, same_device = false, times = false, gradients = false, early = false;
  double outputs = 2e8, seconds = 40;
  std::string nccl, json;
  std::uint64_t seeds = 40;
  int replays = 1000;
};

#ifdef GPUS_STAND_IN
constexpr std::int64_t kWide = 8, kDeep = 256;
int count_gpus() { return Ranks::kMax; }
void use_gpu(int) {}
const Backend& gpu_backend() { return fake::backend(); }
Result<std::shared_ptr<Transport>> transport_of(void* comm) {
  const auto library = find_nccl(DeviceKind::cuda, nullptr);
  if (!library) return library.status();
  return make_nccl(*library, comm, fake::device());
}
#else
constexpr std::int64_t kWide = 4096, kDeep = 14336;
int count_gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
void use_gpu(int ordinal) {
  if (cudaSetDevice(ordinal) != cudaSuccess) throw std::runtime_error("cudaSetDevice failed");
}
const Backend& gpu_backend() { return **find_backend("cuda"); }
Result<std::shared_ptr<Transport>> transport_of(void* comm) { return nccl(comm, DeviceKind::cuda); }
#endif

void* make_comm(Ranks& ranks, const Nccl& nccl) {
  bench::NcclId id;
  if (ranks.rank() == 0) id = nccl.new_id();
  id.bytes = ranks.from_first(id.bytes);
  return nccl.communicator(id, ranks.size(), ranks.rank());
}

/// A planted fault: the first and the last root of a step change places, where they are as long.
class MixedUp final : public PassingTransport {
 public:
  using PassingTransport::PassingTransport;
  std::string description() const override {
    return PassingTransport::description() + ", mixed up";
  }
  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    std::vector<Receive> mixed(receives.begin(), receives.end());
    if (mixed.size() > 1 && mixed.front().bytes == mixed.back().bytes) {
      std::swap(mixed.front().data, mixed.back().data);
    }
    return PassingTransport::exchange(stream, sends, mixed, patience);
  }
};

/// What one rank does, check by check; every check is made by all ranks together.
class Run {
 public:
  Run(Ranks& ranks, const Settings& settings) : ranks_(ranks), settings_(settings) {
    use_gpu(ranks.rank());
    std::string why;
    nccl_ = Nccl::open(settings.nccl, why);
    if (nccl_ == nullptr) throw std::runtime_error("no NCCL: " + why);
  }

  int all() {
    if (settings_.one_way) return one_way();
    {
      void* const comm = new_comm();
      {
        const auto communicator = required(create(comm, {}));
        name_ = communicator.describe();
        random_samples(communicator);
        one_graph(communicator);
        a_layer(communicator);
      }
      nccl_->destroy(comm);
    }
    write();  // what follows may end a process, if NCCL cannot be let go of
    if (ranks_.size() > 1) {
#ifndef GPUS_STAND_IN
      in_c();
#endif
      nobody_comes_to_create();
      nobody_comes_to_a_call();
    }
    return report();
  }

 private:
  template <class T>
  static T required(Result<T> result) {
    if (!result) throw std::runtime_error(result.status().message());
    return std::move(result).value();
  }

  void* new_comm() { return make_comm(ranks_, *nccl_); }
  Result<Communicator> create(void* comm, const Options& options) const {
    auto transport = transport_of(comm);
    if (!transport) return transport.status();
    if (settings_.plant)
      return Communicator::create(std::make_shared<MixedUp>(*transport), options);
    return Communicator::create(*transport, options);
  }

  void note(const std::string& check, const std::string& wrong, std::int64_t outputs) {
    Check& c = checks_[check];
    ++c.runs;
    c.outputs += outputs;
    if (c.runs == 1 && ranks_.rank() == 0) {
      std::fprintf(stderr, "%s ...\n", check.c_str());  // where it is, if it should hang
    }
    // A check that fails on one rank has failed.
    if (ranks_.all(wrong.empty())) return;
    ++c.failed;
    ++failed_;
    if (wrong.empty()) return;
    std::printf("rank %d: %s: %s\n", ranks_.rank(), check.c_str(), wrong.c_str());
    std::fflush(stdout);  // a run that hangs later is killed
    std::fflush(stdout);  // a run that hangs later is killed
  }

  /// Random problems, placements, shares and algorithms, some of them replayed from graphs.
  void random_samples(const Communicator& communicator) {
    for (std::uint64_t seed = 0; seed < settings_.seeds; ++seed) {
      const bool native = seed % 2 == 0;
      const Sample sample(native ? "hopper/bf16/tree:64->fp32" : "ieee_fma/bf16/tree:16->fp32",
                          seed);
      RowParallelOptions options;
      options.output = seed % 3 == 0 ? Placement::rows : Placement::replicated;
      options.chunks = static_cast<std::int32_t>(settings_.one_chunk ? 1 : seed % 4);
      if (options.output == Placement::replicated) {
        options.algorithm =
            std::array{Algorithm::automatic, Algorithm::gather, Algorithm::scatter}[seed / 3 % 3];
      }
      if (seed % 5 == 4) options.shares = lopsided(sample.spec, ranks_.size());
      const int replays = seed % 4 == 1 && settings_.replays > 0 ? 10 : 0;
      if (settings_.trace) {
        std::fprintf(stderr, "rank %d: seed %llu, %d chunks, %d replays\n", ranks_.rank(),
                     static_cast<unsigned long long>(seed), static_cast<int>(options.chunks),
                     replays);
      }
      const std::string wrong =
          run_on_device(communicator, gpu_backend(), sample, options, replays);
      note(replays > 0 ? "random problems from graphs" : "random problems", wrong,
           sample.m * sample.spec.n);
    }
  }

  void one_graph(const Communicator& communicator) {
    const Sample sample("hopper/bf16/tree:64->fp32", 5);
    if (settings_.replays == 0) return;
    note("one graph replayed " + std::to_string(settings_.replays) + " times",
         run_on_device(communicator, gpu_backend(), sample, {}, settings_.replays),
         sample.m * sample.spec.n);
  }

  /// A layer of a model against one rank that computes it whole, on the same device.
  void a_layer(const Communicator& communicator) {
    for (const std::int64_t m : {1, 64, 1000}) {
      GemmSpec spec;
      spec.n = kWide;
      spec.k = kDeep;
      spec.contract = *Contract::parse("hopper/bf16/tree:" + std::to_string(kDeep / 8) + "->bf16");
      note("a layer, m = " + std::to_string(m), layer(communicator, spec, m), m * spec.n);
    }
  }

  std::string layer(const Communicator& communicator, const GemmSpec& spec, std::int64_t m) {
    std::mt19937_64 random(static_cast<std::uint64_t>(m));
    const auto elements = [&](std::int64_t count) {
      std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
      for (auto& x : all) {
        x = static_cast<std::uint16_t>((random() & 0x807f) | ((120 + random() % 8) << 7));
      }
      return all;
    };
    const auto a = elements(m * spec.k), b = elements(spec.k * spec.n);
    Device& device = gpu_backend().device();
    const OnDevice at_a(device, a.data(), a.size() * 2), at_b(device, b.data(), b.size() * 2);
    const auto d_bytes = static_cast<std::size_t>(m * spec.n) * 2;
    const OnDevice whole(device, d_bytes), spread(device, d_bytes);
    const OwnStream stream(device);
    const auto one = required(Plan::create(gpu_backend(), spec));
    const OnDevice scratch(device, required(one.workspace_bytes(m)));
    Status s =
        one.run(stream, row_major(static_cast<const void*>(at_a.data()), m, spec.k, DType::bf16),
                row_major(static_cast<const void*>(at_b.data()), spec.k, spec.n, DType::bf16),
                row_major(whole.data(), m, spec.n, DType::bf16),
                {scratch.data(), required(one.workspace_bytes(m))});
    if (!s) return s.message();
    const auto plan = RowParallelPlan::create(communicator, gpu_backend(), spec);
    if (!plan) return plan.status().message();
    const KRange k = plan->k_range();
    const std::size_t bytes = required(plan->workspace_bytes(m));
    const OnDevice room(device, bytes);
    const auto* from_a = static_cast<const std::uint16_t*>(at_a.data()) + k.begin;
    const auto* from_b = static_cast<const std::uint16_t*>(at_b.data()) + k.begin * spec.n;
    const Operands local{
        row_major(static_cast<const void*>(from_a), m, k.end - k.begin, DType::bf16, spec.k),
        row_major(static_cast<const void*>(from_b), k.end - k.begin, spec.n, DType::bf16),
        row_major(spread.data(), m, spec.n, DType::bf16)};
    s = plan->run(stream, m, local, {room.data(), bytes});
    if (s) s = device.synchronize(stream);
    if (!s) return s.message();
    return whole.read() == spread.read() ? "" : "other bits";
  }

#ifndef GPUS_STAND_IN
  /// C makes of an NCCL communicator what C++ makes of it.
  void in_c() {
    void* const comm = new_comm();
    detgemm_transport_t* transport = nullptr;
    detgemm_communicator_t* communicator = nullptr;
    std::int32_t rank = -1, size = -1;
    const bool made =
        detgemm_transport_nccl(comm, DETGEMM_CUDA, &transport) == DETGEMM_OK &&
        detgemm_communicator_create(transport, nullptr, &communicator) == DETGEMM_OK &&
        detgemm_communicator_rank(communicator, &rank, &size) == DETGEMM_OK &&
        detgemm_communicator_health(communicator) == DETGEMM_OK;
    std::string wrong = made ? "" : detgemm_last_error();
    if (made && (rank != ranks_.rank() || size != ranks_.size())) wrong = "another rank";
    note("the C interface", wrong, 0);
    detgemm_communicator_destroy(communicator);
    detgemm_transport_destroy(transport);
    nccl_->destroy(comm);
  }
#endif

  /// The last rank does not make a communicator of its NCCL communicator.
  void nobody_comes_to_create() {
    void* const comm = new_comm();
    std::string wrong;
    const bool absent = ranks_.rank() + 1 == ranks_.size();
    if (!absent) {
      const auto transport = required(transport_of(comm));
      Options options;
      options.patience = 1500ms;
      const auto made = Communicator::create(transport, options);
      if (made.status().code() != Errc::peer) wrong = "create: " + made.status().message();
      transport->abort();
    }
    note("a rank that never comes to create", wrong, 0);
    if (absent) required(transport_of(comm))->abort();
  }

  /// The last rank does not come to a call: the others' streams stay unfinished until they abort.
  void nobody_comes_to_a_call() {
    void* const comm = new_comm();
    std::string wrong;
    {
      const auto communicator = required(create(comm, {}));
      const Sample sample("hopper/bf16/tree:64->fp32", 5);
      Device& device = gpu_backend().device();
      const auto plan = required(RowParallelPlan::create(communicator, gpu_backend(), sample.spec));
      const OwnStream stream(device);
      const SampleOnDevice arrays(device, sample, plan.k_range(), {0, sample.m});
      const std::size_t bytes = required(plan.workspace_bytes(sample.m));
      const OnDevice scratch(device, bytes);
      ranks_.meet();
      if (ranks_.rank() + 1 != ranks_.size()) {
        const Status ran =
            plan.run(stream, sample.m, arrays.operands(sample), {scratch.data(), bytes});
        if (!ran) wrong = "run: " + ran.message();
        std::this_thread::sleep_for(500ms);
        const auto finished = device.finished(stream);
        if (!finished || *finished) wrong = "the stream did not wait for the absent rank";
        communicator.abort();
        // Its kernels have been told to end; what they say of it is NCCL's affair.
        static_cast<void>(device.synchronize(stream));
        if (communicator.health().code() != Errc::peer) wrong = "health after an abort";
      }
      ranks_.meet();
      if (ranks_.rank() + 1 == ranks_.size()) communicator.abort();
    }
    note("a rank that never comes to a call", wrong, 0);
  }

  /// Every manner of sending one way, each over a communicator of its own, since one that is stuck
  /// is aborted. The last one is a control, which must not end.
  int one_way() {
    for (const OneWay& kind : kOneWay) {
      void* const comm = new_comm();
      std::string wrong;
      bool aborted = false, all_ended = false;
      {
        const auto transport = required(transport_of(comm));
        const auto communicator = required(Communicator::create(transport));
        if (ranks_.rank() == 0) std::fprintf(stderr, "%s ...\n", kind.name);
        wrong = run_one_way(communicator, *transport, gpu_backend(), kind,
                            kind.nobody_sends ? 300ms : 4000ms);
        aborted = wrong == "did not end";
        all_ended = ranks_.all(!aborted);
        if (!all_ended)
          communicator.abort();  // on all ranks, since destroying waits for the others
      }
      if (all_ended) nccl_->destroy(comm);
      if (kind.nobody_sends && ranks_.rank() + 1 == ranks_.size()) {
        wrong = aborted ? "" : "it was not seen that nobody sends";
      }
      note(kind.name, wrong, 0);
    }
    return report();
  }

  int report() {
    complete_ = true;
    const std::string text = write();
    if (ranks_.rank() != 0) return 0;
    std::printf("%s\n", text.c_str());
    return failed_ == 0 ? 0 : 1;
  }

  std::string write() {
    nlohmann::ordered_json checks;
    for (const auto& [name, c] : checks_) {
      checks[name] = {{"runs", c.runs}, {"outputs", c.outputs}, {"failed", c.failed}};
    }
    const nlohmann::ordered_json out{
        {"ranks", ranks_.size()}, {"ranks_are", settings_.threads ? "threads" : "processes"},
        {"transport", name_},     {"device", gpu_backend().device().description()},
        {"checks", checks},       {"complete", complete_},
        {"failed", failed_}};
    if (ranks_.rank() == 0 && !settings_.json.empty()) {
      std::ofstream(settings_.json) << out.dump(1) << "\n";
    }
    return out.dump(1);
  }

  Ranks& ranks_;
  const Settings& settings_;
  std::unique_ptr<Nccl> nccl_;
  std::string name_;
  struct Check {
    int runs = 0, failed = 0;
    std::int64_t outputs = 0;
  };
  std::map<std::string, Check> checks_;
  int failed_ = 0;
  bool complete_ = false;
};

int report_peers(const Ranks& ranks, const Settings& settings, const std::string& name,
                 const std::map<std::string, PeerRun::Check>& all, int failed) {
  if (ranks.rank() != 0) return 0;
  nlohmann::ordered_json checks;
  for (const auto& [check, c] : all) {
    checks[check] = {{"runs", c.runs}, {"outputs", c.outputs}, {"failed", c.failed}};
  }
  const nlohmann::ordered_json out{{"ranks", ranks.size()},
                                   {"ranks_are", settings.threads ? "threads" : "processes"},
                                   {"same_device", settings.same_device},
                                   {"transport", name},
                                   {"device", gpu_backend().device().description()},
                                   {"checks", checks},
                                   {"complete", true},
                                   {"failed", failed}};
  if (!settings.json.empty()) std::ofstream(settings.json) << out.dump(1) << "\n";
  std::printf("%s\n", out.dump(1).c_str());
  return failed == 0 ? 0 : 1;
}

/// With --peers; the same on all ranks.
int run_peers(Ranks& ranks, const Settings& settings) {
  use_gpu(settings.same_device ? 0 : ranks.rank());
  if (settings.times) return print_times(ranks, gpu_backend(), settings.seconds), 0;
  if (settings.gradients) {
    std::string why;
    const auto library = Nccl::open(settings.nccl, why);
    if (library == nullptr) throw std::runtime_error("no NCCL: " + why);
    void* const comm = make_comm(ranks, *library);
    double different = GradientRun(ranks, gpu_backend(), *library, comm).all(settings.seconds / 2);
    different += GradientRun(ranks, gpu_backend(), *library, comm, std::size_t{7} << 30)
                     .all(settings.seconds / 2);
    library->destroy(comm);
    return different == 0 ? 0 : 1;
  }
#ifndef GPUS_STAND_IN
  if (settings.early) {
    EarlyRun run(ranks, gpu_backend(), static_cast<int>(settings.seeds));
    const int failed = run.all();
    return report_peers(ranks, settings, "windows of ranks that seem apart", run.checks(), failed);
  }
#endif
  PeerSettings what;
  what.same_device = settings.same_device;
  what.seeds = settings.seeds;
  what.replays = settings.replays;
  what.outputs = settings.outputs;
  what.seconds = settings.seconds;
  PeerRun run(ranks, gpu_backend(), what);
  const int failed = run.all();
  return report_peers(ranks, settings, run.name(), run.checks(), failed);
}

int run(const std::vector<std::string>& words) {
  Settings settings;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::map<std::string, bool*> switches{{"--threads", &settings.threads},
                                                {"--plant", &settings.plant},
                                                {"--trace", &settings.trace},
                                                {"--one-chunk", &settings.one_chunk},
                                                {"--one-way", &settings.one_way},
                                                {"--peers", &settings.peers},
                                                {"--same-device", &settings.same_device},
                                                {"--times", &settings.times},
                                                {"--gradients", &settings.gradients},
                                                {"--early", &settings.early}};
    if (const auto at = switches.find(word); at != switches.end()) {
      *at->second = true;
      continue;
    }
    if (i + 1 == words.size()) throw std::invalid_argument(word + " needs a value");
    const std::string& value = words[++i];
    if (word == "--ranks") {
      settings.ranks = std::stoi(value);
    } else if (word == "--nccl") {
      settings.nccl = value;
    } else if (word == "--seeds") {
      settings.seeds = std::stoull(value);
    } else if (word == "--replays") {
      settings.replays = std::stoi(value);
    } else if (word == "--outputs") {
      settings.outputs = std::stod(value);
    } else if (word == "--seconds") {
      settings.seconds = std::stod(value);
    } else if (word == "--json") {
      settings.json = value;
    } else {
      throw std::invalid_argument("option is \"" + word + "\": see the head of gpus.cpp");
    }
  }
  if (settings.same_device && !settings.peers) {
    throw std::invalid_argument("--same-device goes with --peers");
  }
  if (settings.early && !(settings.same_device && settings.threads)) {
    throw std::invalid_argument("--early goes with --peers --threads --same-device");
  }
  // Kernels of ranks that share a device wait for each other: none may stand behind another's in a
  // queue of the device, and none may be loaded while others wait.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  const int gpus = bench::ask_in_a_process(count_gpus);
  const int needed = settings.same_device ? 1 : settings.ranks;
  if (gpus < needed) {
    std::printf("skipped: %d GPUs for %d ranks\n", gpus, settings.ranks);
    return 77;
  }
  const auto body = [&](Ranks& ranks) {
    return settings.peers ? run_peers(ranks, settings) : Run(ranks, settings).all();
  };
  return settings.threads ? bench::run_as_threads(settings.ranks, body)
                          : bench::run_as_processes(settings.ranks, body);
}

}  // namespace
}  // namespace detgemm::cluster

int main(int argc, char** argv) {
  try {
    return detgemm::cluster::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpus: %s\n", error.what());
    return 2;
  }
}

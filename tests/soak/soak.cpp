// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// soak [--seconds S] [--threads T] [--backend NAME] [--problems P] [--operations N] [--seed SEED]
//      [--json FILE] [--plant leak|bit]
//
// Random plans on random threads and streams, made and destroyed all the time, for as long as it is
// told to. Every answer is compared with the first one of its problem, byte for byte. Work comes in
// rounds; between two rounds no plan, stream or thread of the program is alive, so the number of
// live allocations must be what it was: one more per round is a leak. --plant leaks a plan or
// changes a bit, to show that this is seen. Exit 1 where anything was wrong.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "detgemm/detgemm.h"
#include "detgemm/runtime.hpp"
#include "tests/soak/memory.hpp"
#include "tests/soak/scene.hpp"

namespace detgemm::soak {
namespace {

using Clock = std::chrono::steady_clock;
using test::Random;

struct Options {
  double seconds = 10;
  int threads = 2;
  std::string backend = "reference";
  int problems = 48;
  int operations = 200;
  std::uint64_t seed = 1;
  std::string json;
  std::string plant;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) stop(name + " lacks a value");
    const std::string value = argv[i + 1];
    if (name == "--seconds") {
      options.seconds = std::stod(value);
    } else if (name == "--threads") {
      options.threads = std::stoi(value);
    } else if (name == "--backend") {
      options.backend = value;
    } else if (name == "--problems") {
      options.problems = std::stoi(value);
    } else if (name == "--operations") {
      options.operations = std::stoi(value);
    } else if (name == "--seed") {
      options.seed = std::stoull(value);
    } else if (name == "--json") {
      options.json = value;
    } else if (name == "--plant") {
      options.plant = value;
    } else {
      stop("unknown option " + name);
    }
  }
  return options;
}

/// What all threads of a round share.
struct Round {
  const Backend& backend;
  const Options& options;
  const std::vector<std::unique_ptr<Scene>>& scenes;
  std::mutex mutex;
  std::vector<std::optional<Plan>> plans{};  ///< by scene; any thread takes or replaces one
  std::atomic<std::int64_t>& answers;
  std::atomic<std::int64_t>& created;
  std::atomic<std::int64_t>& refused;
};

Plan create(Round& round, const Scene& scene, Random& random) {
  PlanOptions how;
  const auto& variants = scene.variants();
  if (random.below(2) == 0 && !variants.empty()) {
    how.variant = variants[static_cast<std::size_t>(
        random.below(static_cast<std::int64_t>(variants.size())))];
  }
  how.max_workers = static_cast<std::int32_t>(random.below(4));
  how.stable = static_cast<Stable>(random.below(3));
  ++round.created;
  return need(Plan::create(round.backend, scene.spec(), how), "creating " + how.variant);
}

/// Wrong calls, in C++ and C: each is refused and leaves nothing behind.
void refuse(Round& round, const Scene& scene, const Plan& plan) {
  Operands operands = scene.operands();
  operands.d.rows = -1;
  if (plan.run(Stream{round.backend.device().kind(), nullptr}, operands)) stop("rows of -1 ran");
  GemmSpec spec = scene.spec();
  spec.k = -3;
  if (Plan::create(round.backend, spec)) stop("k of -3 made a plan");
  if (Plan::create(round.backend, scene.spec(), {"no such kernel"})) stop("a wrong name was taken");
  detgemm_contract_t contract;
  if (detgemm_contract_init(&contract, sizeof contract) != DETGEMM_OK ||
      detgemm_contract_parse("hopper/bf16/tree:7", &contract) == DETGEMM_OK ||
      std::strlen(detgemm_last_error()) == 0) {
    stop("a leaf of 7 was taken");
  }
  round.refused += 4;
}

void work(Round& round, std::uint64_t seed) {
  Random random(seed);
  Device& device = round.backend.device();
  const Stream stream = need(device.create_stream(), "a stream");
  for (int i = 0; i < round.options.operations; ++i) {
    const auto at =
        static_cast<std::size_t>(random.below(static_cast<std::int64_t>(round.scenes.size())));
    const Scene& scene = *round.scenes[at];
    std::optional<Plan> plan;
    const auto pick = random.below(8);
    if (pick < 4) {  // a plan that others use at the same time, replaced now and then
      const std::lock_guard<std::mutex> lock(round.mutex);
      plan = round.plans[at];
    }
    if (!plan) plan = create(round, scene, random);
    if (pick < 5) {
      const std::lock_guard<std::mutex> lock(round.mutex);
      round.plans[at] = plan;
    }
    const auto way = static_cast<Scene::Way>(random.below(3));
    // The default stream of a GPU cannot be captured.
    const bool any_stream = way != Scene::Way::replay || !device.has_graphs();
    const Stream on = any_stream && random.below(4) == 0 ? Stream{} : stream;
    auto bytes = scene.answer(round.backend, *plan, on, way);
    if (!bytes) {
      ++round.refused;
      continue;
    }
    if (round.options.plant == "bit" && random.below(20) == 0) (*bytes)[0] ^= std::byte{1};
    if (round.options.plant == "leak" && random.below(100) == 0) new Plan(*plan);
    if (*bytes != scene.first()) {
      stop("other bits than at first: " + plan->describe(scene.m()));
    }
    ++round.answers;
    if (random.below(8) == 0) refuse(round, scene, *plan);
  }
  device.destroy_stream(stream);
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576; }

int run(const Options& options) {
  const Runtime runtime = need(Runtime::start({options.threads}), "starting");
  const Backend& backend = *need(find_backend(options.backend), "the backend");
  if (const Status available = backend.available(); !available) {
    std::printf("skipped: %s\n", available.message().c_str());
    return 77;
  }
  Random random(options.seed);
  std::vector<std::unique_ptr<Scene>> scenes;
  for (int i = 0; i < options.problems; ++i) {
    scenes.push_back(std::make_unique<Scene>(backend, random));
  }
  std::uint64_t digest = DETGEMM_DIGEST_SEED;
  for (const auto& scene : scenes) {
    detgemm_digest_bytes(scene->first().data(), scene->first().size(), digest, &digest);
  }
  std::printf("%s, %d threads, %d problems, seed %llu, digest of the first answers %016llx\n",
              options.backend.c_str(), options.threads, options.problems,
              static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(digest));

  std::atomic<std::int64_t> answers{0}, created{0}, refused{0};
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Held settled{};  // after the first tenth of the time, when caches are filled
  Held last{};
  int rounds = 0;
  double spoke = 0;
  while (rounds < 4 || elapsed() < options.seconds) {
    {
      Round round{backend, options, scenes, {}, {}, answers, created, refused};
      round.plans.resize(scenes.size());
      std::vector<std::thread> threads;
      for (int t = 0; t < options.threads; ++t) {
        threads.emplace_back(work, std::ref(round), random.next());
      }
      for (std::thread& thread : threads) thread.join();
    }
    last = held();
    ++rounds;
    if (rounds == 2 || elapsed() < options.seconds / 10) settled = last;
    if (elapsed() - spoke >= 60) {
      spoke = elapsed();
      std::printf("%6.0f s  %lld answers  %lld allocations held  %.1f MiB resident\n", spoke,
                  static_cast<long long>(answers), static_cast<long long>(last.allocations),
                  megabytes(last.resident));
      std::fflush(stdout);
    }
  }
  const std::int64_t more = last.allocations - settled.allocations;
  const std::int64_t growth = last.resident - settled.resident;
  const std::int64_t threads = last.threads - settled.threads;
  const double seconds = elapsed();
  std::printf(
      "%.0f s, %d rounds, %lld answers with the bits of the first, %lld plans, %lld refusals,\n"
      "%lld allocations made; held: %lld more than after the first tenth; malloc: %+lld bytes;\n"
      "resident: %.1f MiB, %+.1f MiB; threads: %+lld\n",
      seconds, rounds, static_cast<long long>(answers), static_cast<long long>(created),
      static_cast<long long>(refused), static_cast<long long>(last.made),
      static_cast<long long>(more),
      static_cast<long long>(last.malloc_bytes - settled.malloc_bytes), megabytes(last.resident),
      megabytes(growth), static_cast<long long>(threads));
  // On the host nothing may be left; a device's driver may keep some things, but not one per round.
  const std::int64_t kept = backend.device().kind() == DeviceKind::host ? 0 : rounds / 4 + 8;
  if (answers < refused / 4) stop("more was refused than computed");
  const bool leaks = more > kept || threads > 0 || megabytes(growth) > 64;
  if (leaks) std::printf("memory or threads grow\n");
  if (!options.json.empty()) {
    std::FILE* file = std::fopen(options.json.c_str(), "w");
    if (file == nullptr) stop("cannot write " + options.json);
    std::fprintf(
        file,
        "{\"backend\": \"%s\", \"threads\": %d, \"problems\": %d, \"seed\": %llu, "
        "\"first_answers\": \"%016llx\", \"seconds\": %.0f, \"rounds\": %d, "
        "\"answers\": %lld, \"plans\": %lld, \"refusals\": %lld, \"made\": %lld, "
        "\"allocations_more\": %lld, \"resident_more\": %lld, \"grows\": %s}\n",
        options.backend.c_str(), options.threads, options.problems,
        static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(digest),
        seconds, rounds, static_cast<long long>(answers), static_cast<long long>(created),
        static_cast<long long>(refused), static_cast<long long>(last.made),
        static_cast<long long>(more), static_cast<long long>(growth), leaks ? "true" : "false");
    std::fclose(file);
  }
  return leaks ? 1 : 0;
}

}  // namespace
}  // namespace detgemm::soak

int main(int argc, char** argv) { return detgemm::soak::run(detgemm::soak::parse(argc, argv)); }

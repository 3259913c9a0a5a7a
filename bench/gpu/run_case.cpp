// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu/run_case.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/check.hpp"

namespace detgemm::bench {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::int64_t kTiles = 4096;

/// An arm that has run once; arms that cannot are left out with a note.
struct Ready {
  Arm arm;
  Problem problem;
  bool is_ours = false;
  double rough_us = 0;
  std::unique_ptr<Replay> graph{};
};
using ReadyArms = std::vector<Ready>;

void add(const Bench& bench, CaseResult& result, ReadyArms& arms, const Problem& problem,
         bool is_ours, bool silent, const std::function<Arm()>& make) {
  Ready ready;
  ready.problem = problem;
  ready.is_ours = is_ours;
  try {
    ready.arm = make();
    // Outside a capture first: libraries load their kernels lazily.
    check(ready.arm.enqueue(bench.queue.stream(), 0), "enqueue");
  } catch (const std::exception& error) {
    static_cast<void>(cudaGetLastError());
    if (!silent) result.notes.push_back(ready.arm.name + ": left out: " + error.what());
    return;
  }
  check(cudaStreamSynchronize(bench.stream), ready.arm.name.c_str());
  ready.rough_us = time_roughly(bench.queue, ready.arm);
  arms.push_back(std::move(ready));
}

void add_vendor(const Bench& bench, CaseResult& result, ReadyArms& arms) {
  const Problem& p = result.what.problem;
  for (const auto& [name, bytes] :
       {std::pair{"cublas", kWorkspace}, std::pair{"cublas0", std::size_t{0}}}) {
    if (bench.cublaslt == nullptr || !wanted(bench.options.arms, name)) continue;
    add(bench, result, arms, p, false, false, [&, name = name, bytes = bytes] {
      return bench.cublaslt->arm(name, p, bench.buffers, bytes);
    });
  }
}

ReadyArms ready_arms(const Bench& bench, CaseResult& result) {
  ReadyArms arms;
  const Problem& p = result.what.problem;
  for (const auto& [name, overlap] :
       {std::pair{"early", Overlap::operand}, std::pair{"plain", Overlap::launch},
        std::pair{"serial", Overlap::none}}) {
    if (!wanted(bench.options.arms, name)) continue;
    if (overlap == Overlap::none && !launches_without_overlap()) continue;
    add(bench, result, arms, p, true, false, [&, name = name, overlap = overlap] {
      return ours(name, p, bench.buffers, overlap, bench.options.variant);
    });
  }
  add_vendor(bench, result, arms);
  if (result.what.neighbour) {
    const Problem& near = *result.what.neighbour;
    add(bench, result, arms, near, true, false,
        [&] { return ours("neighbour", near, bench.buffers, Overlap::operand, ""); });
  }
  const bool streams = p.kind == Kind::forward && p.tokens <= 16 && p.n % 64 == 0 && p.k % 64 == 0;
  if (streams && 2 * p.n * p.k >= 100'000'000 && wanted(bench.options.arms, "read")) {
    for (const int kib : {128, 192}) {
      add(bench, result, arms, p, false, false,
          [&] { return weight_read("read" + std::to_string(kib), p, bench.buffers, kib); });
    }
  }
  return arms;
}

/// Runs the graph of an arm of ours over a poisoned output and checks what its last call wrote.
void check_chain(const Bench& bench, CaseResult& result, const Ready& ready, std::int64_t tiles) {
  if (!ready.problem.is_chain() || ready.problem.accumulate) return;  // the sweep's to check
  const Buffers::Call last = bench.buffers.at(ready.problem, ready.graph->calls() - 1);
  const auto bytes = static_cast<std::size_t>(gemm_of(ready.problem).d_bytes());
  check(cudaMemsetAsync(last.d, 0xff, bytes, bench.stream), "poison");
  bench.queue.launch(*ready.graph);
  // Long chains are slow to recompute; fewer of them then.
  const std::int64_t steps = std::max<std::int64_t>(gemm_of(ready.problem).k, 8192);
  const Counted counted =
      against_plain_chain(bench.stream, ready.problem, last, tiles * 8192 / steps);
  result.chain.seen += counted.seen;
  result.chain.different += counted.different;
  if (counted.different != 0) result.notes.push_back("WRONG BITS: " + ready.arm.name);
}

void compare_with_vendor(const Bench& bench, CaseResult& result, const ReadyArms& arms) {
  if (result.what.problem.accumulate) return;
  const Ready* mine = nullptr;
  const Ready* vendor = nullptr;
  for (const Ready& ready : arms) {
    const bool same = ready.is_ours && ready.arm.name != "neighbour";
    if (same && mine == nullptr) mine = &ready;
    if (ready.arm.name == "cublas0") vendor = &ready;
  }
  if (mine == nullptr || vendor == nullptr) return;
  const Buffers::Call first = bench.buffers.at(result.what.problem, 0);
  const std::int64_t bytes = gemm_of(result.what.problem).d_bytes();
  check(vendor->arm.enqueue(bench.queue.stream(), 0), "cublas0");
  check(cudaMemcpyAsync(bench.buffers.scratch(), first.d, static_cast<std::size_t>(bytes),
                        cudaMemcpyDeviceToDevice, bench.stream),
        "copy");
  check(cudaMemsetAsync(first.d, 0xff, static_cast<std::size_t>(bytes), bench.stream), "poison");
  check(mine->arm.enqueue(bench.queue.stream(), 0), "ours");
  result.vendor = compare(bench.stream, first.d, bench.buffers.scratch(), bytes,
                          gemm_of(result.what.problem).size);
}

void capture(const Bench& bench, ReadyArms& arms, const Protocol& p) {
  for (Ready& ready : arms) {
    ready.graph = bench.queue.record(ready.arm, calls_for(p, ready.rough_us));
  }
}

void store(CaseResult& result, const ReadyArms& arms, const Samples& samples) {
  for (std::size_t i = 0; i < arms.size(); ++i) {
    result.arms.push_back(
        {arms[i].arm.name, arms[i].arm.detail, arms[i].graph->calls(), summarise(samples[i])});
  }
}

Replays graphs_of(const ReadyArms& arms) {
  Replays graphs;
  for (const Ready& ready : arms) graphs.push_back(ready.graph.get());
  return graphs;
}

}  // namespace

CaseResult run_case(const Bench& bench, const Case& c) {
  CaseResult result;
  result.what = c;
  Protocol p = protocol(c, bench.options);
  p.repetitions = std::max(std::min(3, p.repetitions),
                           static_cast<int>(std::lround(p.repetitions * bench.shrink)));
  ReadyArms arms = ready_arms(bench, result);
  // The same number of calls for each arm, so that what a graph costs to start weighs alike.
  std::vector<double> us;
  for (const Ready& ready : arms) us.push_back(ready.rough_us);
  if (!us.empty() && !c.neighbour) {
    const double least = *std::min_element(us.begin(), us.end());
    for (Ready& ready : arms) ready.rough_us = least;
  }
  capture(bench, arms, p);
  if (bench.options.bits) {
    for (const Ready& ready : arms) {
      if (ready.is_ours) check_chain(bench, result, ready, kTiles);
    }
    compare_with_vendor(bench, result, arms);
  }
  for (const Ready& ready : arms) bench.queue.launch(*ready.graph);
  check(cudaStreamSynchronize(bench.stream), "warm-up");
  if (c.mode == Mode::settled) {
    bench.nvml.start();
    store(result, arms,
          sample_settled(bench.queue, graphs_of(arms), us, p.repetitions, p.soak_s, p.block_ms));
    result.watched = bench.nvml.stop();
  } else {
    store(result, arms, sample_in_turn(bench.queue, graphs_of(arms), p.repetitions, p.idle_ms));
  }
  return result;
}

CaseResult run_variants(const Bench& bench, const Case& c) {
  CaseResult result;
  result.what = c;
  const Problem& p = c.problem;
  ReadyArms arms;
  add(bench, result, arms, p, true, false,
      [&] { return ours("chosen", p, bench.buffers, Overlap::operand, ""); });
  for (const std::string& variant : our_variants(p)) {
    if (variant.find(bench.options.variant) == std::string::npos) continue;
    add(bench, result, arms, p, true, true,
        [&] { return ours(variant, p, bench.buffers, Overlap::operand, variant); });
  }
  add_vendor(bench, result, arms);
  // Four samples of 4 ms and a warm one: about 20 ms a variant.
  capture(bench, arms, {4, 1, 4000, 2});
  for (const Ready& ready : arms) {
    if (ready.is_ours && bench.options.bits) check_chain(bench, result, ready, 512);
    bench.queue.launch(*ready.graph);
  }
  const bool slow = !arms.empty() && arms.front().rough_us > 2500;
  store(result, arms, sample_in_turn(bench.queue, graphs_of(arms), slow ? 2 : 4, 1));
  return result;
}

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/cluster/gpu_peers.hpp"

// What gpus.cpp does with --peers --times: microseconds per call of a layer whose K is spread, by
// every way of joining, so that the choice between them can be fitted. Bits are not looked at.

namespace detgemm::cluster {

/// Of one call, of `calls` in a graph that is replayed; the slowest rank.
inline double time_calls(bench::Ranks& ranks, Device& device, Stream stream, int times,
                         const std::function<Status(Stream)>& call, int calls = 10) {
  const auto graph = [&](Stream on) {
    for (int i = 0; i < calls; ++i) {
      if (Status s = call(on); !s) return s;
    }
    return Status{};
  };
  double best = 1e30;
  for (int i = 0; i < 3; ++i) {  // capturing takes long beside few replays: the difference of two
    double seconds[2];
    for (const int more : {0, 1}) {
      ranks.meet();
      const auto from = std::chrono::steady_clock::now();
      const Status ran = device.replay(stream, graph, more == 0 ? 1 : 1 + times);
      if (!ran) throw std::runtime_error(ran.message());
      seconds[more] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    }
    best = std::min(best, ranks.largest((seconds[1] - seconds[0]) / times / calls * 1e6));
  }
  return best;
}

inline void print_times(bench::Ranks& ranks, const Backend& backend, double limit_s) {
  Options options;
  options.window_bytes = std::size_t{512} << 20;
  options.window_backend = &backend;
  const auto made = Communicator::create(std::make_shared<AgreeingTransport>(ranks), options);
  if (!made || !made->has_windows()) throw std::runtime_error("there are no windows");
  const auto begun = std::chrono::steady_clock::now();
  Device& device = backend.device();
  constexpr std::int64_t kMax = 8192;
  const std::size_t room = std::size_t{1} << 29;
  for (const auto& [n, k] : {std::pair{8192, 28672}, std::pair{4096, 14336}}) {
    const std::int64_t share = k / ranks.size();
    const OnDevice a(device, static_cast<std::size_t>(kMax * share) * 2);
    const OnDevice b(device, static_cast<std::size_t>(n * share) * 2);
    const OnDevice d(device, static_cast<std::size_t>(kMax * n) * 4), scratch(device, room);
    const OwnStream stream(device);
    for (const std::int64_t m : {1, 16, 64, 256, 1024, 4096, 8192}) {
      GemmSpec whole;
      whole.n = n;
      whole.k = k;
      whole.contract = *Contract::parse("hopper/bf16/tree:" + std::to_string(share) + "->bf16");
      GemmSpec part = whole;
      part.k = share;
      part.contract.output = DType::fp32;
      const Operands operands{row_major(static_cast<const void*>(a.data()), m, share, DType::bf16),
                              row_major(static_cast<const void*>(b.data()), share, n, DType::bf16),
                              row_major(d.data(), m, n, DType::bf16)};
      Operands of_part = operands;
      of_part.d = row_major(d.data(), m, n, DType::fp32);
      const int times = m <= 256 ? 40 : 4;
      const auto alone = Plan::create(backend, part);
      if (!alone) throw std::runtime_error(alone.status().message());
      const double product = time_calls(ranks, device, stream, times, [&](Stream on) {
        return alone->run(on, of_part, {scratch.data(), room});
      });
      std::string line = std::to_string(n) + "x" + std::to_string(k) + " m " + std::to_string(m) +
                         ": product " + std::to_string(product);
      for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
        for (const std::int32_t chunks : {1, 2, 4, 8}) {
          if (way == Algorithm::one_shot && (chunks > 1 || m > 256)) continue;
          if (chunks > 1 && (m < 256 * chunks || way == Algorithm::push)) continue;
          RowParallelOptions choices;
          choices.algorithm = way;
          choices.chunks = chunks;
          const auto plan = RowParallelPlan::create(*made, backend, whole, choices);
          if (!plan) throw std::runtime_error(plan.status().message());
          const double us = time_calls(ranks, device, stream, times, [&](Stream on) {
            return plan->run(on, m, operands, {scratch.data(), room});
          });
          line += ", " + std::string(name(way)) +
                  (chunks == 1 ? "" : "/" + std::to_string(chunks)) + " " + std::to_string(us);
        }
      }
      if (ranks.rank() == 0) std::printf("%s\n", line.c_str());
      std::fflush(stdout);
      if (Status s = made->health(); !s) throw std::runtime_error(s.message());
      const double spent =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      if (ranks.largest(spent) > limit_s) return;
    }
  }
}

}  // namespace detgemm::cluster

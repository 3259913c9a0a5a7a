// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/peers/launch.hpp"

#include <algorithm>

namespace detgemm::cuda::peers {

// Four outputs per thread: CTAs as small as they may be while there are multiprocessors left, then
// larger ones, then threads that go round.
Grid choose(std::int64_t outputs_of_a_rank, int most_ctas, int most_threads) {
  constexpr std::int64_t kFewest = 128;
  const std::int64_t quads = std::max<std::int64_t>(1, (outputs_of_a_rank + 3) / 4);
  const std::int64_t most = std::clamp(most_ctas, 1, kMaxCtas);
  const std::int64_t ctas = std::min(most, (quads + kFewest - 1) / kFewest);
  const std::int64_t each = (quads + ctas - 1) / ctas;
  const std::int64_t threads =
      std::clamp<std::int64_t>((each + 31) / 32 * 32, kFewest, most_threads);
  return {static_cast<int>(ctas), static_cast<int>(threads)};
}

bool takes_vectors(const Job& j) {
  const auto at = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16; };
  const std::int64_t size = j.g.output == DType::fp32 ? 4 : 2;
  bool all = j.g.n % 8 == 0 && j.g.ds.col == 1 && at(j.g.d) == 0 && j.g.ds.row * size % 16 == 0;
  for (int i = 0; i < j.own; ++i) all = all && at(j.root[j.first_own + i]) == 0;
  return all;
}

int most_waiting(const std::uint8_t* closes, int nodes) {
  int top = 0, most = 0;
  for (int i = 0; i < nodes; ++i) {
    top += 1 - closes[i];
    most = std::max(most, top);
  }
  return most;
}

cudaError_t prepare() {
  cudaFuncAttributes attributes;
  for (const bool vectors : {false, true}) {
    for (const bool deep : {false, true}) {
      const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel(vectors, deep).function);
      if (error != cudaSuccess) return error;
    }
  }
  for (const bool lets_next_in : {false, true}) {
    const cudaError_t error =
        cudaFuncGetAttributes(&attributes, early_kernel(lets_next_in).function);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t blank_roots(const Job& job, cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(job.row[job.ranks] * job.g.n) * sizeof(float);
  for (int i = 0; i < job.own; ++i) {
    auto* const root = const_cast<float*>(job.root[job.first_own + i]);
    const cudaError_t error = cudaMemsetAsync(root, kBlank & 0xff, bytes, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t enqueue(const Job& job, const Way& way, bool blank, cudaStream_t stream) {
  std::int64_t rows = 0;
  for (int r = 0; r < job.ranks; ++r) rows = std::max(rows, job.row[r + 1] - job.row[r]);
  const bool vectors = takes_vectors(job);
  const int waiting = most_waiting(job.closes, job.nodes);
  const bool early = blank && vectors && waiting <= kFlat;
  Kernel chosen = early ? early_kernel(way.lets_next_in) : kernel(vectors, waiting > kShallow);
  const Grid grid = choose(rows * job.g.n, way.most_ctas, chosen.threads);
  chosen.threads = grid.threads;
  Job copy = job;
  void* arguments[] = {&copy};
  const cudaError_t error = cuda::launch(chosen, grid.ctas, {stream, way.overlap}, arguments);
  if (error != cudaSuccess || !blank || early) return error;
  return blank_roots(job, stream);
}

std::string name(const Job& job) {
  const char* const way = job.pushed ? "push" : job.two_shot ? "two_shot" : "one_shot";
  return "peers/" + std::string(way) + (takes_vectors(job) ? "" : "/single");
}

}  // namespace detgemm::cuda::peers

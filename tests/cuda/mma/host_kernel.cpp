// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// With the machine in place of the headers of instructions (CMakeLists.txt).
#include "tests/cuda/mma/host_kernel.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cuda/mma/choose.hpp"
#include "cuda/mma/kernel.cuh"
#include "cuda/mma/kernels.hpp"
#include "tests/cuda/mma/machine.hpp"

namespace detgemm::test {
namespace {

template <int kIndex>
struct Shape {
  static constexpr cuda::mma::Tile tile = cuda::mma::kTiles[kIndex];
};

using Run = void (*)(const cuda::mma::Params&);

template <DType T, bool kLeaves, bool kAlong, int i>
void compute(const cuda::mma::Params& p) {
  if constexpr (cuda::mma::has_kernel(cuda::mma::kTiles[i], T, kLeaves, kAlong)) {
    cuda::mma::compute_tiles<T, Shape<i>, kLeaves, kAlong>(p, 0);
  }
}

template <DType T, bool kLeaves, bool kAlong>
Run kernel_of(int tile) {
  static constexpr auto kAll = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<Run, sizeof...(i)>{&compute<T, kLeaves, kAlong, i>...};
  }
  (std::make_integer_sequence<int, cuda::mma::kTileCount>());
  return kAll.at(static_cast<std::size_t>(tile));
}

std::vector<int> numbers_of(int threads, ThreadOrder order, unsigned cta) {
  std::vector<int> all(static_cast<std::size_t>(threads));
  std::iota(all.begin(), all.end(), 0);
  if (order == ThreadOrder::descending) std::reverse(all.begin(), all.end());
  if (order == ThreadOrder::mixed) {
    std::uint32_t state = cta * 2654435761U + 12345U;
    for (std::size_t i = all.size(); i > 1; --i) {
      state = state * 1664525U + 1013904223U;
      std::swap(all[i - 1], all[(state >> 8) % i]);
    }
  }
  return all;
}

Machine::Step16 step_of(Arithmetic arithmetic, DType input, bool wrong) {
  Machine::Step16 step = nullptr;
  arithmetic::for_step(arithmetic, input, [&]<Arithmetic A, DType T>() {
    if constexpr ((A == Arithmetic::hopper || A == Arithmetic::ampere ||
                   A == Arithmetic::blackwell) &&
                  (T == DType::bf16 || T == DType::fp16 || T == DType::tf32)) {
      step = wrong ? &products_of<A, T, 1> : &products_of<A, T, 0>;
    }
  });
  return step;
}

}  // namespace

std::string run_mma_on_host(const cuda::mma::Params& params, DType input, int tile, bool leaves,
                            unsigned grid, const HostGpu& gpu) {
  const cuda::mma::Tile& t = cuda::mma::kTiles[static_cast<std::size_t>(tile)];
  Run kernel = nullptr;
  using cuda::mma::Way;
  const bool along = params.a.way == Way::along && params.b.way == Way::along;
  const auto find = [&]<DType T>() {
    if (input != T) return;
    if (along) {
      kernel = leaves ? kernel_of<T, true, true>(tile) : kernel_of<T, false, true>(tile);
    } else {
      kernel = leaves ? kernel_of<T, true, false>(tile) : kernel_of<T, false, false>(tile);
    }
  };
  find.template operator()<DType::bf16>();
  find.template operator()<DType::fp16>();
  find.template operator()<DType::tf32>();
  machine.step = step_of(gpu.arithmetic, input, gpu.fault == MmaFault::wrong_rounding);
  if (machine.step == nullptr) return "the machine has no such arithmetic";
  machine.fault = gpu.fault;
  machine.faults = 0;
  grid_extent.x = grid;
  for (block_index.x = 0; block_index.x < grid; ++block_index.x) {
    const bool ended =
        machine.run(t.threads(), static_cast<std::size_t>(t.ring_bytes()),
                    numbers_of(t.threads(), gpu.order, block_index.x), [&] { kernel(params); });
    if (!ended) return "threads wait for threads that have ended";
  }
  if (machine.faults == 0) return "";
  return std::to_string(machine.faults) + " races or wrong addresses";
}

std::string run_mma_on_host(const GemmArguments& g, DType input, int tile, const HostGpu& gpu,
                            int sms) {
  using namespace cuda;
  Question q;
  q.m = g.m;
  q.n = g.n;
  q.k = g.k;
  q.reduction = g.reduction;
  q.input = input;
  q.from_c = g.continue_from_c;
  q.sms = sms;
  q.forced = tile;
  mma::ask(g, q);
  const Choice choice = mma::choose(q);
  if (choice.why_not != nullptr) return choice.why_not;
  const Decision& d = choice.decision;
  std::vector<float4> workspace(
      mma::workspace_bytes(g.reduction, g.m, g.n, g.k, sms) / sizeof(float4) + 1);
  const mma::Params params = mma::make_params(g, d, workspace.data());
  const int grid = gpu.ctas > 0 ? std::min(d.grid, gpu.ctas) : d.grid;
  return run_mma_on_host(params, input, tile, d.leaves, static_cast<unsigned>(grid), gpu);
}

}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// detgemm_cuda_snap_speed [bits|copies|chains]: which kernel should snap A, on the GPU that is
// here.
//
//   bits     every kernel in groups against the kernel for leaves of any length, on random patterns
//   copies   large operands: every kernel, number of threads and of CTAs, beside a copy
//   chains   few tokens: snap A, multiply, snap A, multiply ... in a graph, weights promised
//   stable.
//            What the product alone takes, what an empty kernel before it costs, and each snapping
//
// Times are medians in microseconds, of operands that are in no cache. About 40 seconds in all.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "cuda/launch.hpp"
#include "cuda/sm90/ptx/control.cuh"
#include "cuda/snap/snap.hpp"

namespace detgemm::cuda {
namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

struct Memory {
  void* data = nullptr;
  explicit Memory(std::size_t bytes) { check(cudaMalloc(&data, bytes), "allocation"); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(data); }
  std::uint16_t* numbers() const { return static_cast<std::uint16_t*>(data); }
};

__global__ void fill(std::uint16_t* to, std::size_t count, std::uint32_t seed, int kind) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL + seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    const auto bits = static_cast<std::uint32_t>(x >> 32);
    // 0: exponents about 0. 1: any below 2^60. 2: any pattern in one of 64 numbers. 3: about 2^-62.
    const std::uint32_t field = kind == 1   ? (bits >> 8) % 187
                                : kind == 3 ? 55 + (bits >> 8) % 20
                                            : 120 + (bits >> 8) % 8;
    const bool any = kind == 2 && (x & 63) == 0;
    to[i] = static_cast<std::uint16_t>(any ? bits : (bits & 0x807fU) | field << 7);
  }
}
__global__ void differing(const std::uint16_t* x, const std::uint16_t* y, std::size_t count,
                          unsigned long long* total) {
  unsigned long long mine = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    mine += x[i] != y[i];
  }
  if (mine != 0) atomicAdd(total, mine);
}
/// Takes its place in the stream, and does nothing.
__global__ void nothing() {
  sm90::ptx::griddepcontrol_launch_dependents();
  sm90::ptx::griddepcontrol_wait();
}

int sms() {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "device");
  return count;
}

snap::Operand rows(const void* from, void* to, std::int64_t m, std::int64_t k, std::int64_t pitch,
                   std::int64_t leaf) {
  return snap::operand(from, pitch, 1, to, pitch, 1, m, k, leaf);
}
void run(const snap::Operand& o, const snap::Launch& launch, const Queue& queue) {
  snap::Operand argument = o;
  void* arguments[] = {&argument};
  Kernel kernel = snap::kernel(launch.variant);
  if (launch.threads != 0) kernel.threads = launch.threads;
  check(cuda::launch(kernel, launch.grid, queue, arguments), "launch");
}
std::string name(int variant) {
  const snap::Variant& v = snap::kVariants[variant];
  return std::to_string(v.longest) + (v.lanes != 0 ? " groups" : " warp") + " x" +
         std::to_string(v.at_once);
}
/// The variants along k that are made for a leaf.
std::vector<int> variants(std::int64_t leaf) {
  std::vector<int> list;
  for (int i = 0; i < snap::kVariantCount; ++i) {
    if (snap::kVariants[i].along_k && snap::kVariants[i].longest == leaf) list.push_back(i);
  }
  return list;
}

int bits() {
  constexpr std::int64_t kRows = 3000, kPitch = 4104;
  const std::size_t count = std::size_t{kRows} * kPitch;
  const Memory from(count * 2), to(count * 2), wanted(count * 2), number(8);
  unsigned long long wrong = 0, compared = 0;
  for (const std::int64_t leaf : {64, 128, 192, 256, 512, 1024}) {
    for (int kind = 0; kind < 4; ++kind) {
      for (const std::int64_t k : {std::int64_t{4096}, std::int64_t{4099}, leaf - 3}) {
        fill<<<1024, 256>>>(from.numbers(), count, static_cast<std::uint32_t>(leaf + kind), kind);
        const auto prepare = [&](const Memory& memory) {
          check(cudaMemset(memory.data, 0x5a, count * 2), "memset");
          return rows(from.data, memory.data, kRows, k, kPitch, leaf);
        };
        run(prepare(wanted), {8, 8 * sms(), 0}, {});
        for (int i = 0; i < snap::kVariantCount; ++i) {
          const snap::Variant& v = snap::kVariants[i];
          if (v.lanes == 0 || v.longest < std::min(leaf, k)) continue;
          const snap::Operand o = prepare(to);
          run(o, snap::launch_of(o, i, i % 2 != 0 ? 128 : 256, 8 * sms()), {});
          check(cudaMemset(number.data, 0, 8), "memset");
          differing<<<1024, 256>>>(to.numbers(), wanted.numbers(), count,
                                   static_cast<unsigned long long*>(number.data));
          unsigned long long differ = 0;
          check(cudaMemcpy(&differ, number.data, 8, cudaMemcpyDeviceToHost), "comparison");
          if (differ != 0)
            std::printf("  %s, leaf %ld, k %ld, data %d: %llu differ\n", name(i).c_str(),
                        long(leaf), long(k), kind, differ);
          wrong += differ;
          compared += count;
        }
      }
    }
  }
  std::printf("bits: %llu numbers of kernels in groups compared, %llu differ: %s\n\n", compared,
              wrong, wrong == 0 ? "passed" : "FAILED");
  return wrong == 0 ? 0 : 1;
}

double median(std::vector<double> list) {
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}
/// Microseconds per call of `calls` calls that `enqueue` makes on a stream, replayed as a graph.
double time_of(int calls, const std::function<void(cudaStream_t, int)>& enqueue) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capture");
  for (int i = 0; i < calls; ++i) enqueue(stream, i);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&ready, graph, 0), "graph");
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<double> times;
  for (int turn = 0; turn < 8; ++turn) {
    check(cudaEventRecord(begin, stream), "event");
    check(cudaGraphLaunch(ready, stream), "graph");
    check(cudaEventRecord(end, stream), "event");
    check(cudaEventSynchronize(end), "graph");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "event");
    if (turn > 0) times.push_back(1e3 * ms / calls);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return median(times);
}

void copies() {
  struct Shape {
    std::int64_t m, k, leaf;
  };
  for (const Shape s : {Shape{1024, 4096, 128},
                        {4096, 4096, 64},
                        {4096, 4096, 128},
                        {4096, 4096, 256},
                        {4096, 4096, 512},
                        {4096, 4096, 1024},
                        {8192, 8192, 128},
                        {8192, 8192, 256}}) {
    const std::size_t count = static_cast<std::size_t>(s.m * s.k);
    const int turns =
        static_cast<int>(std::max<std::size_t>(2, (std::size_t{192} << 20) / (count * 4)));
    const Memory from(count * 2 * turns), to(count * 2 * turns);
    fill<<<1024, 256>>>(from.numbers(), count * turns, 7, 0);
    const auto of = [&](int i) {
      const std::size_t at = static_cast<std::size_t>(i % turns) * count;
      return rows(from.numbers() + at, to.numbers() + at, s.m, s.k, s.k, s.leaf);
    };
    const int calls = std::max(2 * turns, 12);
    const double copy = time_of(calls, [&](cudaStream_t stream, int i) {
      const snap::Operand o = of(i);
      check(cudaMemcpyAsync(o.to, o.from, count * 2, cudaMemcpyDeviceToDevice, stream), "copy");
    });
    std::printf("%ld x %ld, leaf %ld: copy %.2f us (%.2f TB/s)\n", long(s.m), long(s.k),
                long(s.leaf), copy, 4e-6 * static_cast<double>(count) / copy);
    for (const int variant : variants(s.leaf)) {
      const bool groups = snap::kVariants[variant].lanes != 0;
      for (const int threads : {128, 256}) {
        for (const int ctas : {4, 8, 16, 1 << 20}) {
          if (!groups && (threads == 128 || ctas != 8)) continue;  // as they were before
          const double us = time_of(calls, [&](cudaStream_t stream, int i) {
            const snap::Operand o = of(i);
            const std::int64_t per_cta = 8 * snap::kVariants[variant].at_once;
            const auto few = static_cast<int>(std::min<std::int64_t>(
                (s.m * o.leaves + per_cta - 1) / per_cta, std::int64_t{ctas} * sms()));
            run(o,
                groups ? snap::launch_of(o, variant, threads, ctas * sms())
                       : snap::Launch{variant, few, 0},
                {stream, true});
          });
          std::printf("  %-16s %3d threads, %7d CTAs per SM: %7.2f us, %.2f of the copy\n",
                      name(variant).c_str(), threads, ctas, us, copy / us);
        }
      }
    }
  }
  std::printf("\n");
}

/// Chains of a product of m tokens and n x k weights.
void chains_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t leaf) {
  const std::size_t weights = static_cast<std::size_t>(n * k),
                    tokens = static_cast<std::size_t>(m * k);
  const int turns =
      static_cast<int>(std::max<std::size_t>(3, (std::size_t{256} << 20) / (weights * 2)));
  const Memory b(weights * 2 * turns), raw(tokens * 2 * turns), copy(tokens * 2 * turns),
      d(m * n * 2 * turns);
  fill<<<1024, 256>>>(b.numbers(), weights * turns, 1, 0);
  fill<<<1024, 256>>>(raw.numbers(), tokens * turns, 2, 0);
  LaunchOptions options;
  options.sms = sms();
  options.b_is_stable = true;
  GemmArguments g;
  g.m = m, g.n = n, g.k = k;
  g.as = {m > 1 ? k : 0, 1};
  g.bs = {1, k};
  g.ds = {m > 1 ? n : 0, 1};
  g.output = DType::bf16;
  g.reduction = {ReductionKind::fold, leaf};
  const auto chain = [&](const std::function<void(const snap::Operand&, cudaStream_t)>& before) {
    return time_of(4 * turns, [&](cudaStream_t stream, int i) {
      const auto at = static_cast<std::size_t>(i % turns);
      before(rows(raw.numbers() + at * tokens, copy.numbers() + at * tokens, m, k, k, leaf),
             stream);
      GemmArguments call = g;
      call.a = copy.numbers() + at * tokens;
      call.b = b.numbers() + at * weights;
      call.d = d.numbers() + at * static_cast<std::size_t>(m * n);
      LaunchOptions with = options;
      with.stream = stream;
      auto decision = decide({call, Arithmetic::hopper, DType::bf16}, with);
      if (!decision) std::exit(1);
      check(enqueue(*decision, {call, Arithmetic::hopper, DType::bf16}, with, nullptr), "product");
    });
  };
  check(prepare_kernels(Problem(GemmArguments{}, Arithmetic::hopper, DType::bf16).contract()),
        "kernels");
  const double alone = chain([](const snap::Operand&, cudaStream_t) {});
  const double bytes = 2e-6 * static_cast<double>(weights);
  std::printf("M %ld, N %ld, K %ld, leaf %ld: product alone %.2f us (%.2f TB/s)\n", long(m),
              long(n), long(k), long(leaf), alone, bytes / alone);
  const auto say = [&](const std::string& what, double us) {
    std::printf("  %-44s %7.2f us, +%.2f\n", what.c_str(), us, us - alone);
  };
  Kernel empty{reinterpret_cast<const void*>(&nothing), 32, 0, 1};
  for (const int carveout : {-1, 100}) {
    const std::string shared = carveout == 100 ? ", all shared memory" : "";
    const auto set = [&](const void* function) {
      check(
          cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, carveout),
          "carveout");
    };
    set(empty.function);
    for (const int ctas : {1, sms()}) {
      say("nothing, " + std::to_string(ctas) + " CTAs" + shared,
          chain([&](const snap::Operand&, cudaStream_t stream) {
            check(cuda::launch(empty, ctas, {stream, true}, nullptr), "nothing");
          }));
    }
    for (const int variant : variants(leaf)) {
      const snap::Variant& v = snap::kVariants[variant];
      if (v.at_once != 1) continue;
      set(snap::kernel(variant).function);
      for (const int threads : {32, 64, 128, 256}) {
        if (v.lanes == 0 && threads != 256) continue;
        say(name(variant) + ", " + std::to_string(threads) + " threads" + shared,
            chain([&](const snap::Operand& o, cudaStream_t stream) {
              const auto few =
                  static_cast<int>(std::min<std::int64_t>((m * o.leaves + 7) / 8, 8 * sms()));
              run(o,
                  v.lanes != 0 ? snap::launch_of(o, variant, threads, 8 * sms())
                               : snap::Launch{variant, few, 0},
                  {stream, true});
            }));
      }
    }
  }
}

void chains() {
  for (const std::int64_t n : {4096, 28672}) {
    for (const std::int64_t m : {1, 16, 64}) chains_of(m, n, 4096, 128);
    chains_of(16, n, 4096, 256);
  }
}

}  // namespace
}  // namespace detgemm::cuda

int main(int count, char** words) {
  const std::string which = count > 1 ? words[1] : "";
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no device\n");
    return 77;
  }
  using namespace detgemm::cuda;
  const int failed = which.empty() || which == "bits" ? bits() : 0;
  if (which.empty() || which == "copies") copies();
  if (which.empty() || which == "chains") chains();
  check(cudaDeviceSynchronize(), "the end");
  std::printf("%s\n", failed != 0 ? "FAILED: kernels in groups have other bits" : "passed");
  return failed;
}

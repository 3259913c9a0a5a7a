// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What a call of Plan::run costs the host: the median over many calls into a stream, with the
// parts that can be timed alone beside it. detgemm_cuda_overhead [FILE.json]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "detgemm/cuda.hpp"
#include "detgemm/plan.hpp"
#include "tests/cuda/scene.hpp"

namespace detgemm::test {
namespace {

struct Times {
  double median = 0, p90 = 0, least = 0;  // microseconds a call
};

/// Calls in blocks of 32, with a wait between blocks that is not counted, so that a full queue
/// never holds a call up.
template <class Call>
Times measure(cudaStream_t stream, int calls, Call&& call) {
  constexpr int block = 32;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int done = 0; done < calls; done += block) {
    for (int i = 0; i < block; ++i) {
      const auto start = Clock::now();
      call();
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    must(cudaStreamSynchronize(stream), "waiting");
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 9 / 10], times.front()};
}

int overhead(int argc, char** argv) {
  GemmSpec spec;
  spec.n = 256;
  spec.k = 256;
  spec.contract = *Contract::parse("hopper/bf16/chain->bf16");
  spec.op_b = Op::transpose;
  if (Status s = cuda_backend().supports(spec); !s) {
    std::printf("skipped: %s\n", s.message().c_str());
    return 77;
  }
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  constexpr std::int64_t most = 512;
  void* memory[3] = {};
  for (void*& m : memory) {
    must(cudaMalloc(&m, most * 512 * 2), "memory");
    must(cudaMemset(m, 0, most * 512 * 2), "memory");
  }
  nlohmann::json out;
  out["device"] = cuda_backend().device().description();
  std::printf("%s; microseconds a call on the host: median, 90 %%, least\n",
              cuda_backend().device().description().c_str());
  const auto report = [&](const std::string& what, const Times& t) {
    std::printf("  %-40s %7.3f %7.3f %7.3f\n", what.c_str(), t.median, t.p90, t.least);
    out["us"][what] = {{"median", t.median}, {"p90", t.p90}, {"least", t.least}};
  };
  const Stream queue{DeviceKind::cuda, stream};
  for (const std::int64_t m : {1, 16, 256}) {
    for (const Stable stable : {Stable::none, Stable::b}) {
      auto plan = Plan::create(cuda_backend(), spec, {"", 0, stable});
      must(plan.status(), "the plan");
      const Operands o{row_major(static_cast<const void*>(memory[0]), m, 256, DType::bf16),
                       row_major(static_cast<const void*>(memory[1]), 256, 256, DType::bf16),
                       row_major(memory[2], m, 256, DType::bf16)};
      const auto run = [&] { must(plan->run(queue, o), "a run"); };
      measure(stream, 320, run);
      report("run, m " + std::to_string(m) + ", stable " + std::string(name(stable)),
             measure(stream, 10000, run));
      if (m != 16 || stable != Stable::b) continue;
      report("  of which validate",
             measure(stream, 10000, [&] { must(validate(spec, o), "rules"); }));
    }
  }
  report("poke, a kernel of one thread",
         measure(stream, 10000, [&] { must(poke(memory[2], 1, stream), "a poke"); }));
  report("cudaGetDevice", measure(stream, 10000, [&] {
           int device = 0;
           must(cudaGetDevice(&device), "a device");
         }));
  report("cudaStreamGetDevice", measure(stream, 10000, [&] {
           int device = 0;
           must(cudaStreamGetDevice(stream, &device), "a device");
         }));
  report("cudaPointerGetAttributes", measure(stream, 10000, [&] {
           cudaPointerAttributes attributes{};
           must(cudaPointerGetAttributes(&attributes, memory[0]), "a pointer");
         }));
  report("the clock itself", measure(stream, 10000, [] {}));
  if (argc > 1) std::ofstream(argv[1]) << out.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace detgemm::test

int main(int argc, char** argv) { return detgemm::test::overhead(argc, argv); }

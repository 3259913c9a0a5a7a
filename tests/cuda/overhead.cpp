// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What a call of Plan::run costs the host: the median over many calls into a stream, in turn with
// the parts that can be timed alone. detgemm_cuda_overhead [FILE.json]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
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

/// One thing to time. Its calls come in blocks of 32, with a wait between blocks that is not
/// counted, so that a full queue never holds a call up.
struct Arm {
  std::string what;
  std::function<void()> call;
  std::vector<double> times = {};

  void block(cudaStream_t stream) {
    using Clock = std::chrono::steady_clock;
    for (int i = 0; i < 32; ++i) {
      const auto start = Clock::now();
      call();
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    must(cudaStreamSynchronize(stream), "waiting");
  }
  Times result() {
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times[times.size() * 9 / 10], times.front()};
  }
};

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
  const Stream queue{DeviceKind::cuda, stream};
  std::vector<Arm> arms;
  for (const std::int64_t m : {1, 16, 256}) {
    for (const Stable stable : {Stable::none, Stable::b}) {
      auto plan = Plan::create(cuda_backend(), spec, {"", 0, stable});
      must(plan.status(), "the plan");
      const Operands o{row_major(static_cast<const void*>(memory[0]), m, 256, DType::bf16),
                       row_major(static_cast<const void*>(memory[1]), 256, 256, DType::bf16),
                       row_major(memory[2], m, 256, DType::bf16)};
      arms.push_back({"run, m " + std::to_string(m) + ", stable " + std::string(name(stable)),
                      [=, plan = *plan] { must(plan.run(queue, o), "a run"); }});
      if (m != 16 || stable != Stable::b) continue;
      arms.push_back({"  of which validate", [=] { must(validate(spec, o), "rules"); }});
    }
  }
  arms.push_back(
      {"poke, a kernel of one thread", [=] { must(poke(memory[2], 1, stream), "a poke"); }});
  arms.push_back({"cudaGetDevice", [] {
                    int device = 0;
                    must(cudaGetDevice(&device), "a device");
                  }});
  arms.push_back({"cudaStreamGetDevice", [=] {
                    int device = 0;
                    must(cudaStreamGetDevice(stream, &device), "a device");
                  }});
  arms.push_back({"cudaPointerGetAttributes", [=] {
                    cudaPointerAttributes attributes{};
                    must(cudaPointerGetAttributes(&attributes, memory[0]), "a pointer");
                  }});
  arms.push_back({"the clock itself", [] {}});
  // In turn, so that a host that slows down or warms up does so for all of them.
  for (int round = -20; round < 400; ++round) {
    for (Arm& arm : arms) {
      if (round == 0) arm.times.clear();
      arm.block(stream);
    }
  }
  for (Arm& arm : arms) {
    const Times t = arm.result();
    std::printf("  %-40s %7.3f %7.3f %7.3f\n", arm.what.c_str(), t.median, t.p90, t.least);
    out["us"][arm.what] = {{"median", t.median}, {"p90", t.p90}, {"least", t.least}};
  }
  if (argc > 1) std::ofstream(argv[1]) << out.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace detgemm::test

int main(int argc, char** argv) { return detgemm::test::overhead(argc, argv); }

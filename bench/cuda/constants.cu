// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>

#include "bench/cuda/ceilings.hpp"
#include "bench/cuda/check.hpp"
#include "bench/cuda/constants.hpp"
#include "bench/cuda/weight_read.hpp"
#include "detgemm/plan.hpp"

namespace detgemm::bench {
namespace {

constexpr int kTries = 9;
constexpr int kLaunches = 256;  // in a graph

__global__ void nothing() {}
/// Lets the next one start at once, and ends when the one before has.
__global__ void nothing_early() {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
}

Arm launch_of(bool early) {
  Arm arm;
  arm.name = "launch";
  arm.enqueue = [early](Stream stream, int) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = cuda_stream(stream);
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return status_of(cudaLaunchKernelEx(&config, early ? nothing_early : nothing));
  };
  return arm;
}

class Measure {
 public:
  Measure(BenchDevice& device, Nvml& nvml) : device_(device), queue_(device.queue()), nvml_(nvml) {}

  std::vector<Constant> all() {
    attributes();
    cache();
    tensor();
    launches();
    products();
    return std::move(found_);
  }

 private:
  void add(const char* name, double value, const char* unit, const char* how) {
    found_.push_back({name, value, unit, how});
  }
  /// A part that cannot be measured here leaves the others.
  template <class Part>
  void part(const char* name, const Part& measure) {
    try {
      measure();
    } catch (const std::exception& error) {
      static_cast<void>(cudaGetLastError());
      std::fprintf(stderr, "detgemm calibrate: no %s: %s\n", name, error.what());
    }
  }
  /// The median over graphs of so many calls of the microseconds per call.
  double us_of(const Arm& arm, int calls) {
    check(arm.enqueue(queue_.stream(), 0), arm.name);
    queue_.wait();
    const auto replay = queue_.record(arm, calls);
    static_cast<void>(warm_up(queue_, {replay.get()}, 4));
    return summarise(sample_in_turn(queue_, {replay.get()}, kTries, 1)[0].us).median;
  }

  void attributes() {
    int device = 0;
    int cache = 0;
    check(cudaGetDevice(&device), "current device");
    check(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, device), "an attribute");
    check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), "an attribute");
    add("multiprocessors", sms_, "", "what the driver states");
    add("last_cache", cache, "B", "what the driver states");
    add("power_limit", nvml_.power_limit_watts(), "W", "what the driver states");
  }

  void cache() {
    part("rate of the last cache", [&] {
      Problem p;
      p.tokens = 16;
      p.n = 3072;
      p.k = 2048;
      p.hot = true;
      const Buffers buffers(device_.memory(), {p}, {std::int64_t{1} << 24, std::int64_t{1} << 20});
      const double us = us_of(weight_read("read", p, buffers, 128), 20);
      add("cache_read", static_cast<double>(gemm_of(p).b_bytes()) / us * 1e6, "B/s",
          "the same 12.6 MB read by TMA again and again, each byte by one multiprocessor");
    });
  }

  void tensor() {
    part("rate of wgmma", [&] {
      double flops = 0;
      const Arm arm = wgmma_loop(flops);
      check(arm.enqueue(queue_.stream(), 0), arm.name);
      queue_.wait();
      const auto replay = queue_.record(arm, 2);
      const auto burst = sample_in_turn(queue_, {replay.get()}, 5, 60)[0];
      const double us = summarise(burst.us).median;
      add("tensor_burst", flops / us * 1e6, "FLOP/s", "wgmma on random bf16, after 60 ms of rest");
      add("tensor_burst_clock", summarise(burst.mhz).median, "MHz", "the same");
      nvml_.start();
      const auto settled = sample_settled(queue_, {replay.get()}, {us}, 5, 1.5, 200)[0];
      const Watched watched = nvml_.stop();
      add("tensor_settled", flops / summarise(settled.us).median * 1e6, "FLOP/s",
          "the same under load, after 1.5 s of it");
      add("tensor_settled_clock", summarise(settled.mhz).median, "MHz", "the same");
      add("tensor_settled_power", watched.watts, "W", "the same, by the driver");
    });
  }

  void launches() {
    part("launches", [&] {
      add("launch", us_of(launch_of(false), kLaunches), "us", "empty kernels in a graph");
      add("early_launch", us_of(launch_of(true), kLaunches), "us",
          "the same by programmatic dependent launch");
      const Arm arm = launch_of(false);
      std::vector<double> us;
      for (int i = 0; i < 400; ++i) {
        if (i % 32 == 0) queue_.wait();
        const auto start = std::chrono::steady_clock::now();
        check(arm.enqueue(queue_.stream(), i), arm.name);
        us.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                .count());
      }
      queue_.wait();
      add("host_launch", summarise(std::move(us)).median, "us",
          "on the host, until it is enqueued");
    });
  }

  /// What a product costs beside its arithmetic: 64 x 64 outputs of 64 products.
  void products() {
    part("products", [&] {
      Problem p;
      p.tokens = 64;
      p.n = 64;
      p.k = 64;
      const Buffers buffers(device_.memory(), {p}, {std::int64_t{1} << 20, std::int64_t{1} << 20});
      for (const bool serial : {false, true}) {
        ContractArm what;
        what.name = "product";
        what.contract = *Contract::parse("hopper/bf16/chain->bf16");
        what.stable = serial ? Stable::none : Stable::b;
        what.serial_launch = serial;
        const double us = us_of(detgemm_arm(device_, what, p, 0, buffers), 64);
        add(serial ? "serial_product" : "product", us, "us",
            serial ? "64 x 64 x 64 in a graph, each after the end of the one before"
                   : "the same by programmatic dependent launch, B stable");
      }
    });
  }

  BenchDevice& device_;
  Queue& queue_;
  Nvml& nvml_;
  int sms_ = 0;
  std::vector<Constant> found_;
};

}  // namespace

std::vector<Constant> cuda_constants(BenchDevice& device, Nvml& nvml) {
  return Measure(device, nvml).all();
}

}  // namespace detgemm::bench

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/host/baselines.hpp"
#include "bench/host/ceilings.hpp"
#include "bench/host/memory.hpp"
#include "bench/host/queue.hpp"
#include "bench/suite/devices.hpp"

namespace detgemm::bench {
namespace {

std::string line_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto colon = line.find(':');
    if (colon != std::string::npos) return line.substr(std::min(colon + 2, line.size()));
  }
  return {};
}

std::int64_t last_cache_bytes() {
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::max({l3, l2, 4L << 20});
}

std::string load_average() {
  std::ifstream file("/proc/loadavg");
  std::string text;
  file >> text;
  return text.empty() ? "unknown" : text;
}

class HostBenchDevice final : public BenchDevice {
 public:
  explicit HostBenchDevice(const Backend& backend) : backend_(backend) {}

  std::string name() const override { return "cpu"; }
  const Backend& backend() const override { return backend_; }
  Queue& queue() override { return queue_; }
  Memory& memory() override { return memory_; }

  PoolBytes pools() const override {
    const std::int64_t bytes =
        std::clamp<std::int64_t>(5 * last_cache_bytes() / 2, 48 << 20, 512 << 20);
    return {bytes, bytes / 2};
  }

  std::vector<std::pair<std::string, std::string>> facts() override {
    utsname system{};
    uname(&system);
    const std::string model = line_of("/proc/cpuinfo", "model name");
    return {{"device", model.empty() ? "unknown processor" : model},
            {"processors", std::to_string(std::thread::hardware_concurrency())},
            {"last cache", std::to_string(last_cache_bytes() >> 20) + " MiB"},
            {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
            {"compiler", __VERSION__},
            {"load average at the start", load_average()}};
  }

  std::vector<std::string> baseline_names() const override { return {"openblas", "onednn"}; }
  std::vector<Baseline> baselines() override { return {openblas_sgemm(), onednn_matmul()}; }
  std::vector<Problem> baselines_need(const Problem& p) const override { return {in_fp32(p)}; }

  Protocol protocol(const Case&, bool quick) const override {
    Protocol p;
    p.repetitions = quick ? 5 : 11;
    p.sample_us = quick ? 3'000 : 20'000;
    p.least_calls = 1;
    p.soak_s = 0;
    p.block_ms = quick ? 20 : 100;
    return p;
  }

  /// Products per microsecond, near those of docs/numbers.md; for estimates only.
  double guess_us(const Case& c, const ContractArm& spec) const override {
    const unsigned threads =
        c.threads != 0 ? static_cast<unsigned>(c.threads) : std::thread::hardware_concurrency();
    const Arithmetic arithmetic = spec.contract.arithmetic;
    const double rate = arithmetic == Arithmetic::ieee_fma ? 40e3
                        : arithmetic == Arithmetic::cdna3 || arithmetic == Arithmetic::cdna2
                            ? 1.9e3
                            : 3.4e3;
    const Gemm g = gemm_of(c.problem);
    return std::max({10.0, g.flops() / 2 / rate / std::max(1U, threads), g.bytes() / 10e3});
  }

  Ceilings measure_ceilings(bool quick) override {
    return measure_host_ceilings(last_cache_bytes(), quick);
  }

  Conditions watched() override {
    Conditions c;
    const std::string mhz = line_of("/proc/cpuinfo", "cpu MHz");
    c.mhz = mhz.empty() ? 0 : std::strtod(mhz.c_str(), nullptr);
    return c;
  }

 private:
  const Backend& backend_;
  HostQueue queue_;
  HostMemory memory_;
};

}  // namespace

std::unique_ptr<BenchDevice> make_host_device(std::string& why) {
  const auto found = find_backend("reference");
  if (!found) {
    why = found.status().message();
    return nullptr;
  }
  if (const Status status = (*found)->available(); !status) {
    why = status.message();
    return nullptr;
  }
  return std::make_unique<HostBenchDevice>(**found);
}

}  // namespace detgemm::bench

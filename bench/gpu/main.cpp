// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Ours against cuBLASLt on one GPU, in one process.

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/check.hpp"
#include "bench/gpu/memory.hpp"
#include "bench/gpu/run_case.hpp"

namespace {

using namespace detgemm::bench;

std::string output_of(const char* command) {
  std::string text;
  if (FILE* pipe = popen(command, "r")) {
    char part[128];
    while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
    pclose(pipe);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string today() {
  char text[16] = {};
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

Machine describe(const Options& options, const Nvml& nvml, int argc, char** argv) {
  int device = 0;
  int runtime = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "device");
  check(cudaGetDeviceProperties(&properties, device), "device");
  check(cudaRuntimeGetVersion(&runtime), "runtime");
  Machine m;
  m.device = properties.name;
  m.sms = properties.multiProcessorCount;
  m.l2_mib = properties.l2CacheSize / 1048576.0;
  m.driver = nvml.driver();
  m.cuda = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
  m.date = today();
  m.commit = options.commit;
  if (m.commit.empty()) m.commit = output_of("git describe --always --dirty 2>/dev/null");
  if (m.commit.empty()) m.commit = "unknown";
  m.command = "detgemm_gpu_bench";
  for (int i = 1; i < argc; ++i) m.command += std::string(" ") + argv[i];
  return m;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int measure(const Options& options, const std::vector<Case>& all, double estimate, int argc,
            char** argv) {
  const double begin = now_s();
  Nvml nvml;
  Machine machine = describe(options, nvml, argc, argv);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  std::string why;
  const auto cublaslt = CublasLt::open(options.cublaslt, why);
  machine.cublaslt = cublaslt != nullptr ? std::to_string(cublaslt->version()) : "absent";
  print_head(machine);
  if (cublaslt == nullptr) std::printf("no cuBLASLt, so ours alone: %s\n", why.c_str());
  prepare_ours();
  CudaMemory memory;
  const Buffers buffers(memory, problems_of(all), kCudaPools);
  CudaQueue queue(stream);
  Bench bench{options, buffers, cublaslt.get(), nvml, queue, stream};
  if (options.seconds > 0 && estimate > options.seconds) bench.shrink = options.seconds / estimate;

  std::vector<CaseResult> results;
  bool written = true;
  const auto save = [&] {
    if (!options.json.empty()) written = write_json(options.json, machine, results);
  };
  std::int64_t wrong = 0;
  for (const Case& c : all) {
    if (options.seconds > 0 && now_s() - begin > options.seconds) break;
    if (!results.empty() && results.back().what.group != c.group) save();
    results.push_back(options.all_variants ? run_variants(bench, c) : run_case(bench, c));
    options.all_variants ? print_variants(results.back()) : print_row(results.back());
    wrong += results.back().chain.different;
  }
  print_summary(results);
  if (results.size() < all.size()) {
    std::printf("budget spent: %zu of %zu points not measured\n", all.size() - results.size(),
                all.size());
  }
  std::printf("%.0f s\n", now_s() - begin);
  save();
  if (!written) std::fprintf(stderr, "cannot write %s\n", options.json.c_str());
  if (wrong != 0) std::printf("FAILED: bits differ from the plain chain\n");
  return wrong != 0 || !written ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    const std::vector<Case> all = cases(options);
    double estimate = 2;
    for (const Case& c : all) estimate += estimate_s(c, options);
    std::printf("%zu points, about %.0f s\n", all.size(), estimate);
    if (options.dry) return 0;
    return measure(options, all, estimate, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "detgemm_gpu_bench: %s\n", error.what());
    return 1;
  }
}

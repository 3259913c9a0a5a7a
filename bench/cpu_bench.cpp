// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The reference against OpenBLAS sgemm on the host: one experiment, one process, the same threads.
// Run it through bench/record.py, which interleaves repetitions, takes medians and records the
// machine. Names: CONTRACT/LAYOUT/SIZE/threads:T; items are products (m * n * k).

#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "detgemm/detgemm.hpp"
#include "detgemm/reference.hpp"
#ifdef DETGEMM_BENCH_OPENBLAS
#include <cblas.h>
#endif

namespace {

using namespace detgemm;

constexpr int kThreads[] = {1, 2};

/// Normal random elements of a type, row-major n x n.
std::vector<unsigned char> random_matrix(DType type, std::int64_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  const std::size_t size = size_of(type);
  std::vector<unsigned char> data(static_cast<std::size_t>(n * n) * size);
  for (std::size_t at = 0; at < data.size(); at += size) {
    const float value = normal(engine);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    switch (type) {
      case DType::bf16:
        bits >>= 16;
        break;
      case DType::fp16:  // sign, 10 fraction bits and an exponent in [2^-1, 2^2)
        bits = (bits >> 16 & 0x8000U) | (14 + bits % 3) << 10 | (bits >> 13 & 0x3ffU);
        break;
      case DType::e4m3:
        bits = (bits >> 24 & 0x80U) | (6 + bits % 3) << 3 | (bits >> 20 & 7U);
        break;
      case DType::e5m2:
        bits = (bits >> 24 & 0x80U) | (14 + bits % 3) << 2 | (bits >> 21 & 3U);
        break;
      default:
        break;
    }
    std::memcpy(data.data() + at, &bits, size);
  }
  return data;
}

void reference_gemm(benchmark::State& state, const std::string& text, Op op_b, std::int64_t n,
                    int threads) {
  const auto contract = Contract::parse(text);
  GemmSpec spec;
  spec.n = n;
  spec.k = n;
  spec.contract = *contract;
  spec.op_b = op_b;
  const DType type = spec.contract.input == DType::tf32 ? DType::fp32 : spec.contract.input;
  const auto plan = Plan::create(reference_backend(), spec, PlanOptions{"", threads});
  if (!plan.ok()) {
    state.SkipWithError(plan.status().message().c_str());
    return;
  }
  auto a = random_matrix(type, n, 1);
  auto b = random_matrix(type, n, 2);
  std::vector<float> d(static_cast<std::size_t>(n * n));
  const std::size_t bytes = *plan->workspace_bytes(n);
  void* scratch = *host_device().allocate(bytes);
  for (auto _ : state) {
    const Status status =
        plan->run({}, row_major(a.data(), n, n, type), row_major(b.data(), n, n, type),
                  row_major(d.data(), n, n, spec.contract.output), {scratch, bytes});
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
    benchmark::ClobberMemory();
  }
  host_device().release(scratch);
  state.SetItemsProcessed(state.iterations() * n * n * n);
  state.SetLabel(plan->kernel(n));
}

#ifdef DETGEMM_BENCH_OPENBLAS
void openblas_sgemm(benchmark::State& state, std::int64_t size, int threads) {
  openblas_set_num_threads(threads);
  const auto a = random_matrix(DType::fp32, size, 1);
  const auto b = random_matrix(DType::fp32, size, 2);
  std::vector<float> d(static_cast<std::size_t>(size * size));
  const int n = static_cast<int>(size);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0F,
                reinterpret_cast<const float*>(a.data()), n,
                reinterpret_cast<const float*>(b.data()), n, 0.0F, d.data(), n);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * size * size * size);
  state.SetLabel(openblas_get_config());
}
#endif

void register_all(std::int64_t n) {
  const std::string size = "/" + std::to_string(n) + "/threads:";
  for (int threads : kThreads) {
    const auto add = [&](const std::string& name, auto&& function) {
      benchmark::RegisterBenchmark(name.c_str(), function)
          ->UseRealTime()
          ->MeasureProcessCPUTime()
          ->Unit(benchmark::kMillisecond);
    };
#ifdef DETGEMM_BENCH_OPENBLAS
    add("openblas/sgemm/NN" + size + std::to_string(threads),
        [=](benchmark::State& state) { openblas_sgemm(state, n, threads); });
#endif
    for (const char* contract :
         {"ieee_fma/bf16/chain->bf16", "ieee_fma/fp32/chain->fp32", "hopper/bf16/chain->bf16",
          "hopper/bf16/fold:128->bf16", "hopper/bf16/tree:128->bf16", "hopper/fp16/chain->fp16",
          "hopper/tf32/chain->fp32", "hopper/e4m3/chain->fp32", "ampere/bf16/chain->bf16",
          "cdna3/bf16/chain->bf16", "cdna2/bf16/chain->bf16"}) {
      for (Op op_b : {Op::none, Op::transpose}) {
        const std::string name = std::string(contract) + (op_b == Op::none ? "/NN" : "/NT") + size;
        add(name + std::to_string(threads),
            [=](benchmark::State& state) { reference_gemm(state, contract, op_b, n, threads); });
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto runtime = Runtime::start();
  if (!runtime.ok()) return 3;
  std::int64_t n = 1024;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--size=", 7) == 0) {
      n = std::stoll(argv[i] + 7);
      for (int j = i; j + 1 < argc; ++j) argv[j] = argv[j + 1];
      --argc;
    }
  }
  register_all(n);
  benchmark::AddCustomContext("detgemm_version", version());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  return benchmark::RunSpecifiedBenchmarks() == 0 ? 3 : 0;
}

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// host_cost [ROUNDS [CUBLASLT]]: what a call through the stand-in costs the host beyond the product
// itself, on the fake cuBLAS. A product of one element computes next to nothing, so what is left is
// the way there:
//
//     vendor     the fake's own function, which the stand-in passes the call on to
//     plan       Plan::run of the same product: what any caller of the library pays
//     call       the same product by the vendor's name, through the stand-in
//
// call - plan is what the stand-in itself adds. Time of this thread's processor, in ns per call
// (per entry, where a batch is named). The ways take turns, ROUNDS rounds of 1000 calls each, and
// the lowest tenth counts, since other programs can only add to it. Run it with OMP_NUM_THREADS=1.
// CUBLASLT is NVIDIA's own library, which then makes and reads the descriptions; that needs no GPU.

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "detgemm/detgemm.hpp"
#include "tests/dropin/fake_cublas/cublas.h"

extern "C" int detgemm_preload_configure(const char* text, char* sentence, std::size_t size);

namespace {

constexpr int kCalls = 1000;

struct Way {
  const char* name;
  std::function<int(int)> call;
  int calls = kCalls;   ///< in a round
  int entries = 1;      ///< of a call
  bool passed = false;  ///< to the vendor
  std::vector<double> ns{};
};

double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

std::string lt_path;

void configure(bool pass) {
  std::string text = "backend = reference\ntable = none\n";
  if (pass) text += "bf16 = pass\n";
  if (!lt_path.empty()) text += "cublaslt = " + lt_path + "\n";
  char sentence[256] = "";
  if (detgemm_preload_configure(text.c_str(), sentence, sizeof sentence) == 0) return;
  std::fprintf(stderr, "host_cost: %s\n", sentence);
  std::exit(1);
}

void round(Way& way) {
  configure(way.passed);
  // The first calls make the plan again, which the policy's change has forgotten.
  for (int i = 0; i < 14; ++i) way.call(i);
  const double start = now();
  for (int i = 0; i < way.calls; ++i) {
    if (way.call(i) == 0) continue;
    std::fprintf(stderr, "host_cost: %s: a call failed\n", way.name);
    std::exit(1);
  }
  way.ns.push_back((now() - start) / way.calls / way.entries);
}

/// Descriptions of a product of one element, made by the fake or by NVIDIA's library.
struct Lt {
  void* desc = nullptr;
  void* a = nullptr;

  explicit Lt(const std::string& path) {
    void* const library = dlopen(path.empty() ? nullptr : path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const auto find = [&](const char* name) { return library ? dlsym(library, name) : nullptr; };
    const auto make_desc =
        reinterpret_cast<int (*)(void**, int, int)>(find("cublasLtMatmulDescCreate"));
    const auto make_layout =
        reinterpret_cast<int (*)(void**, int, std::uint64_t, std::uint64_t, std::int64_t)>(
            find("cublasLtMatrixLayoutCreate"));
    if (make_desc != nullptr && make_layout != nullptr &&
        make_desc(&desc, FAKE_COMPUTE_32F, FAKE_32F) == 0 &&
        make_layout(&a, FAKE_16BF, 1, 1, 1) == 0) {
      return;
    }
    std::fprintf(stderr, "host_cost: no cuBLASLt: %s\n", path.c_str());
    std::exit(1);
  }
};

double result(Way& way) {
  const auto tenth = way.ns.begin() + static_cast<std::ptrdiff_t>(way.ns.size() / 10);
  std::nth_element(way.ns.begin(), tenth, way.ns.end());
  return *tenth;
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 101;
  cublasHandle_t blas = nullptr;
  cublasCreate_v2(&blas);
  std::vector<std::uint16_t> a(4096, 0x3f80), b(4096, 0x3f80), d(4096, 0);
  // The handle has what the reference needs, as products on a GPU need nothing in most cases.
  const std::size_t bytes = std::size_t{1} << 20;
  void* const memory = std::aligned_alloc(256, bytes);
  if (memory == nullptr || cublasSetWorkspace_v2(blas, memory, bytes) != 0) return 1;
  const float one = 1.0F, zero = 0.0F;
  const auto gemm = [&](int n) {
    return cublasGemmEx(blas, FAKE_T, FAKE_N, n, 1, 1, &one, a.data(), FAKE_16BF, 1, b.data(),
                        FAKE_16BF, 1, &zero, d.data(), FAKE_16BF, n, FAKE_COMPUTE_32F, -1);
  };
  const auto batch = [&](int entries) {
    return cublasGemmStridedBatchedEx(blas, FAKE_T, FAKE_N, 1, 1, 1, &one, a.data(), FAKE_16BF, 1,
                                      1, b.data(), FAKE_16BF, 1, 1, &zero, d.data(), FAKE_16BF, 1,
                                      1, entries, FAKE_COMPUTE_32F, -1);
  };
  const auto runtime = detgemm::Runtime::start();
  const auto* const backend = *detgemm::find_backend("reference");
  detgemm::GemmSpec spec;
  spec.n = spec.k = 1;
  spec.contract = *detgemm::Contract::parse("hopper/bf16/chain->bf16");
  const auto plan = detgemm::Plan::create(*backend, spec);
  if (!runtime || !plan) {
    std::fprintf(stderr, "host_cost: %s\n", plan.status().message().c_str());
    return 1;
  }
  detgemm::RunInfo info;
  const detgemm::Operands operands{
      detgemm::row_major(static_cast<const void*>(a.data()), 1, 1, detgemm::DType::bf16),
      detgemm::row_major(static_cast<const void*>(b.data()), 1, 1, detgemm::DType::bf16),
      detgemm::row_major(static_cast<void*>(d.data()), 1, 1, detgemm::DType::bf16)};
  if (count > 2) lt_path = words[2];
  const Lt lt(lt_path);
  enum { kVendor, kPlan, kChecks, kCall, kTurns, kBatch, kLt };
  Way ways[] = {{"vendor, passed on", [&](int) { return gemm(1); }, kCalls, 1, true},
                {"plan",
                 [&](int) {
                   return plan->run({}, operands, {memory, bytes}, &info) ? 0 : 1;
                 }},
                {"  of which its checks", [&](int) { return validate(spec, operands) ? 0 : 1; }},
                {"call, one problem", [&](int) { return gemm(1); }},
                {"call, 7 problems in turn", [&](int i) { return gemm(1 + i % 7); }},
                {"batch of 1000, per entry", [&](int) { return batch(1000); }, 1, 1000},
                {"cublasLtMatmul", [&](int) {
                   return cublasLtMatmul(blas, lt.desc, &one, a.data(), lt.a, b.data(), lt.a, &zero,
                                         d.data(), lt.a, d.data(), lt.a, nullptr, memory, bytes,
                                         nullptr);
                 }}};
  for (int i = 0; i < rounds; ++i) {
    for (Way& way : ways) round(way);
  }
  double ns[std::size(ways)];
  for (std::size_t i = 0; i < std::size(ways); ++i) {
    std::printf("%-34s %7.0f\n", ways[i].name, ns[i] = result(ways[i]));
  }
  std::printf("%-34s %7.0f\n", "call - plan", ns[kCall] - ns[kPlan]);
  std::printf("%-34s %7.0f\n", "call - plan, 7 problems in turn", ns[kTurns] - ns[kPlan]);
  std::printf("%-34s %7.0f\n", "entry - plan", ns[kBatch] - ns[kPlan]);
  std::printf("%-34s %7.0f\n", "cublasLtMatmul - plan", ns[kLt] - ns[kPlan]);
  cublasDestroy_v2(blas);
  std::free(memory);
  return 0;
}

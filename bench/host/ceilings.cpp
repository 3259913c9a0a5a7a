// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/host/ceilings.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace detgemm::bench {
namespace {

double seconds_of(int threads, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (int t = 1; t < threads; ++t) all.emplace_back(work);
  work();
  for (std::thread& thread : all) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Independent chains of acc = acc * x + y: as many as hide the latency of two FMA units.
constexpr int kChains = 12;

/// A loop of FMAs in registers, and what one step of it counts.
struct Loop {
  const char* name;
  float (*run)(long steps);
  double flops_a_step;
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float loop_avx512(long steps) {
  __m512 acc[kChains];
  const __m512 x = _mm512_set1_ps(0.999F);
  const __m512 y = _mm512_set1_ps(0.001F);
  for (__m512& a : acc) a = y;
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_fmadd_ps(acc[c], x, y);
  }
  float sum = 0;
  for (const __m512& a : acc) sum += _mm512_cvtss_f32(a);
  return sum;
}

__attribute__((target("avx2,fma"))) float loop_avx2(long steps) {
  __m256 acc[kChains];
  const __m256 x = _mm256_set1_ps(0.999F);
  const __m256 y = _mm256_set1_ps(0.001F);
  for (__m256& a : acc) a = y;
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm256_fmadd_ps(acc[c], x, y);
  }
  float sum = 0;
  for (const __m256& a : acc) sum += _mm256_cvtss_f32(a);
  return sum;
}
#endif

/// Four lanes that every 64-bit processor has; the compiler may not fuse here.
float loop_plain(long steps) {
  using Vector [[gnu::vector_size(16)]] = float;
  Vector acc[kChains];
  const Vector x = {0.999F, 0.999F, 0.999F, 0.999F};
  const Vector y = {0.001F, 0.001F, 0.001F, 0.001F};
  for (Vector& a : acc) a = y;
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = acc[c] * x + y;
  }
  float sum = 0;
  for (const Vector& a : acc) sum += a[0];
  return sum;
}

Loop widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512 FMA", loop_avx512, 2.0 * kChains * 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {"AVX2 FMA", loop_avx2, 2.0 * kChains * 8};
  }
#endif
  return {"128-bit multiply and add", loop_plain, 2.0 * kChains * 4};
}

double fma_flops(const Loop& loop, int threads, int tries) {
  constexpr long kSteps = 4'000'000;
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    const double s = seconds_of(threads, [&loop] {
      volatile float keep = loop.run(kSteps);
      static_cast<void>(keep);
    });
    best = std::max(best, threads * loop.flops_a_step * kSteps / s);
  }
  return best;
}

/// a[i] = b[i] + s * c[i] by each thread on arrays of its own.
double triad_bytes_per_s(std::int64_t bytes, int threads, int tries) {
  const auto count = static_cast<std::size_t>(bytes / 4 / threads);
  std::vector<std::vector<float>> arrays(static_cast<std::size_t>(threads));
  for (auto& array : arrays) array.assign(3 * count, 1.0F);
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    std::vector<std::thread> all;
    const auto start = std::chrono::steady_clock::now();
    for (auto& array : arrays) {
      all.emplace_back([&array, count] {
        float* const a = array.data();
        const float* const b = a + count;
        const float* const c = b + count;
        for (std::size_t j = 0; j < count; ++j) a[j] = b[j] + 0.5F * c[j];
        asm volatile("" : : "r"(a) : "memory");
      });
    }
    for (std::thread& thread : all) thread.join();
    const double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 12.0 * static_cast<double>(count) * threads / s);
  }
  return best;
}

}  // namespace

Ceilings measure_host_ceilings(std::int64_t cache_bytes, bool quick) {
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int tries = quick ? 2 : 8;
  const std::int64_t array = std::clamp<std::int64_t>(4 * cache_bytes, 64 << 20, 512 << 20);
  const Loop loop = widest();
  Ceilings c;
  c.copy_bytes_per_s = triad_bytes_per_s(array, threads, tries);
  c.flops.emplace_back("fp32", fma_flops(loop, threads, tries));
  c.how = "a[i] = b[i] + s * c[i] over " + std::to_string(array >> 20) + " MiB an array; " +
          loop.name + " in registers; " + std::to_string(threads) + " threads, best of " +
          std::to_string(tries);
  return c;
}

}  // namespace detgemm::bench

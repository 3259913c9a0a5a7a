// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <random>
#include <vector>

#include "core/arithmetic/cdna_step.hpp"
#include "tests/gcn/kernel_file.hpp"

namespace detgemm::gcn {

/// Operands for kernels/gemm.hip in memory that a kernel may access, and the contract's result.
struct GemmCase {
  int m, n, k;
  std::vector<u16> a, b;
  std::vector<float> d;
  MemoryMap memory;

  /// `random` bit patterns, or normally distributed numbers.
  GemmCase(int rows, int columns, int products, bool half, bool random, std::uint64_t seed)
      : m(rows), n(columns), k(products), a(size(m, k)), b(size(n, k)), d(size(m, n), -1.0F) {
    std::mt19937_64 bits(seed);
    std::normal_distribution<float> normal;
    for (auto* x : {&a, &b}) {
      for (u16& e : *x) {
        e = random ? static_cast<u16>(bits())
            : half ? arithmetic::to_fp16(normal(bits))
                   : arithmetic::to_bf16(normal(bits));
      }
    }
    memory.add(a.data(), a.size() * 2);
    memory.add(b.data(), b.size() * 2);
    memory.add(d.data(), d.size() * 4);
  }

  Totals launch(const Kernel& kernel, int tile, u32 threads_a_group, int host_threads = 1,
                bool adverse = false) {
    const u16* pa = a.data();
    const u16* pb = b.data();
    float* pd = d.data();
    struct {
      const u16* a;
      const u16* b;
      float* d;
      int m, n, k, unused;
    } problem = {pa, pb, pd, m, n, k, 0};
    const void* values[] = {&problem};
    Launch launch;
    launch.grid = {static_cast<u32>((n + tile - 1) / tile), static_cast<u32>((m + tile - 1) / tile),
                   1};
    launch.block = {threads_a_group, 1, 1};
    launch.adverse = adverse;
    launch.arguments = pack_arguments(kernel.text, values, launch);
    return run(kernel, launch, memory, host_threads);
  }

  /// How many outputs differ from the contract's chain. Any NaN equals any NaN and any zero any
  /// zero, because kernels restore both only at the end of a chain.
  template <DType T>
  int mismatches(bool cdna3) const {
    int wrong = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        const u16* x = &a[size(i, k)];
        const u16* y = &b[size(j, k)];
        float acc = 0;
        for (int p = 0; p < k; p += cdna3 ? 8 : 4) {
          acc = cdna3 ? arithmetic::cdna3_step<T>(x + p, y + p, acc)
                      : arithmetic::cdna2_step<T>(x + p, y + p, acc);
        }
        wrong += arithmetic::bits_of(acc) !=
                 arithmetic::bits_of(d[size(i, n) + static_cast<std::size_t>(j)]);
      }
    }
    return wrong;
  }

 private:
  static std::size_t size(int x, int y) {
    return static_cast<std::size_t>(x) * static_cast<std::size_t>(y);
  }
};

}  // namespace detgemm::gcn

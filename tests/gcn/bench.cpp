// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// bench TEXT...: wave-instructions per second of gemm_bf16 from each text on one core, with all
// checks. Fails below what conformance in CI needs.

#include <cstdio>
#include <ctime>

#include "tests/gcn/emulator/wide.hpp"
#include "tests/gcn/gemm_case.hpp"

int main(int count, char** texts) {
  using namespace detgemm::gcn;
  constexpr double min_rate = 1e6;
  bool slow = count < 2;
  for (int i = 1; i < count; ++i) {
    const Kernel kernel(kernel_of(read_text(texts[i]), "gemm_bf16"));
    double best = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
      GemmCase g(256, 256, 1024, false, false, 1);
      const std::clock_t begin =
          std::clock();  // time of this process, because others may share the core
      const Totals t = g.launch(kernel, 64, 256);
      const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      const double rate = static_cast<double>(t.instructions) / seconds;
      best = rate > best ? rate : best;
      std::printf(
          "%s (%s): %llu wave-instructions, %llu of them mfma, %.3f s: %.2f million per second\n",
          kernel.text.architecture.c_str(), wide().name,
          static_cast<unsigned long long>(t.instructions), static_cast<unsigned long long>(t.mfmas),
          seconds, 1e-6 * rate);
    }
    slow = slow || best < min_rate;
  }
  if (slow) std::printf("below %.0f million per second\n", 1e-6 * min_rate);
  return slow ? 1 : 0;
}

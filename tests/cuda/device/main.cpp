// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "tests/cuda/device/fixture.hpp"

/// Tests of the CUDA backend on a device it computes on. Without one: a reason, and status 77.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto usable =
      detgemm::cuda_backend().supports(detgemm::test::spec_of("hopper/bf16/chain->bf16", 8, 8));
  if (!usable) {
    std::printf("skipped: %s\n", usable.message().c_str());
    return 77;
  }
  std::printf("%s\n", detgemm::cuda_backend().device().description().c_str());
  return RUN_ALL_TESTS();
}

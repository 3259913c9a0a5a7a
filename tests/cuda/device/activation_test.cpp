// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// On CUDA the activations have quotients of their own (core/arithmetic/activation.hpp). They have
// the bits of the division, for every input there is.

#include <cstring>

#include "tests/cuda/activations.hpp"
#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

unsigned long long differing(Compared what) {
  Array count(sizeof(unsigned long long));
  EXPECT_EQ(cudaMemset(count.data(), 0, sizeof(unsigned long long)), cudaSuccess);
  EXPECT_EQ(compare_activations(what, static_cast<unsigned long long*>(count.data()), nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  unsigned long long found = ~0ULL;
  const auto bytes = count.bytes();
  std::memcpy(&found, bytes.data(), sizeof found);
  return found;
}

TEST(Activations, HaveTheBitsOfTheDivisionForEveryInput) {
  EXPECT_EQ(differing(Compared::silu), 0U);
  EXPECT_EQ(differing(Compared::gelu), 0U);
  EXPECT_EQ(differing(Compared::gelu_tanh), 0U);
}

TEST(Activations, OfTwoKindsDiffer) { EXPECT_GT(differing(Compared::planted), 1U << 20); }

}  // namespace
}  // namespace detgemm::test

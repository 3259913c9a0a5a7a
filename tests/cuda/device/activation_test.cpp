// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// On CUDA the activations have quotients of their own (core/arithmetic/activation.hpp). They have
// the bits of the division, for every input there is. Where D has 16 bits, an approximation with a
// bound of its error knows to which number nearly all of them round, and is right wherever it
// knows.

#include <array>
#include <cstdio>
#include <cstring>

#include "tests/cuda/activations.hpp"
#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

using Counts = std::array<unsigned long long, 2>;

Counts counted(Compared what) {
  Array count(sizeof(Counts));
  EXPECT_EQ(cudaMemset(count.data(), 0, sizeof(Counts)), cudaSuccess);
  EXPECT_EQ(compare_activations(what, static_cast<unsigned long long*>(count.data()), nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  Counts found{~0ULL, ~0ULL};
  const auto bytes = count.bytes();
  std::memcpy(found.data(), bytes.data(), sizeof found);
  return found;
}

unsigned long long differing(Compared what) { return counted(what)[0]; }

TEST(Activations, HaveTheBitsOfTheDivisionForEveryInput) {
  EXPECT_EQ(differing(Compared::silu), 0U);
  EXPECT_EQ(differing(Compared::gelu), 0U);
  EXPECT_EQ(differing(Compared::gelu_tanh), 0U);
}

TEST(Activations, OfTwoKindsDiffer) { EXPECT_GT(differing(Compared::planted), 1U << 20); }

TEST(Activations, AreRightWhereverTheirRoundingIsKnown) {
  for (const Compared what : {Compared::rounded_silu, Compared::rounded_gelu_tanh}) {
    const auto [different, unknown] = counted(what);
    EXPECT_EQ(different, 0U);
    // Inputs from 2^-32 to 16 in size, both signs: 36 * 2^24. Few are left to the contract's own
    // operations.
    std::printf("not known in bf16: %.3f %%\n",
                100.0 * static_cast<double>(unknown) / 36 / (1 << 24));
    EXPECT_LT(unknown, 36ULL << 19);
  }
}

TEST(Activations, WithABoundBelowTheErrorAreWrong) {
  EXPECT_GT(differing(Compared::rounded_planted), 0U);
}

}  // namespace
}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Verification on devices that the project never ran: the whole way, from the pinned products
// through the launch pipeline to the kernel, on a fake runtime whose device the host plays.

#include "backends/cuda/verify.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <list>

#include "tests/cuda/mma/host_kernel.hpp"
#include "tests/cuda/sm90/fakes.hpp"

namespace {

std::list<std::vector<double>> allocated;
cudaError_t refuses_memory = cudaSuccess;

}  // namespace

extern "C" cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  allocated.emplace_back(bytes / sizeof(double) + 2);
  const auto at = reinterpret_cast<std::uintptr_t>(allocated.back().data());
  *memory = reinterpret_cast<void*>((at + 15) / 16 * 16);
  return refuses_memory;
}
extern "C" cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                       cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
extern "C" cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
extern "C" const char* cudaGetErrorString(cudaError_t) { return "out of memory"; }
extern "C" const char* cudaGetErrorName(cudaError_t) { return "cudaErrorMemoryAllocation"; }

namespace detgemm::cuda {
std::string Cuda::text(const DeviceFacts& device) { return device.name; }
}  // namespace detgemm::cuda

namespace detgemm::test {
namespace {

using cuda::DeviceFacts;

/// A device whose ordinal no other test has, since verdicts are remembered.
DeviceFacts device(int major, int minor) {
  static int next = 0;
  DeviceFacts facts;
  facts.ordinal = next++;
  facts.name = "a device of the test";
  facts.major = major;
  facts.minor = minor;
  facts.sms = 2;
  return facts;
}

/// What verify_on says of a device that computes like `gpu`.
Result<Verification> verify(const DeviceFacts& facts, Arithmetic arithmetic, DType input,
                            const HostGpu& gpu, int* launches = nullptr) {
  Recorded& r = record();
  r.run_mma = [&](const FakeKernel& kernel, const cuda::mma::Params& params, unsigned grid) {
    EXPECT_EQ(run_mma_on_host(params, kernel.input, kernel.geometry, kernel.leaves, grid, gpu), "");
  };
  auto verification = cuda::verify_on(facts, arithmetic, input);
  if (launches != nullptr) *launches = r.launches;
  r.run_mma = nullptr;
  allocated.clear();
  return verification;
}

TEST(CudaVerify, ADeviceThatComputesTheContractIsVerifiedOnce) {
  const struct {
    int major, minor;
    Arithmetic arithmetic, computes;
  } all[] = {{8, 0, Arithmetic::ampere, Arithmetic::ampere},
             {8, 9, Arithmetic::ampere, Arithmetic::ampere},
             {10, 0, Arithmetic::hopper, Arithmetic::hopper},
             {12, 0, Arithmetic::hopper, Arithmetic::blackwell},
             {12, 0, Arithmetic::blackwell, Arithmetic::hopper}};
  for (const auto& x : all) {
    for (const DType input : {DType::bf16, DType::fp16, DType::tf32}) {
      const DeviceFacts facts = device(x.major, x.minor);
      int launches = 0;
      const auto first = verify(facts, x.arithmetic, input, {x.computes}, &launches);
      ASSERT_TRUE(first) << first.status().message();
      EXPECT_FALSE(first->measured);
      EXPECT_EQ(first->outputs, 9 * 64 * 64);
      EXPECT_EQ(first->different, 0);
      EXPECT_EQ(first->text.find("verified here on 20"), 0U) << first->text;
      EXPECT_EQ(launches, 9);
      const auto again = verify(facts, x.arithmetic, input, {x.computes}, &launches);
      EXPECT_EQ(again->text, first->text);
      EXPECT_EQ(launches, 0) << "once per process";
    }
  }
}

TEST(CudaVerify, ADeviceThatComputesSomethingElseIsRefused) {
  const struct {
    int major;
    Arithmetic arithmetic;
    HostGpu gpu;
  } all[] = {{8, Arithmetic::ampere, {Arithmetic::hopper}},
             {12, Arithmetic::hopper, {Arithmetic::ampere}},
             {10, Arithmetic::blackwell, {Arithmetic::ampere}},
             {12, Arithmetic::hopper, {Arithmetic::hopper, MmaFault::wrong_rounding}},
             {8, Arithmetic::ampere, {Arithmetic::ampere, MmaFault::wrong_rounding}},
             {8, Arithmetic::ampere, {Arithmetic::ampere, MmaFault::swapped_halves}},
             {12, Arithmetic::hopper, {Arithmetic::hopper, MmaFault::wrong_lane}}};
  for (const auto& x : all) {
    const DeviceFacts facts = device(x.major, 0);
    for (int time = 0; time < 2; ++time) {
      int launches = 0;
      const auto refused = verify(facts, x.arithmetic, DType::bf16, x.gpu, &launches);
      ASSERT_TRUE(refused) << refused.status().message();
      EXPECT_GT(refused->different, 0);
      const std::string& sentence = refused->text;
      for (const std::string& part :
           {std::string("a device of the test"), std::string(name(x.arithmetic)) + "/bf16",
            std::to_string(x.major) + ".0", std::string("where the contract has 0x")}) {
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
      }
      EXPECT_EQ(launches, time == 0 ? 9 : 0);
    }
  }
}

TEST(CudaVerify, WhatTheProjectRanIsNotComputedAgain) {
  const DeviceFacts h100 = device(9, 0);
  int launches = -1;
  for (const Arithmetic arithmetic : {Arithmetic::hopper, Arithmetic::ieee_fma, Arithmetic::snap}) {
    const auto measured = verify(h100, arithmetic, DType::bf16, {}, &launches);
    ASSERT_TRUE(measured);
    EXPECT_TRUE(measured->measured);
    EXPECT_EQ(measured->text, "measured by the project");
    EXPECT_EQ(launches, 0);
    EXPECT_FALSE(cuda::must_be_verified(arithmetic, h100));
  }
  const auto tf32 = verify(h100, Arithmetic::hopper, DType::tf32, {}, &launches);
  ASSERT_TRUE(tf32);
  EXPECT_TRUE(tf32->measured);
  EXPECT_EQ(launches, 0);
}

TEST(CudaVerify, OtherDevicesAreRefused) {
  EXPECT_FALSE(verify(device(9, 0), Arithmetic::ampere, DType::bf16, {}).ok());
  EXPECT_FALSE(verify(device(8, 0), Arithmetic::hopper, DType::bf16, {}).ok());
  EXPECT_FALSE(verify(device(7, 5), Arithmetic::ampere, DType::bf16, {}).ok());
  EXPECT_FALSE(verify(device(8, 0), Arithmetic::ieee_fma, DType::bf16, {}).ok());
}

/// A device without memory for the moment is no other device.
TEST(CudaVerify, AFailureIsNotRemembered) {
  const DeviceFacts facts = device(8, 6);
  refuses_memory = cudaErrorMemoryAllocation;
  const auto failed = verify(facts, Arithmetic::ampere, DType::bf16, {Arithmetic::ampere});
  refuses_memory = cudaSuccess;
  EXPECT_EQ(failed.status().code(), Errc::internal) << failed.status().message();
  EXPECT_TRUE(verify(facts, Arithmetic::ampere, DType::bf16, {Arithmetic::ampere}));
}

}  // namespace
}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "backends/cuda/runtime.hpp"
#include "cuda/kernel.hpp"
#include "cuda/sm90/host/tensor_map.hpp"
#include "tests/support/random_bits.hpp"

// What a call queries from the driver: maps, of which some are known and given another address,
// where its stream is, and launches. The driver and the runtime are played here.

namespace detgemm::test {
namespace {

/// What a map holds: the arguments of the call that encoded it.
struct Encoded {
  std::uintptr_t address;
  std::uint64_t extent[3], stride[2];
  std::uint32_t box[3];
  int type, rank, swizzle;
};
static_assert(sizeof(Encoded) <= sizeof(CUtensorMap));

/// A launch, by whichever of the two.
struct Launched {
  unsigned grid = 0, threads = 0, shared = 0, cluster = 1;
  bool overlap = false;
  const void* stream = nullptr;
  void** arguments = nullptr;
  bool operator==(const Launched&) const = default;
};

struct Driver {
  int encoded = 0, readdressed = 0;
  CUresult encode_error = CUDA_SUCCESS, readdress_error = CUDA_SUCCESS;
  CUresult stream_error = CUDA_SUCCESS;
  bool has_context = true;
  int of_driver = 0, of_runtime = 0;  ///< queries of streams
  int functions = 0;                  ///< that were looked up
  CUresult launch_error = CUDA_SUCCESS;
  cudaError_t runtime_error = cudaSuccess;
  Launched by_driver, by_runtime;
} driver;

CUresult encode_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                    const cuuint64_t* extent, const cuuint64_t* stride, const cuuint32_t* box,
                    const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  ++driver.encoded;
  if (driver.encode_error != CUDA_SUCCESS) return driver.encode_error;
  std::memset(map, 0, sizeof *map);
  Encoded e{};
  e.address = reinterpret_cast<std::uintptr_t>(address);
  for (cuuint32_t i = 0; i < rank; ++i) e.extent[i] = extent[i];
  for (cuuint32_t i = 0; i + 1 < rank; ++i) e.stride[i] = stride[i];
  for (cuuint32_t i = 0; i < rank; ++i) e.box[i] = box[i];
  e.type = type;
  e.rank = static_cast<int>(rank);
  e.swizzle = swizzle;
  std::memcpy(map, &e, sizeof e);
  return CUDA_SUCCESS;
}
CUresult replace_address(CUtensorMap* map, void* address) {
  ++driver.readdressed;
  if (driver.readdress_error != CUDA_SUCCESS) return driver.readdress_error;
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}
CUresult context_of_thread(CUcontext* context) {
  static int one = 0;
  *context = driver.has_context ? reinterpret_cast<CUcontext>(&one) : nullptr;
  return CUDA_SUCCESS;
}
CUresult stream_is_capturing(CUstream, CUstreamCaptureStatus* status) {
  ++driver.of_driver;
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return driver.stream_error;
}
CUresult device_of_stream(CUstream, CUdevice* device) {
  ++driver.of_driver;
  *device = 3;
  return driver.stream_error;
}

CUresult launch_kernel(const CUlaunchConfig* c, CUfunction, void** arguments, void**) {
  Launched& l = driver.by_driver;
  l = {c->gridDimX * c->gridDimY * c->gridDimZ, c->blockDimX * c->blockDimY * c->blockDimZ,
       c->sharedMemBytes};
  l.stream = c->hStream;
  l.arguments = arguments;
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    const CUlaunchAttribute& a = c->attrs[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      l.overlap = a.value.programmaticStreamSerializationAllowed != 0;
    }
    if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      l.cluster = a.value.clusterDim.x * a.value.clusterDim.y * a.value.clusterDim.z;
    }
  }
  return driver.launch_error;
}

}  // namespace
}  // namespace detgemm::test

extern "C" cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  ++detgemm::test::driver.functions;
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}
extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void*,
                                           void** arguments) {
  detgemm::test::Launched& l = detgemm::test::driver.by_runtime;
  l = {c->gridDim.x * c->gridDim.y * c->gridDim.z, c->blockDim.x * c->blockDim.y * c->blockDim.z,
       static_cast<unsigned>(c->dynamicSmemBytes)};
  l.stream = c->stream;
  l.arguments = arguments;
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    const cudaLaunchAttribute& a = c->attrs[i];
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
      l.overlap = a.val.programmaticStreamSerializationAllowed != 0;
    }
    if (a.id == cudaLaunchAttributeClusterDimension) {
      l.cluster = a.val.clusterDim.x * a.val.clusterDim.y * a.val.clusterDim.z;
    }
  }
  return detgemm::test::driver.runtime_error;
}
extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                        unsigned long long,
                                                        cudaDriverEntryPointQueryResult* result) {
  using namespace detgemm::test;
  const std::string wanted = name;
  *result = cudaDriverEntryPointSuccess;
  if (wanted == "cuTensorMapEncodeTiled") *function = reinterpret_cast<void*>(&encode_map);
  if (wanted == "cuTensorMapReplaceAddress") *function = reinterpret_cast<void*>(&replace_address);
  if (wanted == "cuCtxGetCurrent") *function = reinterpret_cast<void*>(&context_of_thread);
  if (wanted == "cuStreamIsCapturing") *function = reinterpret_cast<void*>(&stream_is_capturing);
  if (wanted == "cuStreamGetDevice") *function = reinterpret_cast<void*>(&device_of_stream);
  if (wanted == "cuLaunchKernelEx") *function = reinterpret_cast<void*>(&launch_kernel);
  return *function != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
extern "C" cudaError_t cudaGetLastError() { return cudaSuccess; }
extern "C" cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  ++detgemm::test::driver.of_runtime;
  *status = cudaStreamCaptureStatusNone;
  return cudaErrorStreamCaptureImplicit;
}
extern "C" cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  ++detgemm::test::driver.of_runtime;
  *device = 5;
  return cudaSuccess;
}

namespace detgemm::test {
namespace {

using cuda::Cuda;
using cuda::sm90::encode;
using cuda::sm90::TensorShape;

const void* address(std::int64_t n) { return reinterpret_cast<const void*>(n * 16); }

TensorShape drawn(Random& random) {
  const DType types[] = {DType::bf16, DType::fp16, DType::e4m3, DType::fp32};
  TensorShape s;
  s.data = address(1 + random.below(1 << 20));
  s.type = types[random.below(4)];
  s.rank = 2 + static_cast<int>(random.below(2));
  for (int i = 0; i < s.rank; ++i) s.extent[i] = 1 + random.below(3);
  for (int i = 0; i + 1 < s.rank; ++i) s.stride[i] = 16 * (1 + random.below(3));
  for (int i = 0; i < s.rank; ++i) s.box[i] = 1U << random.below(7);
  return s;
}

/// The bytes of a map that this thread has encoded, or of one that another thread encodes again.
std::string map_of(const TensorShape& s) {
  CUtensorMap map;
  std::memset(&map, 0x5a, sizeof map);
  EXPECT_EQ(encode(s, &map), cudaSuccess);
  return {reinterpret_cast<const char*>(&map), sizeof map};
}
std::string encoded_again(const TensorShape& s) {
  std::string bytes;
  std::thread([&] { bytes = map_of(s); }).join();
  return bytes;
}

TEST(Sm90Maps, KnownOnesAreThoseThatAreEncoded) {
  driver = {};
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    TensorShape s = drawn(random);
    const std::string expected = encoded_again(s);
    for (int again = 0; again < 3; ++again) ASSERT_EQ(map_of(s), expected) << i;
    s.data = address(1 + random.below(1 << 20));
    ASSERT_EQ(map_of(s), encoded_again(s)) << i << ", at another address";
  }
  EXPECT_GE(driver.readdressed, 3 * 400) << "all but the first of each shape";
}

/// Every part of a shape counts: shapes that differ in one part alone are two maps.
TEST(Sm90Maps, EveryPartOfAShapeCounts) {
  TensorShape first;
  first.data = address(7);
  first.rank = 3;
  const std::string before = map_of(first);
  for (int part = 0; part < 10; ++part) {
    TensorShape other = first;
    if (part < 3) other.extent[part] += 1;
    if (part >= 3 && part < 5) other.stride[part - 3] += 16;
    if (part >= 5 && part < 8) other.box[part - 5] += 1;
    if (part == 8) other.type = DType::fp32;
    if (part == 9) other.rank = 2;
    EXPECT_NE(map_of(other), before) << part;
    EXPECT_EQ(map_of(other), encoded_again(other)) << part;
  }
}

TEST(Sm90Maps, WhatTheDriverRefuses) {
  driver = {};
  TensorShape s;
  s.extent[0] = 12345;
  s.data = address(3);
  CUtensorMap map;
  driver.encode_error = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(encode(s, &map), cudaErrorInvalidValue);
  EXPECT_EQ(encode(s, &map), cudaErrorInvalidValue) << "a refusal is not remembered";
  driver.encode_error = CUDA_SUCCESS;
  EXPECT_EQ(encode(s, &map), cudaSuccess);
  driver.readdress_error = CUDA_ERROR_INVALID_VALUE;
  const int encoded = driver.encoded;
  s.data = address(4);
  EXPECT_EQ(map_of(s), encoded_again(s)) << "an address that is not taken is encoded";
  EXPECT_EQ(driver.encoded, encoded + 2);
}

TEST(CudaStreams, TheDriverAnswersOrElseTheRuntime) {
  int some = 0;
  const auto stream = reinterpret_cast<cudaStream_t>(&some);
  bool capturing = false;
  int device = -1;
  const auto ask = [&](cudaStream_t of) {
    driver.of_driver = driver.of_runtime = 0;
    const cudaError_t error = Cuda::is_capturing(of, &capturing);
    EXPECT_EQ(Cuda::stream_device(of, &device), cudaSuccess);
    return error;
  };
  driver = {};
  for (cudaStream_t of : {stream, cudaStream_t{}}) {
    EXPECT_EQ(ask(of), cudaSuccess);
    EXPECT_TRUE(capturing);
    EXPECT_EQ(device, 3);
    EXPECT_EQ(driver.of_driver, 2);
    EXPECT_EQ(driver.of_runtime, 0);
  }
  driver.stream_error = CUDA_ERROR_INVALID_CONTEXT;
  EXPECT_EQ(ask(stream), cudaErrorStreamCaptureImplicit) << "the runtime's answer";
  EXPECT_FALSE(capturing);
  EXPECT_EQ(device, 5);
  // The null stream of a thread without a context: the driver is not queried.
  driver = {};
  driver.has_context = false;
  EXPECT_EQ(ask(nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(driver.of_driver, 0);
  EXPECT_EQ(driver.of_runtime, 2);
}

/// The driver launches what the runtime would.
TEST(CudaLaunch, TheDriverLaunchesWhereTheContextIsKnown) {
  int some = 0;
  void* arguments[] = {&some};
  std::uint64_t context = 100;
  for (const int cluster : {1, 4}) {
    for (const bool overlap : {false, true}) {
      driver = {};
      const cuda::Kernel kernel{&some, 384, 200'000, cluster};
      const auto stream = reinterpret_cast<cudaStream_t>(&some);
      EXPECT_EQ(cuda::launch(kernel, 132, {stream, overlap}, arguments), cudaSuccess);
      EXPECT_EQ(driver.by_driver, Launched{}) << "no context was given";
      EXPECT_EQ(driver.functions, 0);
      const Launched expected = driver.by_runtime;
      EXPECT_EQ(expected.grid, 132U);
      EXPECT_EQ(expected.cluster, static_cast<unsigned>(cluster));
      driver.by_runtime = {};
      ++context;
      for (int again = 0; again < 3; ++again) {
        EXPECT_EQ(cuda::launch(kernel, 132, {stream, overlap, context}, arguments), cudaSuccess);
        EXPECT_EQ(driver.by_driver, expected);
        EXPECT_EQ(driver.by_runtime, Launched{});
      }
      EXPECT_EQ(driver.functions, 1) << "once per context";
    }
  }
}

/// What the driver refuses is what the runtime says of it.
TEST(CudaLaunch, RefusalsAreThoseOfTheRuntime) {
  int some = 0;
  driver = {};
  driver.launch_error = CUDA_ERROR_INVALID_VALUE;
  driver.runtime_error = cudaErrorInvalidConfiguration;
  const cuda::Kernel kernel{&some, 384, 1024, 8};
  EXPECT_EQ(cuda::launch(kernel, 8, {nullptr, true, 200}, nullptr), cudaErrorInvalidConfiguration);
  EXPECT_EQ(driver.by_runtime, driver.by_driver) << "both were given the same";
}

}  // namespace
}  // namespace detgemm::test

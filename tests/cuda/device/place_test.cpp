// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Where arrays, streams and plans belong: what is refused says which argument and why.

#include <algorithm>
#include <functional>

#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

constexpr std::int64_t kM = 24, kN = 40, kK = 32;

GemmSpec with_all() {
  GemmSpec spec = spec_of("hopper/fp16/chain->fp32", kN, kK);
  spec.beta = 1.0F;
  spec.bias = DType::fp32;
  return spec;
}

struct Call {
  Product product{with_all(), kM, 5};
  Array c{kM * kN * 4}, bias{kN * 4};
  Operands operands = product.operands();
  OwnStream stream;

  Call() {
    fill_normal(c, kM, kN, DType::fp32, 6);
    fill_normal(bias, 1, kN, DType::fp32, 7);
    operands.c = row_major(static_cast<const void*>(c.data()), kM, kN, DType::fp32);
    operands.bias = {bias.data(), kN, DType::fp32};
  }
};

struct Argument {
  const char* name;
  std::function<void(Operands&, void*)> set;
};

const Argument kArguments[] = {
    {"a", [](Operands& o, void* p) { o.a.data = p; }},
    {"b", [](Operands& o, void* p) { o.b.data = p; }},
    {"c", [](Operands& o, void* p) { o.c.data = p; }},
    {"d", [](Operands& o, void* p) { o.d.data = p; }},
    {"bias", [](Operands& o, void* p) { o.bias.data = p; }},
};

void expect_refusal(const Status& status, const std::string& start, const std::string& part) {
  EXPECT_EQ(status.code(), Errc::invalid_argument) << status.message();
  EXPECT_EQ(status.message().find(start), 0U) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(Place, HostMemoryIsRefusedByArgument) {
  Call call;
  const Plan plan = plan_of(call.product.spec);
  EXPECT_OK(plan.run(call.stream, call.operands));
  call.stream.wait();
  const auto before = call.product.d.bytes();
  void* const plain = *host_device().allocate(1 << 16);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 1 << 16), cudaSuccess);
  for (const Argument& argument : kArguments) {
    Operands o = call.operands;
    argument.set(o, plain);
    expect_refusal(plan.run(call.stream, o), std::string(argument.name) + ".data is 0x",
                   "memory that CUDA has not allocated: it must be memory of the plan's device 0");
    o = call.operands;
    argument.set(o, pinned);
    expect_refusal(plan.run(call.stream, o), std::string(argument.name) + ".data is 0x",
                   "pinned host memory: it must be memory of the plan's device 0");
  }
  call.stream.wait();
  EXPECT_EQ(call.product.d.bytes(), before);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "a refusal leaves no error behind";
  cudaFreeHost(pinned);
  host_device().release(plain);
}

/// A rank without rows has addresses behind the last row, and a part of a workspace may have no
/// bytes: such addresses may be nobody's memory.
TEST(Place, WhatHasNoBytesMayLieAnywhere) {
  Call call;
  const Plan plan = plan_of(call.product.spec);
  void* const nobodys = *host_device().allocate(64);
  EXPECT_OK(plan.run(call.stream, call.operands, {nobodys, 0}));
  Operands none = call.operands;
  for (const Argument& argument : kArguments) argument.set(none, nobodys);
  none.a.rows = none.c.rows = none.d.rows = 0;
  EXPECT_OK(plan.run(call.stream, none, {nobodys, 0}));
  call.stream.wait();
  host_device().release(nobodys);
}

TEST(Place, ManagedMemoryAndPoolsAreFine) {
  Call call;
  const Plan plan = plan_of(call.product.spec);
  EXPECT_OK(plan.run(call.stream, call.operands));
  call.stream.wait();
  const auto expected = call.product.d.bytes();
  for (const bool managed : {true, false}) {
    void* memory = nullptr;
    const std::size_t bytes = kM * kN * 4;
    ASSERT_EQ(managed ? cudaMallocManaged(&memory, bytes)
                      : cudaMallocAsync(&memory, bytes, call.stream.get()),
              cudaSuccess);
    // initcheck does not see TMA write to memory of a pool.
    EXPECT_EQ(cudaMemsetAsync(memory, 0xff, bytes, call.stream.get()), cudaSuccess);
    Operands o = call.operands;
    o.d.data = memory;
    EXPECT_OK(plan.run(call.stream, o));
    std::vector<std::uint8_t> got(bytes);
    EXPECT_EQ(cudaMemcpyAsync(got.data(), memory, bytes, cudaMemcpyDefault, call.stream.get()),
              cudaSuccess);
    call.stream.wait();
    EXPECT_EQ(got, expected);
    cudaFree(memory);
  }
}

TEST(Place, DefaultStreamsAreStreams) {
  const Product p(spec_of("hopper/bf16/chain->bf16", kN, kK), kM, 9);
  const Plan plan = plan_of(p.spec);
  const auto expected = p.expected();
  for (cudaStream_t stream : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
    const Array out = p.output();
    EXPECT_OK(plan.run({DeviceKind::cuda, stream}, p.operands(out.data())));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(out.bytes(), expected);
  }
}

TEST(Place, EmptyProducts) {
  GemmSpec spec = spec_of("hopper/bf16/chain->fp32", kN, 0);
  spec.bias = DType::fp32;
  const Plan plan = plan_of(spec);
  const OwnStream stream;
  const Array bias(kN * 4);
  const Array out(kM * kN * 4);
  fill_normal(bias, 1, kN, DType::fp32, 4);
  Operands o;
  o.a = row_major(static_cast<const void*>(nullptr), kM, 0, DType::bf16);
  o.b = row_major(static_cast<const void*>(nullptr), 0, kN, DType::bf16);
  o.d = row_major(out.data(), kM, kN, DType::fp32);
  o.bias = {bias.data(), kN, DType::fp32};
  EXPECT_OK(plan.run(stream, o));
  stream.wait();
  const auto row = bias.bytes();
  const auto got = out.bytes();
  for (std::int64_t i = 0; i < kM; ++i) {
    EXPECT_TRUE(std::equal(row.begin(), row.end(), got.begin() + i * kN * 4)) << "row " << i;
  }
  o.d = row_major(static_cast<void*>(nullptr), 0, kN, DType::fp32);
  o.a = row_major(static_cast<const void*>(nullptr), 0, 0, DType::bf16);
  RunInfo info;
  EXPECT_OK(plan.run(stream, o, {}, &info));
  EXPECT_EQ(info.kernel, "none (no outputs)");
}

/// The strictest mode refuses whatever is not meant for a capture, on any thread.
TEST(Place, RunsInEveryModeOfCapture) {
  const Product p(spec_of("hopper/bf16/chain->bf16", kN, kK), kM, 9);
  const Plan plan = plan_of(p.spec);
  for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                          cudaStreamCaptureModeRelaxed}) {
    const OwnStream stream;
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream.get(), mode), cudaSuccess);
    EXPECT_OK(plan.run(stream, p.operands()));
    EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
    std::size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_GE(nodes, 1U);
    cudaGraphDestroy(graph);
  }
}

TEST(Place, ARefusalEndsACaptureCleanly) {
  const OwnStream stream;
  const Status refused = cuda_backend().device().replay(
      stream, [](Stream) { return invalid("not today"); }, 1);
  EXPECT_EQ(refused.message(), "not today");
  const Product p(spec_of("hopper/bf16/chain->bf16", kN, kK), kM, 9);
  EXPECT_OK(plan_of(p.spec).run(stream, p.operands()));
  stream.wait();
  EXPECT_EQ(p.d.bytes(), p.expected());
}

class OnDevice {
 public:
  explicit OnDevice(int device) { EXPECT_EQ(cudaSetDevice(device), cudaSuccess); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaSetDevice(0); }
};

TEST(Place, DevicesAreNotMixed) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "this machine has one device";
  const Product here(spec_of("hopper/bf16/chain->bf16", kN, kK), kM, 9);
  const Plan plan = plan_of(here.spec);
  const OwnStream stream;
  const OnDevice there(1);
  const Product remote(here.spec, kM, 9);
  const Plan remote_plan = plan_of(here.spec);
  const OwnStream remote_stream;
  EXPECT_OK(remote_plan.run(remote_stream, remote.operands()));
  remote_stream.wait();
  expect_refusal(plan.run(stream, here.operands()),
                 "the current device is 1: ", "the plan was made for device 0");
  expect_refusal(remote_plan.run(stream, remote.operands()),
                 "stream.handle is a stream of device 0", "the plan was made for device 1");
  expect_refusal(remote_plan.run(remote_stream, here.operands()), "a.data is 0x",
                 "memory of device 0: it must be memory of the plan's device 1");
  const auto there_bits = remote.d.bytes();
  cudaSetDevice(0);
  EXPECT_OK(plan.run(stream, here.operands()));
  stream.wait();
  EXPECT_EQ(here.d.bytes(), there_bits) << "the same bits on both devices";
  EXPECT_EQ(here.d.bytes(), here.expected());
}

}  // namespace
}  // namespace detgemm::test

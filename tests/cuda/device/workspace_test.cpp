// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/device/fixture.hpp"

// Copies of operands in a workspace that may be given: the same bits with and without, in a row on
// one stream, on two streams, in graphs, and with launches that do not overlap.

namespace detgemm::test {
namespace {

constexpr std::int64_t kM = 300, kN = 520, kK = 1021;  // rows of A at odd addresses

/// A product of odd rows, its workspace, and the oracle's answer.
struct Odd {
  Product product;
  Plan plan;
  std::size_t needed, fast;
  Array workspace;
  std::vector<std::uint8_t> expected;

  explicit Odd(const char* contract, std::uint64_t key, const PlanOptions& options = {})
      : product(spec_of(contract, kN, kK), kM, key),
        plan(plan_of(product.spec, options)),
        needed(*plan.workspace_bytes(kM)),
        fast(*plan.fast_workspace_bytes(product.operands())),
        workspace(fast),
        expected(product.expected()) {}

  Status run(Stream stream, void* out, std::size_t bytes, RunInfo* info = nullptr) const {
    return plan.run(stream, product.operands(out), {workspace.data(), bytes}, info);
  }
};

class FastWorkspace : public testing::TestWithParam<const char*> {};

TEST_P(FastWorkspace, HasTheBitsOfTheNeededOne) {
  const Odd odd(GetParam(), 1);
  ASSERT_GT(odd.fast, odd.needed);
  EXPECT_GE(*odd.plan.fast_workspace_bytes(kM), odd.fast);
  const OwnStream stream;
  for (const std::size_t bytes : {odd.needed, odd.fast - 1, odd.fast}) {
    odd.product.d.poison();
    RunInfo info;
    EXPECT_OK(odd.run(stream, odd.product.d.data(), bytes, &info));
    stream.wait();
    EXPECT_EQ(odd.product.d.bytes(), odd.expected) << info.kernel;
    EXPECT_EQ(info.kernel.find("/pack") != std::string::npos, bytes == odd.fast) << info.kernel;
  }
}

/// Each call overwrites the copies of the call before, and what it reads has just been written.
TEST_P(FastWorkspace, CallsInARowShareOne) {
  const Odd first(GetParam(), 1), second(GetParam(), 7);
  for (const bool serial : {false, true}) {
    PlanOptions options;
    options.serial_launch = serial;
    const Plan plan = plan_of(first.product.spec, options);
    const Array a(Product::bytes_of(kM * kK, DType::bf16));
    const OwnStream stream;
    std::vector<Array> outputs;
    for (int i = 0; i < 20; ++i) outputs.push_back(first.product.output());
    for (int i = 0; i < 20; ++i) {
      const Product& from = (i % 2 == 0 ? first : second).product;
      EXPECT_EQ(cudaMemcpyAsync(a.data(), from.a.data(), Product::bytes_of(kM * kK, DType::bf16),
                                cudaMemcpyDeviceToDevice, stream.get()),
                cudaSuccess);
      Operands operands = from.operands(outputs[static_cast<std::size_t>(i)].data());
      operands.a.data = a.data();
      EXPECT_OK(plan.run(stream, operands, {first.workspace.data(), first.fast}));
    }
    stream.wait();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(outputs[i].bytes(), (i % 2 == 0 ? first : second).expected) << i << serial;
    }
  }
}

TEST_P(FastWorkspace, StreamsWithOneEachRunAtOnce) {
  const Odd odd[2] = {Odd(GetParam(), 1), Odd(GetParam(), 7)};
  const OwnStream streams[2];
  std::vector<Array> outputs;
  for (int i = 0; i < 40; ++i) outputs.push_back(odd[0].product.output());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_OK(odd[i % 2].run(streams[i % 2], outputs[i].data(), odd[i % 2].fast));
  }
  for (const OwnStream& stream : streams) stream.wait();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].bytes(), odd[i % 2].expected) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, FastWorkspace,
                         testing::Values("hopper/bf16/chain->fp32", "hopper/bf16/fold:128->fp32",
                                         "hopper/bf16/tree:144->fp32"));

/// Two executable graphs made from one capture have the same workspace, in which CTAs of a tree
/// count. The documented rule is that they do not run at the same time: one after the other, on any
/// streams, is right.
TEST(Graphs, TwoOfOneCaptureRunOneAfterTheOther) {
  const Product p(spec_of("hopper/bf16/tree:128->fp32", 256, 1024), 64, 3);
  std::string across_grid;
  for (const std::string& variant : cuda_backend().variants(p.spec)) {
    if (variant.find("-grid8") != std::string::npos) across_grid = variant;
  }
  ASSERT_FALSE(across_grid.empty());
  PlanOptions options;
  options.variant = across_grid;
  const Plan plan = plan_of(p.spec, options);
  const std::size_t bytes = *plan.workspace_bytes(64);
  const Array workspace(bytes);
  const OwnStream streams[2];
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t execs[2] = {};
  ASSERT_EQ(cudaStreamBeginCapture(streams[0].get(), cudaStreamCaptureModeThreadLocal),
            cudaSuccess);
  RunInfo info;
  EXPECT_OK(plan.run(streams[0], p.operands(), {workspace.data(), bytes}, &info));
  ASSERT_EQ(cudaStreamEndCapture(streams[0].get(), &graph), cudaSuccess);
  EXPECT_NE(info.kernel.find("across-grid"), std::string::npos) << info.kernel;
  for (cudaGraphExec_t& exec : execs) {
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  }
  const auto expected = p.expected();
  cudaEvent_t done = nullptr;
  ASSERT_EQ(cudaEventCreate(&done), cudaSuccess);
  for (int i = 0; i < 20; ++i) {
    const cudaStream_t stream = streams[i % 2].get();
    EXPECT_EQ(cudaStreamWaitEvent(stream, done, 0), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(p.d.data(), 0xff, expected.size(), stream), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(execs[i % 2], stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(done, stream), cudaSuccess);
    if (i % 5 != 4) continue;
    streams[i % 2].wait();
    EXPECT_EQ(p.d.bytes(), expected) << i;
  }
  for (cudaGraphExec_t exec : execs) cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaEventDestroy(done);
}

TEST(Graphs, AReplayUsesItsFastWorkspaceAgain) {
  const Odd odd("hopper/fp16/fold:80->fp16", 5);
  const OwnStream stream;
  for (int i = 0; i < 5; ++i) {
    odd.product.d.poison();
    EXPECT_OK(cuda_backend().device().replay(
        stream, [&](Stream s) { return odd.run(s, odd.product.d.data(), odd.fast); }, 3));
    EXPECT_EQ(odd.product.d.bytes(), odd.expected);
  }
}

}  // namespace
}  // namespace detgemm::test

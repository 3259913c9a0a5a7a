// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <thread>

#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

constexpr const char* kContract = "hopper/bf16/chain->fp32";

/// Different enough to get different kernels.
std::vector<std::unique_ptr<Product>> products() {
  std::vector<std::unique_ptr<Product>> list;
  constexpr std::int64_t shapes[][3] = {
      {1, 1024, 512}, {16, 777, 300}, {130, 520, 256}, {700, 640, 128}};
  for (const auto& [m, n, k] : shapes) {
    list.push_back(std::make_unique<Product>(spec_of(kContract, n, k), m, 10 + list.size()));
  }
  return list;
}

TEST(Concurrency, FourThreadsShareEveryPlan) {
  const auto list = products();
  std::vector<Plan> plans;
  std::vector<std::vector<std::uint8_t>> expected;
  for (const auto& p : list) {
    plans.push_back(plan_of(p->spec));
    expected.push_back(p->expected());
  }
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const OwnStream stream;
      for (std::size_t round = 0; round < 60; ++round) {
        const std::size_t which = (t + round) % list.size();
        const Array out = list[which]->output();
        EXPECT_OK(plans[which].run(stream, list[which]->operands(out.data())));
        stream.wait();
        EXPECT_EQ(out.bytes(), expected[which]) << "thread " << t << ", round " << round;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrency, TwoStreamsAtOnce) {
  const auto list = products();
  const OwnStream streams[2];
  for (const auto& p : list) {
    const Plan plan = plan_of(p->spec);
    std::vector<Array> outputs;
    for (int i = 0; i < 40; ++i) outputs.push_back(p->output());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_OK(plan.run(streams[i % 2], p->operands(outputs[i].data())));
    }
    for (const OwnStream& stream : streams) stream.wait();
    const auto expected = p->expected();
    for (const Array& out : outputs) EXPECT_EQ(out.bytes(), expected);
  }
}

TEST(Concurrency, PlansAreMadeByManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      const Product p(spec_of(kContract, 64 + t, 48), 33, static_cast<std::uint64_t>(t));
      const OwnStream stream;
      EXPECT_OK(plan_of(p.spec).run(stream, p.operands()));
      stream.wait();
      EXPECT_EQ(p.d.bytes(), p.expected());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrency, AThreadsFirstCallMayBeARun) {
  const auto list = products();
  const Plan plan = plan_of(list[1]->spec);
  const OwnStream stream;
  std::thread([&] { EXPECT_OK(plan.run(stream, list[1]->operands())); }).join();
  stream.wait();
  EXPECT_EQ(list[1]->d.bytes(), list[1]->expected());
}

TEST(Concurrency, OneThreadCapturesWhileAnotherAllocates) {
  const auto list = products();
  const Plan plan = plan_of(list[2]->spec);
  const auto expected = list[2]->expected();
  // While any stream is captured no thread may use the legacy stream or wait for the device, as an
  // Array does: this one keeps to a stream of its own.
  std::thread other([] {
    const OwnStream own;
    for (int i = 0; i < 200; ++i) {
      void* data = nullptr;
      EXPECT_EQ(cudaMalloc(&data, 1 << 16), cudaSuccess);
      EXPECT_EQ(cudaMemsetAsync(data, 0xff, 1 << 16, own.get()), cudaSuccess);
      own.wait();
      EXPECT_EQ(cudaFree(data), cudaSuccess);
    }
  });
  const OwnStream stream;
  for (int i = 0; i < 20; ++i) {
    const Array out = list[2]->output();
    EXPECT_OK(cuda_backend().device().replay(
        stream, [&](Stream s) { return plan.run(s, list[2]->operands(out.data())); }, 2));
    EXPECT_EQ(out.bytes(), expected);
  }
  other.join();
}

}  // namespace
}  // namespace detgemm::test

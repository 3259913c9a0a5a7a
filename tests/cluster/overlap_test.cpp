// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/api/overlap.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/cluster/ranks.hpp"
#include "tests/cluster/wrapped_skeleton.hpp"

// Calls that are cut into chunks of rows: the bits are compared in join_test.cpp, column_test.cpp
// and nccl_test.cpp; here, that chunks are cut alike and that one travels while the next is
// multiplied.

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;

TEST(Chunks, AreAPureFunctionAndHoldAllRows) {
  for (std::int64_t m : {0, 1, 7, 8, 9, 64, 1000, 4096, 100000}) {
    for (const std::int32_t asked : {0, 1, 2, 3, 7, 1000}) {
      const int count = chunk_count(m, 4, asked);
      ASSERT_GE(count, 1);
      EXPECT_EQ(chunk_count(m, 1, asked), 1) << "one rank sends nothing";
      EXPECT_LE(count, chunk_count(m + 1, 4, asked)) << "workspace does not decrease with m";
      EXPECT_LE(count, asked > 0 ? asked : 4);
      std::int64_t next = 0;
      for (int i = 0; i < count; ++i) {
        const Range rows = chunk_rows(m, i, count);
        EXPECT_EQ(rows.begin, next);
        if (m > 0) {
          EXPECT_GT(rows.size(), 0) << "of m = " << m << " in " << count;
        }
        next = rows.end;
      }
      EXPECT_EQ(next, m);
    }
  }
}

/// How many products have begun on a rank.
struct Begun {
  std::atomic<int> products = 0;
};

/// The skeleton, which counts.
class CountingPlan final : public PlanImpl {
 public:
  CountingPlan(std::shared_ptr<const PlanImpl> inner, Begun& begun)
      : inner_(std::move(inner)), begun_(begun) {}
  std::size_t workspace_bytes(std::int64_t m) const override { return inner_->workspace_bytes(m); }
  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    ++begun_.products;
    return inner_->run(stream, operands, workspace, info);
  }
  Status combine(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override {
    return inner_->combine(stream, roots, operands, workspace, info);
  }
  std::string kernel(std::int64_t m) const override { return inner_->kernel(m); }

 private:
  std::shared_ptr<const PlanImpl> inner_;
  Begun& begun_;
};

/// Messages of the first chunk leave when the product of the second has begun, or give up.
class WaitingTransport final : public Transport {
 public:
  WaitingTransport(std::shared_ptr<Transport> inner, Begun& begun,
                   std::chrono::milliseconds patience)
      : inner_(std::move(inner)), begun_(begun), patience_(patience) {}
  std::string description() const override { return inner_->description(); }
  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds patience) override {
    return inner_->agree(mine, all, patience);
  }
  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    const auto end = std::chrono::steady_clock::now() + patience_;
    while (begun_.products < 2 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
    overlapped = overlapped && begun_.products >= 2;
    return inner_->exchange(stream, sends, receives, patience);
  }
  Status health() override { return inner_->health(); }
  void abort() noexcept override { inner_->abort(); }

  bool overlapped = true;

 private:
  std::shared_ptr<Transport> inner_;
  Begun& begun_;
  std::chrono::milliseconds patience_;
};

/// Whether messages of the first chunk met a product of the second, on both of two ranks.
int met(std::int32_t chunks, std::chrono::milliseconds patience) {
  std::uint64_t seed = 0;
  while (Sample("ieee_fma/bf16/tree:64->fp32", seed).m < 40) ++seed;
  const Sample sample("ieee_fma/bf16/tree:64->fp32", seed);
  std::atomic<int> overlapped = 0;
  on_ranks(2, [&](const std::shared_ptr<Transport>& inner) {
    Begun begun;
    const test::WrappedSkeleton backend("counting", host_device(), [&](auto inner) {
      return std::make_shared<CountingPlan>(std::move(inner), begun);
    });
    const auto transport = std::make_shared<WaitingTransport>(inner, begun, patience);
    const auto communicator = *Communicator::create(transport);
    RowParallelOptions options;
    options.chunks = chunks;
    // One node per rank, so that the second product is the second chunk's.
    GemmSpec spec = sample.spec;
    spec.k = 128;
    const auto plan = *RowParallelPlan::create(communicator, backend, spec, options);
    EXPECT_EQ(plan.shares().cover(inner->rank()).size(), 1U);
    std::vector<float> d(sample.d.size());
    const Scratch scratch(*plan.workspace_bytes(sample.m));
    const std::vector<std::uint16_t> ones(100000, 0x3f80);
    const KRange k = plan.k_range();
    Operands local = sample.operands({0, 0}, {0, sample.m}, d.data());
    local.a =
        row_major(static_cast<const void*>(ones.data()), sample.m, k.end - k.begin, DType::bf16);
    local.b =
        row_major(static_cast<const void*>(ones.data()), k.end - k.begin, spec.n, DType::bf16);
    const Status ran = plan.run({}, sample.m, local, scratch);
    EXPECT_TRUE(ran) << ran.message();
    overlapped += transport->overlapped ? 1 : 0;
  });
  return overlapped;
}

TEST(Chunks, OneIsMultipliedWhileTheOneBeforeItTravels) { EXPECT_EQ(met(2, 20s), 2); }

/// The control: in one chunk there is no second product to meet.
TEST(Chunks, OneChunkMeetsNothing) { EXPECT_EQ(met(1, 50ms), 0); }

/// Ranks that cut differently would send other messages, so they must agree.
TEST(Chunks, AreAgreedOn) {
  on_ranks(2, [](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport);
    GemmSpec spec;
    spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->fp32");
    spec.n = 8;
    spec.k = 64;
    RowParallelOptions options;
    options.chunks = 1 + transport->rank();
    EXPECT_EQ(
        RowParallelPlan::create(communicator, skeleton_backend(), spec, options).status().message(),
        "ranks disagree: rank 1 has chunks 2 and rank 0 has chunks 1: it must be the same on "
        "all");
  });
}

}  // namespace
}  // namespace detgemm::cluster

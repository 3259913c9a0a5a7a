// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Groups on a device, in sizes that the kernels of tiles take: each group against Plan::run on its
// slice, all of D's memory byte for byte; garbage in offsets; graphs; and that a run waits for
// nothing. (tests/grouped has small and odd problems on every backend, and planted faults.)

#include "detgemm/grouped.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <set>
#include <string>
#include <thread>

#include "detgemm/cuda.hpp"
#include "tests/cuda/device/own_stream.hpp"
#include "tests/grouped/arrays.hpp"
#include "tests/grouped/slices.hpp"

namespace detgemm::grouped_tests {
namespace {

constexpr GroupKind kKinds[] = {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked,
                                GroupKind::k_grouped};

using test::OwnStream;

/// A problem whose rows lie at multiples of 16 bytes.
Setup aligned(const std::string& contract, GroupKind kind, std::uint64_t seed) {
  static constexpr std::int64_t counts[] = {1, 2, 3, 8, 128};
  static constexpr std::int64_t lengths[] = {0, 1, 2, 7, 16, 63, 64, 65, 127, 128, 129, 257};
  static constexpr std::int64_t widths[] = {8, 64, 136, 256, 264, 520};
  static constexpr std::int64_t depths[] = {8, 64, 72, 200, 256, 1000};
  static constexpr DType types[] = {DType::bf16, DType::fp16, DType::fp32};
  test::Random random(seed);
  Setup s;
  s.contract = contract;
  s.kind = kind;
  s.seed = seed;
  const std::int64_t groups = counts[random.below(5)];
  for (std::int64_t g = 0; g < groups; ++g) {
    s.sizes.push_back(kind == GroupKind::batched ? 0 : lengths[random.below(groups > 8 ? 8 : 12)]);
  }
  s.spare = random.below(3) == 0 ? random.below(groups > 8 ? 20 : 200) : 0;
  s.m = lengths[1 + random.below(groups > 8 ? 7 : 11)];
  s.n = widths[random.below(groups > 8 ? 3 : 6)];
  s.k = kind == GroupKind::k_grouped ? 0 : depths[random.below(groups > 8 ? 4 : 6)];
  s.op_b = random.below(2) == 0 ? Op::none : Op::transpose;
  if (kind == GroupKind::k_grouped) s.op_a = Op::transpose;
  if (kind == GroupKind::k_grouped) s.m = 8 * (1 + random.below(40));
  s.pad = random.below(3) == 0 ? 8 * (1 + random.below(3)) : 0;
  s.shift = random.below(4) == 0 ? 8 : 0;
  s.type = random.below(2) == 0 ? OffsetType::i32 : OffsetType::i64;
  s.shared_b = random.below(6) == 0;
  s.interleaved = random.below(6) == 0;
  if (random.below(3) == 0) s.bias = types[random.below(3)];
  const bool tree = contract.find("tree") != std::string::npos;
  s.continues = !tree && random.below(4) == 0;
  const bool to_fp32 = contract.find("->fp32") != std::string::npos;
  s.in_place = random.below(2) == 0 && (!s.continues || to_fp32);
  if (!s.continues && random.below(4) == 0) s.beta = 0.75F;
  if (random.below(4) == 0) s.activation = static_cast<Activation>(random.below(5));
  s.data = test::kAllData[random.below(6)];
  return s;
}

GroupedSpec spec_of(const Setup& s) {
  GroupedSpec spec;
  spec.gemm.contract = ok(Contract::parse(s.contract));
  spec.gemm.n = s.n;
  spec.gemm.k = s.k;
  spec.gemm.op_a = s.op_a;
  spec.gemm.op_b = s.op_b;
  spec.kind = s.kind;
  spec.groups = static_cast<std::int64_t>(s.sizes.size());
  return spec;
}

TEST(GroupedDevice, EveryGroupHasTheBitsOfItsSlice) {
  const char* asked = std::getenv("DETGEMM_GROUPED_TURNS");
  const int turns = asked != nullptr ? std::atoi(asked) : 3;
  std::int64_t problems = 0, outputs = 0, by_tiles = 0;
  std::uint64_t seed = 0;
  for (const char* contract :
       {"hopper/bf16/chain->bf16", "hopper/bf16/chain->fp32", "hopper/fp16/chain->fp16",
        "hopper/bf16/fold:64->fp32", "hopper/bf16/tree:64->bf16", "ieee_fma/bf16/chain->bf16",
        "ieee_fma/fp32/tree:32->fp32"}) {
    for (const GroupKind kind : kKinds) {
      for (int turn = 0; turn < turns; ++turn) {
        const grouped_tests::Setup s = aligned(contract, kind, ++seed);
        try {
          outputs += compare_with_slices(cuda_backend(), s);
        } catch (const Failure& failure) {
          ADD_FAILURE() << failure.what();
        }
        ++problems;
        const auto plan = ok(GroupedPlan::create(cuda_backend(), spec_of(s)));
        const std::string kernel = plan.kernel(1000);
        by_tiles += kernel.find("gather") == std::string::npos &&
                    kernel.find("/grouped") != std::string::npos &&
                    kernel.find("sm90/") != std::string::npos;
      }
    }
  }
  std::printf("%lld problems, of which %lld may run by tiles; %lld outputs compared\n",
              static_cast<long long>(problems), static_cast<long long>(by_tiles),
              static_cast<long long>(outputs));
  EXPECT_GT(by_tiles, problems / 8);
}

/// Heads of a token that lie side by side, in A, in D, in both, in B, in none: groups whose rows
/// have those of all others between them, and garbage behind each. Every kernel takes them.
TEST(GroupedDevice, HeadsBetweenOthersHaveTheBitsOfTheirSlices) {
  constexpr std::int64_t kHeads = 5;
  constexpr std::int64_t kDepths[] = {8, 64, 128, 200, 1000};
  test::Random random(31);
  std::uint64_t seed = 500;
  std::int64_t outputs = 0;
  for (const char* contract :
       {"hopper/bf16/chain->bf16", "hopper/bf16/chain->fp32", "hopper/fp16/chain->fp16"}) {
    for (const GroupKind kind : {GroupKind::batched, GroupKind::m_masked}) {
      for (const std::int64_t m : {1, 3, 8, 13, 64, 100, 129, 300}) {
        for (const int which : {0, 1, 2, 3, 4, 7}) {  // bits: A, D, B
          grouped_tests::Setup s;
          s.contract = contract;
          s.kind = kind;
          s.seed = ++seed;
          s.m = m;
          for (std::int64_t g = 0; g < kHeads; ++g) {
            s.sizes.push_back(kind == GroupKind::batched ? 0 : random.below(m + 1));
          }
          if (kind == GroupKind::m_masked) s.sizes[1] = m;
          s.interleaved_a = (which & 1) != 0;
          s.interleaved = (which & 2) != 0;
          s.interleaved_b = (which & 4) != 0;
          s.op_b = random.below(2) == 0 ? Op::none : Op::transpose;
          s.n = s.op_b == Op::none ? 8 * (1 + random.below(40)) : 1 + random.below(320);
          s.k = kDepths[random.below(5)];
          s.pad = 8 * random.below(3);
          s.shift = 8 * random.below(2);
          const bool to_fp32 = s.contract.ends_with("fp32");
          if (random.below(4) == 0) s.bias = DType::fp32;
          s.continues = random.below(4) == 0;
          if (!s.continues && random.below(3) == 0) s.beta = 0.75F;
          s.in_place = random.below(2) == 0 && (!s.continues || to_fp32);
          if (random.below(4) == 0) s.activation = static_cast<Activation>(random.below(5));
          s.data = test::kAllData[random.below(6)];
          const std::size_t kernels = cuda_backend().grouped_variants(spec_of(s)).size() + 1;
          std::int64_t rows = kind == GroupKind::batched ? m * kHeads : 0;
          for (const std::int64_t size : s.sizes) rows += size;
          try {
            const std::int64_t compared = compare_with_slices(cuda_backend(), s);
            EXPECT_EQ(compared, rows * s.n * static_cast<std::int64_t>(kernels)) << text_of(s);
            outputs += compared;
          } catch (const Failure& failure) {
            ADD_FAILURE() << failure.what();
          }
        }
      }
    }
  }
  std::printf("%lld outputs of interleaved groups compared\n", static_cast<long long>(outputs));
}

/// Rows at odd addresses, which tiles take once all groups are copied, or a launch of gather, or
/// one for each group: A, B or both, one group after the other and between each other.
TEST(GroupedDevice, OddRowsOfABatchHaveTheBitsOfTheirSlices) {
  test::Random random(17);
  int copied = 0;
  std::uint64_t seed = 900;
  for (const std::int64_t groups : {2, 24}) {
    for (const char* contract :
         {"hopper/bf16/chain->bf16", "hopper/fp16/chain->fp32", "hopper/bf16/tree:64->bf16"}) {
      for (const std::int64_t k : {7, 777, 72}) {
        for (const int which : {0, 1, 2, 3, 4, 5, 6, 7}) {  // bits: A, D, rows of B along memory
          grouped_tests::Setup s;
          s.contract = contract;
          s.sizes.assign(static_cast<std::size_t>(groups), 0);
          s.m = 1 + random.below(200), s.n = k == 72 ? 63 : 128, s.k = k;
          s.interleaved_a = (which & 1) != 0;
          s.interleaved = (which & 2) != 0;
          s.op_b = (which & 4) != 0 ? Op::none : Op::transpose;
          s.data = test::kAllData[random.below(6)];
          s.seed = ++seed;
          try {
            EXPECT_GE(compare_with_slices(cuda_backend(), s), 3 * groups * s.m * s.n) << text_of(s);
          } catch (const Failure& failure) {
            ADD_FAILURE() << failure.what();
          }
          const auto plan = ok(GroupedPlan::create(cuda_backend(), spec_of(s)));
          copied += plan.kernel(s.m).find("/pack") != std::string::npos ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(copied, 20);
}

/// 300 rows (or products) in 4 groups, in arrays that the kernels of tiles take.
struct Job {
  static constexpr std::int64_t kAll = 300, kN = 136, kK = 200, kGroups = 4;
  Device& device = cuda_backend().device();
  GroupedSpec spec;
  GroupedOperands x;
  std::int64_t m, k;
  Array a, b, d, offsets;

  static std::size_t bytes(std::int64_t count, std::size_t size) {
    return static_cast<std::size_t>(count) * size;
  }
  static std::int64_t times(bool many) { return many ? kGroups : 1; }

  Job(const char* contract, GroupKind kind)
      : m(kind == GroupKind::k_grouped ? 72 : kAll),
        k(kind == GroupKind::k_grouped ? kAll : kK),
        a(device, bytes(m * k * times(kind == GroupKind::m_masked), 2)),
        b(device, bytes(k * kN * times(kind != GroupKind::k_grouped), 2)),
        d(device, bytes(m * kN * times(kind != GroupKind::m_grouped), 4)),
        offsets(device, bytes(kGroups, 4)) {
    spec.gemm.contract = ok(Contract::parse(contract));
    spec.gemm.n = kN;
    spec.gemm.k = kind == GroupKind::k_grouped ? 0 : kK;
    spec.gemm.op_a = kind == GroupKind::k_grouped ? Op::transpose : Op::none;
    spec.kind = kind;
    spec.groups = kGroups;
    test::Random random(7);
    for (Array* array : {&a, &b}) {
      fill(random, test::Data::near_one, DType::bf16, array->host(),
           static_cast<std::int64_t>(array->bytes() / 2));
      array->upload();
    }
    const bool by_k = kind == GroupKind::k_grouped;
    x.arrays.a =
        row_major(static_cast<const void*>(a.at()), by_k ? k : m, by_k ? m : k, DType::bf16);
    x.arrays.b = row_major(static_cast<const void*>(b.at()), k, kN, DType::bf16);
    x.arrays.d = row_major(d.at(), m, kN, DType::fp32);
    x.group.a = kind == GroupKind::m_masked ? m * k : 0;
    x.group.b = by_k ? 0 : k * kN;
    x.group.d = kind == GroupKind::m_grouped ? 0 : m * kN;
    x.offsets = {offsets.at(), kGroups, OffsetType::i32};
  }
  void put(const std::int32_t (&values)[kGroups]) {
    std::memcpy(offsets.host(), values, sizeof values);
    offsets.upload();
  }
  /// All of D's memory after a run into untouched memory.
  std::vector<std::byte> run(const GroupedPlan& plan, const Workspace& workspace) {
    std::memset(d.host(), 0x11, d.bytes());
    d.upload();
    const Stream stream{DeviceKind::cuda, nullptr};
    ok(plan.run(stream, x, workspace));
    ok(device.synchronize(stream));
    d.download();
    return d.image();
  }
};

constexpr std::int32_t kGarbage[][4] = {{-1, 50, 90, 300},
                                        {300, 50, 90, 30},
                                        {50, 1 << 30, 90, 120},
                                        {-(1 << 30), -5, -9, -1},
                                        {400, 401, 402, 403},
                                        {0, 300, -300, 300},
                                        {0x7fffffff, -0x7fffffff - 1, 70, 70},
                                        {300, 300, 300, 301},
                                        {100, 99, 98, 97},
                                        {0x3c3c3c3c, 0x7fc00000, -4194304, 0x7f800001}};

TEST(GroupedDevice, GarbageInOffsetsTouchesNothingOutside) {
  for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
    for (const char* contract :
         {"hopper/bf16/chain->fp32", "hopper/bf16/fold:64->fp32", "ieee_fma/bf16/chain->fp32"}) {
      Job job(contract, kind);
      std::vector<std::string> variants = cuda_backend().grouped_variants(job.spec);
      variants.emplace_back();
      for (const std::string& variant : variants) {
        PlanOptions options;
        options.variant = variant;
        const auto plan = ok(GroupedPlan::create(cuda_backend(), job.spec, options));
        const std::int64_t k = kind == GroupKind::k_grouped ? job.k : 0;
        const Scratch scratch(job.device, ok(plan.workspace_bytes(job.m, k)));
        for (const auto& garbage : kGarbage) {
          job.put(garbage);
          const std::vector<std::byte> after = job.run(plan, scratch.get());
          for (std::size_t i = 0; i < after.size(); ++i) {
            if (i >= Array::kMargin / 2 && i < Array::kMargin / 2 + job.d.bytes()) continue;
            ASSERT_EQ(after[i], std::byte{0x3c})
                << name(kind) << " " << contract << " " << variant << " byte " << i;
          }
        }
      }
    }
  }
}

/// Offsets that change while a kernel runs: copies on another stream, and a thread of the host that
/// writes offsets in managed memory, where a device allows that during a kernel. Tiles may be
/// wrong, but nothing outside of the arrays is read or written: the bias is an allocation by
/// itself, so that memcheck sees the element before it.
TEST(GroupedDevice, OffsetsThatChangeDuringARunTouchNothingOutside) {
  int device = 0, concurrent = 0;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device),
            cudaSuccess);
  constexpr std::int32_t kTurns[2][Job::kGroups] = {{75, 150, 225, 300}, {0, 0, 0, 1}};
  for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked}) {
    for (const bool managed : {false, true}) {
      if (managed && concurrent == 0) continue;
      Job job("hopper/bf16/chain->fp32", kind);
      job.spec.gemm.bias = DType::fp32;
      void *bias = nullptr, *source = nullptr, *offsets = nullptr;
      ASSERT_EQ(cudaMalloc(&bias, Job::kN * sizeof(float)), cudaSuccess);
      ASSERT_EQ(cudaMemset(bias, 0, Job::kN * sizeof(float)), cudaSuccess);
      ASSERT_EQ(cudaMallocHost(&source, sizeof kTurns), cudaSuccess);
      std::memcpy(source, kTurns, sizeof kTurns);
      ASSERT_EQ(cudaMallocManaged(&offsets, sizeof kTurns[0]), cudaSuccess);
      std::memcpy(offsets, kTurns[0], sizeof kTurns[0]);
      job.x.arrays.bias = {bias, Job::kN, DType::fp32};  // shared by all groups
      job.put({75, 150, 225, 300});
      void* const read = managed ? offsets : job.offsets.at();
      job.x.offsets.data = read;
      std::memset(job.d.host(), 0x11, job.d.bytes());
      job.d.upload();
      std::vector<std::string> variants = cuda_backend().grouped_variants(job.spec);
      const OwnStream stream, other;
      std::atomic<bool> ends = false;
      std::thread flips([&] {
        if (!managed) return;
        auto* to = static_cast<volatile std::int32_t*>(offsets);
        for (std::size_t turn = 0; !ends; ++turn) {
          for (std::int64_t g = 0; g < Job::kGroups; ++g) to[g] = kTurns[turn % 2][g];
        }
      });
      for (const std::string& variant : variants) {
        PlanOptions options;
        options.variant = variant;
        const auto plan = ok(GroupedPlan::create(cuda_backend(), job.spec, options));
        const Scratch scratch(job.device, ok(plan.workspace_bytes(job.m)));
        for (std::size_t turn = 0; turn < 20; ++turn) {
          const Status ran = plan.run(stream, job.x, scratch.get());
          if (ran.code() == Errc::unsupported) break;
          EXPECT_TRUE(ran.ok()) << ran.message();
          for (std::size_t i = 0; !managed && i < 4; ++i) {
            const auto* from = static_cast<const char*>(source) + i % 2 * sizeof kTurns[0];
            EXPECT_EQ(
                cudaMemcpyAsync(read, from, sizeof kTurns[0], cudaMemcpyHostToDevice, other.get()),
                cudaSuccess);
          }
        }
        stream.wait();
        other.wait();
      }
      ends = true;
      flips.join();
      job.d.download();
      const std::vector<std::byte>& after = job.d.image();
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (i >= Array::kMargin / 2 && i < Array::kMargin / 2 + job.d.bytes()) continue;
        ASSERT_EQ(after[i], std::byte{0x3c}) << name(kind) << " byte " << i;
      }
      cudaFree(bias);
      cudaFreeHost(source);
      cudaFree(offsets);
    }
  }
}

TEST(GroupedDevice, AGraphReadsItsOffsetsAnew) {
  constexpr std::int32_t kOffsets[][4] = {
      {75, 150, 225, 300}, {0, 1, 130, 131}, {300, 300, 300, 300}, {64, 64, 129, 257}};
  for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::k_grouped}) {
    Job job("hopper/bf16/chain->fp32", kind);
    const auto plan = ok(GroupedPlan::create(cuda_backend(), job.spec));
    const std::int64_t k = kind == GroupKind::k_grouped ? job.k : 0;
    const Scratch scratch(job.device, ok(plan.workspace_bytes(job.m, k)));
    job.put(kOffsets[0]);
    const OwnStream stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ok(plan.run(stream, job.x, scratch.get()));
    ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    std::set<std::string> results;
    for (const auto& offsets : kOffsets) {
      job.put(offsets);
      const std::vector<std::byte> wanted = job.run(plan, scratch.get());
      results.emplace(reinterpret_cast<const char*>(wanted.data()), wanted.size());
      std::memset(job.d.host(), 0x11, job.d.bytes());
      job.d.upload();
      ASSERT_EQ(cudaGraphLaunch(exec, stream.get()), cudaSuccess);
      stream.wait();
      job.d.download();
      EXPECT_TRUE(job.d.image() == wanted) << name(kind) << " from " << offsets[0];
    }
    EXPECT_EQ(results.size(), 4U) << "the offsets make no difference, so this shows nothing";
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
}

void CUDART_CB hold(void* until) { static_cast<std::shared_future<void>*>(until)->wait(); }

TEST(GroupedDevice, ARunWaitsForNothing) {
  for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
    Job job("hopper/bf16/chain->fp32", kind);
    const auto plan = ok(GroupedPlan::create(cuda_backend(), job.spec));
    const std::int64_t k = kind == GroupKind::k_grouped ? job.k : 0;
    const Scratch scratch(job.device, ok(plan.workspace_bytes(job.m, k)));
    job.put({75, 150, 225, 300});
    const OwnStream stream;
    std::promise<void> release;
    std::shared_future<void> until = release.get_future().share();
    ASSERT_EQ(cudaLaunchHostFunc(stream.get(), hold, &until), cudaSuccess);
    ok(plan.run(stream, job.x, scratch.get()));  // it would never return
    EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
    release.set_value();
    stream.wait();
  }
}

}  // namespace
}  // namespace detgemm::grouped_tests

/// Without a device that it computes on: a reason, and status 77.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  detgemm::GemmSpec spec;
  spec.n = spec.k = 8;
  spec.contract = *detgemm::Contract::parse("hopper/bf16/chain->bf16");
  const auto usable = detgemm::cuda_backend().supports(spec);
  if (!usable) {
    std::printf("skipped: %s\n", usable.message().c_str());
    return 77;
  }
  std::printf("%s\n", detgemm::cuda_backend().device().description().c_str());
  return RUN_ALL_TESTS();
}

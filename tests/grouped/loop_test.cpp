// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Groups on backends without kernels over groups: a plan per group. Bits are compared by the
// properties of all backends; here is when the host waits, and what happens when a group fails.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/grouped.hpp"
#include "tests/grouped/arrays.hpp"
#include "tests/grouped/slices.hpp"
#include "tests/support/scratch_backend.hpp"

namespace detgemm::grouped_tests {
namespace {

/// The host's memory, with streams that can be waited for, captured, and of another device.
class WatchedDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::host; }
  std::string description() const override { return "watched"; }
  Result<void*> allocate(std::size_t bytes) override { return host_device().allocate(bytes); }
  void release(void* memory) noexcept override { host_device().release(memory); }
  Status to_device(void* to, const void* from, std::size_t bytes) override {
    return host_device().to_device(to, from, bytes);
  }
  Status to_host(void* to, const void* from, std::size_t bytes) override {
    return fails ? Status{Errc::internal, "the bus is gone"}
                 : host_device().to_host(to, from, bytes);
  }
  Result<Stream> create_stream() override { return Stream{}; }
  void destroy_stream(Stream) noexcept override {}
  Status synchronize(Stream) override {
    ++waits;
    if (earlier_work) earlier_work();
    return {};
  }
  Result<bool> is_capturing(Stream) override { return captured; }
  int current() const override { return ordinal; }

  int waits = 0;
  int ordinal = 0;
  bool captured = false;
  bool fails = false;
  std::function<void()> earlier_work;  ///< has happened when the stream has been waited for
};

/// A plan of the skeleton that asks for a workspace and may fail.
class WatchedPlan final : public PlanImpl {
 public:
  /// What each step says first; a plan works while they say ok.
  struct Steps {
    std::function<Status()> check = [] { return Status{}; };
    std::function<Status()> run = [] { return Status{}; };
  };
  WatchedPlan(const GemmSpec& spec, std::shared_ptr<const PlanImpl> inner, std::size_t bytes,
              const Steps& steps)
      : spec_(spec), inner_(std::move(inner)), bytes_(bytes), steps_(steps) {}
  std::size_t workspace_bytes(std::int64_t max_m) const override { return max_m == 0 ? 0 : bytes_; }
  Status check(Stream, const Operands&, Workspace) const override { return steps_.check(); }
  Status run(Stream stream, const Operands& operands, Workspace, RunInfo* info) const override {
    if (Status s = validate(spec_, operands); !s) return s;  // a precondition
    if (Status s = steps_.run(); !s) return s;
    return inner_->run(stream, operands, {}, info);
  }
  Status combine(Stream, std::span<const TreeRoot>, const Operands&, Workspace,
                 RunInfo*) const override {
    return unsupported("watched: joins nothing");
  }
  std::string kernel(std::int64_t m) const override { return inner_->kernel(m); }

 private:
  GemmSpec spec_;
  std::shared_ptr<const PlanImpl> inner_;
  std::size_t bytes_;
  Steps steps_;
};

class WatchedBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "watched"; }
  std::string_view description() const noexcept override { return "the skeleton, watched"; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec& spec) const override { return skeleton_backend().supports(spec); }
  Guarantees guarantees(const Contract& contract) const override {
    return skeleton_backend().guarantees(contract);
  }
  std::vector<std::string> variants(const GemmSpec&) const override { return {"scalar"}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    auto inner = skeleton_backend().make_plan(spec, options);
    if (!inner) return inner.status();
    return std::shared_ptr<const PlanImpl>(
        std::make_shared<WatchedPlan>(spec, *inner, bytes_of(spec), steps));
  }
  Device& device() const noexcept override { return watched; }

  mutable WatchedDevice watched;
  std::function<std::size_t(const GemmSpec&)> bytes_of = [](const GemmSpec&) { return 0; };
  WatchedPlan::Steps steps;
};

/// Three groups of a [2, 0, 3] rows (or products), and what is in D.
struct Problem {
  explicit Problem(GroupKind kind) {
    const bool by_k = kind == GroupKind::k_grouped;
    spec.gemm.contract = ok(Contract::parse("ieee_fma/fp32/chain->fp32"));
    spec.gemm.n = 1;
    spec.gemm.k = by_k ? 0 : 1;
    spec.kind = kind;
    spec.groups = 3;
    const std::int64_t m = kind == GroupKind::batched || by_k ? 1 : 5;
    const std::int64_t k = by_k ? 5 : 1;
    x.arrays.a = row_major(ones, m, k, DType::fp32);
    x.arrays.b = row_major(ones, k, 1, DType::fp32);
    x.arrays.d = row_major(d.data(), m, 1, DType::fp32);
    if (!by_k) x.group.b = 1;
    if (kind != GroupKind::m_grouped) x.group.d = m;
    if (kind != GroupKind::batched) x.offsets = {offsets, 3, OffsetType::i32};
  }
  GroupedSpec spec;
  GroupedOperands x;
  float ones[32] = {1, 1, 1, 1, 1};
  std::vector<float> d = std::vector<float>(15, 7.0F);
  std::int32_t offsets[3] = {2, 2, 5};
};

TEST(GroupedLoop, OnlyOffsetsAreWaitedFor) {
  for (const GroupKind kind :
       {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
    WatchedBackend backend;
    Problem p(kind);
    const GroupedPlan plan = ok(GroupedPlan::create(backend, p.spec));
    const int waits = kind == GroupKind::batched ? 0 : 1;
    EXPECT_EQ(plan.waits_for_offsets(), waits == 1);
    EXPECT_EQ(
        plan.describe(1).find("offsets    read by the host, which waits") != std::string::npos,
        waits == 1)
        << plan.describe(1);
    EXPECT_EQ(plan.kernel(3), "loop of 3: scalar");
    EXPECT_EQ(backend.watched.waits, 0);
    RunInfo info;
    ok(plan.run({}, p.x, {}, &info));
    EXPECT_EQ(backend.watched.waits, waits) << name(kind);
    EXPECT_EQ(info.kernel, "loop of 3: scalar");
  }
}

/// What is read before the stream has finished is what the work before has not written yet.
TEST(GroupedLoop, OffsetsAreReadWhenTheStreamHasFinished) {
  WatchedBackend backend;
  Problem p(GroupKind::k_grouped);
  backend.watched.earlier_work = [&] { p.offsets[0] = 1, p.offsets[1] = 1, p.offsets[2] = 5; };
  const GroupedPlan plan = ok(GroupedPlan::create(backend, p.spec));
  ok(plan.run({}, p.x));
  EXPECT_EQ((std::vector<float>{p.d[0], p.d[1], p.d[2]}), (std::vector<float>{1, 0, 4}));
}

TEST(GroupedLoop, StreamsUnderCaptureAreRefused) {
  WatchedBackend backend;
  backend.watched.captured = true;
  Problem p(GroupKind::m_grouped);
  const GroupedPlan plan = ok(GroupedPlan::create(backend, p.spec));
  for (const Status& s : {plan.run({}, p.x), plan.check({}, p.x)}) {
    EXPECT_EQ(s.code(), Errc::invalid_argument);
    EXPECT_EQ(s.message(),
              "stream is being captured: the host reads the offsets, so it must not be");
  }
  EXPECT_EQ(backend.watched.waits, 0);
  EXPECT_EQ(p.d, std::vector<float>(15, 7.0F));
  Problem batch(GroupKind::batched);
  ok(ok(GroupedPlan::create(backend, batch.spec)).run({}, batch.x));
  EXPECT_NE(batch.d[0], 7.0F);
}

TEST(GroupedLoop, AnotherDeviceIsRefused) {
  for (const GroupKind kind : {GroupKind::batched, GroupKind::k_grouped}) {
    WatchedBackend backend;
    Problem p(kind);
    const GroupedPlan plan = ok(GroupedPlan::create(backend, p.spec));
    backend.watched.ordinal = 1;
    EXPECT_EQ(plan.run({}, p.x).message(),
              "the current device is 1: the plan was made for device 0, which must be current "
              "when it runs");
    EXPECT_EQ(p.d, std::vector<float>(15, 7.0F));
  }
}

/// What a group would be refused for is known before the first one is written; a failure behind
/// that is internal, since D has been written.
TEST(GroupedLoop, FailuresNameTheGroup) {
  for (const bool late : {false, true}) {
    WatchedBackend backend;
    int calls = 0;
    (late ? backend.steps.run : backend.steps.check) = [&] {
      return ++calls == 2 ? unsupported("too odd") : Status{};
    };
    Problem p(GroupKind::m_grouped);
    const Status s = ok(GroupedPlan::create(backend, p.spec)).run({}, p.x);
    EXPECT_EQ(s.code(), late ? Errc::internal : Errc::unsupported);
    EXPECT_EQ(s.message(), "group 2: too odd");
    EXPECT_EQ(p.d[0] != 7.0F, late);
    EXPECT_EQ(p.d[2], 7.0F);
  }
  WatchedBackend backend;
  backend.watched.fails = true;
  Problem p(GroupKind::m_grouped);
  EXPECT_EQ(ok(GroupedPlan::create(backend, p.spec)).run({}, p.x).message(),
            "reading the offsets: the bus is gone");
}

/// Room for roots goes by the largest power of two that divides the number of leaves, so that a
/// group may need more than all products together would.
TEST(GroupedLoop, TheWorkspaceIsEnoughForEveryGroup) {
  WatchedBackend backend;
  backend.bytes_of = [](const GemmSpec& spec) {
    const std::int64_t leaves = spec.contract.leaves(spec.k);
    return static_cast<std::size_t>(256 * (leaves & -leaves) + leaves);
  };
  Problem p(GroupKind::k_grouped);
  p.spec.gemm.contract = ok(Contract::parse("ieee_fma/fp32/tree:4->fp32"));
  const GroupedPlan plan = ok(GroupedPlan::create(backend, p.spec));
  std::size_t most = 0, before = 0;
  for (std::int64_t k = 0; k <= 300; ++k) {
    GemmSpec one = p.spec.gemm;
    one.k = k;
    most = std::max(most, backend.bytes_of(one));
    const std::size_t bytes = ok(plan.workspace_bytes(1, k));
    EXPECT_GE(bytes, most) << k;
    EXPECT_GE(bytes, before) << k;
    before = bytes;
  }
  // One that is short after all is noticed before anything is written.
  int asked = 0;
  backend.bytes_of = [&](const GemmSpec&) { return asked++ > 2 ? 512 : 0; };
  p.offsets[1] = 3;
  const Status s = plan.run({}, p.x);
  EXPECT_EQ(s.code(), Errc::internal);
  EXPECT_NE(s.message().find("group 1: it needs 512 bytes of workspace, and 0 were requested"),
            std::string::npos)
      << s.message();
  EXPECT_EQ(p.d, std::vector<float>(15, 7.0F));
}

/// Plans are given what passes the checks of a call, scales of as many rows as a group has
/// included.
TEST(GroupedLoop, EveryGroupIsAProblemOfItsOwn) {
  WatchedBackend backend;
  Problem p(GroupKind::m_masked);
  p.spec.gemm.contract = ok(Contract::parse("hopper/e4m3/scaled:32->fp32"));
  for (BlockScales* scales : {&p.x.arrays.scale_a, &p.x.arrays.scale_b}) {
    *scales = {p.ones, ScaleType::fp32, 1, scales == &p.x.arrays.scale_a ? 5 : 1, 1, 1, 1};
  }
  p.x.arrays.a.dtype = p.x.arrays.b.dtype = DType::e4m3;
  ok(ok(GroupedPlan::create(backend, p.spec)).run({}, p.x));
  EXPECT_NE(p.d[1], 7.0F);
  EXPECT_EQ(p.d[2], 7.0F);  // beyond the first count
}

/// Groups share a workspace, all of which each of them overwrites.
TEST(GroupedLoop, GroupsWithAWorkspaceHaveTheBitsOfTheirSlices) {
  for (const GroupKind kind :
       {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
    for (const Op op : {Op::none, Op::transpose}) {
      grouped_tests::Setup s;
      s.contract = "hopper/bf16/fold:32->fp32";
      s.kind = kind;
      s.sizes = kind == GroupKind::batched ? std::vector<std::int64_t>{0, 0, 0}
                                           : std::vector<std::int64_t>{5, 0, 70, 1};
      s.spare = 3;
      s.m = 9, s.n = 7, s.k = kind == GroupKind::k_grouped ? 0 : 50;
      s.op_a = s.op_b = op;
      s.pad = 3;
      s.bias = DType::fp32;
      s.continues = s.in_place = op == Op::none;
      EXPECT_GT(compare_with_slices(scratch_backend(), s), 0) << text_of(s);
    }
  }
}

}  // namespace
}  // namespace detgemm::grouped_tests

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Groups of hopper/e4m3 on a device: every kernel over groups against Plan::run on each group's
// slice, by the kernel that computes single outputs. All of D's memory, byte for byte.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "detgemm/cuda.hpp"
#include "detgemm/grouped.hpp"
#include "tests/cuda/device/own_stream.hpp"

namespace detgemm {
namespace {

using test::OwnStream;

template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& host) : size_(host.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T) + 1), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data_); }
  T* at(std::int64_t index) const { return static_cast<T*>(data_) + index; }
  std::vector<T> read() const {
    std::vector<T> host(size_);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

 private:
  std::size_t size_;
  void* data_ = nullptr;
};

struct Given {
  const char* contract;
  GroupKind kind;
  std::vector<std::int32_t> ends;  ///< or counts; of batched how many groups there are
  std::int64_t capacity, n, k;     ///< rows of all segments, or of each group
  std::int64_t per_b = 128;
  bool continues = false;
  bool of_lines() const { return std::string(contract).find("scaled") == std::string::npos; }
};

/// The arrays of a problem: e4m3 without NaN, scales of a few binades and both signs.
struct Problem {
  Given s;
  std::int64_t groups, rows, leaves, b_blocks;
  std::vector<std::uint8_t> a_host, b_host;
  std::vector<float> sa_host, sb_host, c_host;

  explicit Problem(const Given& given) : s(given) {
    groups = static_cast<std::int64_t>(s.ends.size());
    rows = s.kind == GroupKind::m_grouped ? s.capacity : s.capacity * groups;
    leaves = s.of_lines() ? 1 : (s.k + 127) / 128;
    b_blocks = (s.n + s.per_b - 1) / s.per_b;
    std::uint32_t word = 7;
    const auto next = [&] { return (word = word * 1664525U + 1013904223U) >> 8; };
    const auto byte = [&] { return static_cast<std::uint8_t>(next() % 0x7fU | (next() & 0x80U)); };
    const auto scale = [&] {
      return (next() % 2 == 0 ? 1.0F : -1.0F) * (0.125F + static_cast<float>(next() % 4096) / 1024);
    };
    for (std::int64_t i = 0; i < rows * s.k; ++i) a_host.push_back(byte());
    for (std::int64_t i = 0; i < groups * s.n * s.k; ++i) b_host.push_back(byte());
    for (std::int64_t i = 0; i < rows * leaves; ++i) sa_host.push_back(scale());
    for (std::int64_t i = 0; i < groups * b_blocks * leaves; ++i) sb_host.push_back(scale());
    for (std::int64_t i = 0; i < rows * s.n; ++i) c_host.push_back(scale());
  }
};

/// What a run needs on the device; D is filled with 7.
struct Arrays {
  OnDevice<std::uint8_t> a, b;
  OnDevice<float> sa, sb, c, d;
  OnDevice<std::int32_t> ends;

  explicit Arrays(const Problem& p)
      : a(p.a_host),
        b(p.b_host),
        sa(p.sa_host),
        sb(p.sb_host),
        c(p.c_host),
        d(std::vector<float>(p.c_host.size(), 7.0F)),
        ends(p.s.ends) {}
};

GemmSpec spec_of(const Given& s) {
  GemmSpec spec;
  spec.contract = *Contract::parse(s.contract);
  spec.n = s.n;
  spec.k = s.k;
  spec.op_b = Op::transpose;  // weights are n x k
  spec.line_scales = s.of_lines();
  spec.continue_from_c = s.continues;
  return spec;
}

/// The arrays of `count` rows from row `at` on, with the matrix of `group`.
Operands operands_of(const Problem& p, const Arrays& x, std::int64_t at, std::int64_t count,
                     std::int64_t group) {
  const Given& s = p.s;
  Operands o;
  o.a = row_major(static_cast<const void*>(x.a.at(at * s.k)), count, s.k, DType::e4m3);
  o.b = row_major(static_cast<const void*>(x.b.at(group * s.n * s.k)), s.n, s.k, DType::e4m3);
  o.d = row_major(x.d.at(at * s.n), count, s.n, DType::fp32);
  if (s.continues) {
    o.c = row_major(static_cast<const void*>(x.c.at(at * s.n)), count, s.n, DType::fp32);
  }
  o.scale_a = {x.sa.at(at * p.leaves), ScaleType::fp32, 1, count, p.leaves, p.leaves, 1};
  o.scale_b = {x.sb.at(group * p.b_blocks * p.leaves),
               ScaleType::fp32,
               s.per_b,
               p.b_blocks,
               p.leaves,
               p.leaves,
               1};
  return o;
}

std::vector<float> by_plans(const Problem& p) {
  const Arrays x(p);
  const auto plan = Plan::create(cuda_backend(), spec_of(p.s), {"elements"});
  EXPECT_TRUE(plan) << plan.status().message();
  const OwnStream stream;
  std::int32_t begin = 0;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::int32_t end = p.s.ends[static_cast<std::size_t>(g)];
    const bool segments = p.s.kind == GroupKind::m_grouped;
    const std::int64_t at = segments ? begin : g * p.s.capacity;
    const std::int64_t count = p.s.kind == GroupKind::batched ? p.s.capacity
                               : segments                     ? end - begin
                                                              : end;
    begin = end;
    if (count <= 0) continue;
    const Status status = plan->run(stream, operands_of(p, x, at, count, g));
    EXPECT_TRUE(status) << status.message();
  }
  stream.wait();
  return x.d.read();
}

/// The rule by which a forced kernel may refuse.
constexpr const char* kSharedScale = "it takes weights whose scale 128 columns share";

/// All of D; nothing where the forced kernel refuses.
std::vector<float> by_groups(const Problem& p, const std::string& variant, std::string& kernel) {
  const Given& s = p.s;
  const Arrays x(p);
  const GroupedSpec spec{spec_of(s), s.kind, p.groups};
  const auto plan = GroupedPlan::create(cuda_backend(), spec, {variant});
  EXPECT_TRUE(plan) << plan.status().message();
  GroupedOperands o;
  o.arrays = operands_of(p, x, 0, s.capacity, 0);
  o.group.b = s.n * s.k;
  o.group.scale_b = p.b_blocks * p.leaves;
  if (s.kind != GroupKind::m_grouped) {
    o.group.a = s.capacity * s.k;
    o.group.d = s.capacity * s.n;
    if (s.continues) o.group.c = o.group.d;
    o.group.scale_a = s.capacity * p.leaves;
  }
  if (s.kind != GroupKind::batched) o.offsets = {x.ends.at(0), p.groups, OffsetType::i32};
  const OwnStream stream;
  RunInfo info;
  const Status status = plan->run(stream, o, {}, &info);
  kernel = info.kernel;
  if (!variant.empty() && status.message().find(kSharedScale) != std::string::npos) return {};
  EXPECT_TRUE(status) << status.message();
  stream.wait();
  return x.d.read();
}

const std::vector<Given>& setups() {
  static const std::vector<Given> all = [] {
    std::vector<Given> list;
    for (const char* contract : {"hopper/e4m3/scaled:128->fp32", "hopper/e4m3/fold:128->fp32",
                                 "hopper/e4m3/chain->fp32"}) {
      list.push_back({contract, GroupKind::batched, {0, 0, 0}, 37, 136, 272});
      list.push_back({contract, GroupKind::m_grouped, {13, 13, 90, 141}, 150, 130, 304});
      list.push_back({contract, GroupKind::m_grouped, {1, 2, 2, 130, 400}, 400, 256, 512, 1});
      list.push_back({contract, GroupKind::m_masked, {0, 37, 5, 1}, 37, 264, 384});
      list.push_back({contract, GroupKind::m_masked, {200, 129}, 200, 512, 640, 1});
    }
    list.push_back({"hopper/e4m3/scaled:128->fp32",
                    GroupKind::m_grouped,
                    {70, 71, 200},
                    210,
                    128,
                    400,
                    128,
                    true});
    return list;
  }();
  return all;
}

TEST(Fp8Groups, EveryKernelHasTheBitsOfTheElements) {
  std::set<std::string> kernels;
  int refused = 0;
  for (const Given& s : setups()) {
    const Problem p(s);
    const auto expected = by_plans(p);
    const GroupedSpec spec{spec_of(s), s.kind, p.groups};
    auto variants = cuda_backend().grouped_variants(spec);
    variants.emplace_back();  // the backend's own choice
    for (const std::string& variant : variants) {
      std::string kernel;
      const auto got = by_groups(p, variant, kernel);
      if (got.empty()) {
        ++refused;
        continue;
      }
      kernels.insert(kernel);
      EXPECT_TRUE(std::ranges::equal(got, expected,
                                     [](float x, float y) {
                                       return __builtin_bit_cast(std::uint32_t, x) ==
                                              __builtin_bit_cast(std::uint32_t, y);
                                     }))
          << s.contract << " " << name(s.kind) << " n " << s.n << " k " << s.k << ": " << kernel;
    }
  }
  EXPECT_GE(kernels.size(), 2U);
  EXPECT_LE(refused, 5) << "one tile, where columns of weights have scales of their own";
}

TEST(Fp8Groups, AnotherGroupsScalesAreSeen) {
  Problem p(setups()[1]);
  const auto expected = by_plans(p);
  std::rotate(p.sb_host.begin(), p.sb_host.begin() + p.b_blocks * p.leaves, p.sb_host.end());
  std::string kernel;
  EXPECT_NE(by_groups(p, "", kernel), expected);
}

/// Whatever offsets hold, nothing is written outside of D, and the run ends.
TEST(Fp8Groups, GarbageInOffsetsStaysInside) {
  for (const std::vector<std::int32_t>& ends :
       {std::vector<std::int32_t>{-5, 1000000, 3, 150}, {150, 0, 150, 0}, {90, 13, -1, 141}}) {
    Given s = setups()[1];
    s.ends = ends;
    const Problem p(s);
    std::string kernel;
    EXPECT_EQ(by_groups(p, "", kernel).size(), p.c_host.size());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

}  // namespace
}  // namespace detgemm

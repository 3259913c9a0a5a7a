// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The floating-point mode of the caller and of each worker changes no bit, and every thread has its
// own again after the call. All rows of an operand are equal, so that rows of workers in different
// modes can be compared.

#include "tests/support/floating_point_mode.hpp"

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "core/contract/compute_element.hpp"
#include "detgemm/detgemm.h"
#include "detgemm/grouped.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/quantize.hpp"
#include "detgemm/reference.hpp"
#include "detgemm/runtime.hpp"
#include "detgemm/snap.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm {
namespace {

using test::kModes;
using test::Mode;
using test::mode_of_thread;
using test::Random;

constexpr std::int64_t kRows = 256, kCols = 8;
using Bytes = std::vector<std::uint8_t>;

/// Every worker of Kokkos does `body(worker)` once; worker 0 is the caller.
template <class Body>
void in_workers(const Body& body) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const Space space;
  const int workers = static_cast<int>(space.concurrency());
  Kokkos::parallel_for("modes",
                       Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Static>>(
                           space, 0, static_cast<std::size_t>(workers)),
                       [=](std::size_t i) { body(static_cast<int>(i)); });
  space.fence();
}

enum class Who { caller, last_worker, all };

void set_modes(const Mode& mode, Who who) {
  const int last = static_cast<int>(Kokkos::DefaultHostExecutionSpace().concurrency()) - 1;
  in_workers([&mode, who, last](int worker) {
    const bool set = who == Who::all || worker == (who == Who::caller ? 0 : last);
    set ? test::set_mode(mode) : test::set_default_mode();
  });
}

std::vector<std::uint64_t> modes_now() {
  std::vector<std::uint64_t> modes(Kokkos::DefaultHostExecutionSpace().concurrency());
  std::uint64_t* const to = modes.data();
  in_workers([to](int worker) { to[worker] = mode_of_thread(); });
  return modes;
}

/// `compute()` under every mode, set in the caller, in one worker, in all: the bytes that it gives
/// under the default mode, and the modes as they were.
void expect_same_bits(const std::string& what, const std::function<Bytes()>& compute) {
  test::set_default_mode();
  const Bytes expected = compute();
  for (const Mode& mode : kModes) {
    for (const Who who : {Who::caller, Who::last_worker, Who::all}) {
      set_modes(mode, who);
      const auto before = modes_now();
      const Bytes got = compute();
      const auto after = modes_now();
      set_modes(kModes[0], Who::all);
      in_workers([](int) { test::set_default_mode(); });
      const std::string where =
          what + ", " + mode.name + ", " + std::to_string(static_cast<int>(who));
      ASSERT_EQ(got.size(), expected.size());
      ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0) << where;
      ASSERT_EQ(before, after) << where;
    }
  }
}

/// Numbers that a mode shows on: sums that round, and in every second line sums of subnormals.
template <DType T>
void fill(Bytes& bytes, std::int64_t lines, std::int64_t k, std::uint64_t seed, bool equal) {
  using Raw = arithmetic::Storage<T>;
  Random random(seed);
  bytes.resize(static_cast<std::size_t>(lines * k) * sizeof(Raw));
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      const bool tiny = i % 2 == 1 || j % 3 == 0;
      const Raw value =
          test::random_element<T>(random, tiny ? test::Data::subnormal : test::Data::near_one);
      std::uint8_t* const at = bytes.data() + static_cast<std::size_t>(i * k + j) * sizeof(Raw);
      if (equal && i > 0) {
        std::memcpy(at, bytes.data() + static_cast<std::size_t>(j) * sizeof(Raw), sizeof(Raw));
      } else {
        std::memcpy(at, &value, sizeof(Raw));
      }
    }
  }
}

Bytes numbers(DType type, std::int64_t lines, std::int64_t k, std::uint64_t seed, bool equal) {
  Bytes bytes;
  if (type == DType::bf16) fill<DType::bf16>(bytes, lines, k, seed, equal);
  if (type == DType::fp16) fill<DType::fp16>(bytes, lines, k, seed, equal);
  if (type == DType::fp32) fill<DType::fp32>(bytes, lines, k, seed, equal);
  if (type == DType::tf32) fill<DType::tf32>(bytes, lines, k, seed, equal);
  if (type == DType::e4m3) fill<DType::e4m3>(bytes, lines, k, seed, equal);
  if (type == DType::e5m2) fill<DType::e5m2>(bytes, lines, k, seed, equal);
  return bytes;
}

DType stored(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

/// One product with equal rows, with or without an epilogue.
class Product {
 public:
  Product(const Contract& contract, bool epilogue, std::uint64_t seed) {
    const bool scaled = contract.reduction.kind == ReductionKind::scaled;
    spec_.contract = contract;
    spec_.n = kCols;
    spec_.k = contract.reduction.leaf_k > 0 ? 2 * contract.reduction.leaf_k + 5 : 83;
    spec_.op_b = Op::transpose;
    const DType in = stored(contract.input);
    a_ = numbers(contract.input, kRows, spec_.k, seed, true);
    b_ = numbers(contract.input, kCols, spec_.k, seed + 1, false);
    operands_.a = row_major(static_cast<const void*>(a_.data()), kRows, spec_.k, in);
    operands_.b = row_major(static_cast<const void*>(b_.data()), kCols, spec_.k, in);
    if (epilogue) {
      c_ = numbers(contract.output, kRows, kCols, seed + 2, true);
      bias_ = numbers(DType::fp32, 1, kCols, seed + 3, false);
      spec_.alpha = 0.3F;
      spec_.beta = 0x1.8p-130F;  // subnormal
      spec_.bias = DType::fp32;
      spec_.activation = Activation::gelu;
      operands_.c = row_major(static_cast<const void*>(c_.data()), kRows, kCols, contract.output);
      operands_.bias = {bias_.data(), kCols, DType::fp32};
      spec_.line_scales = contract.reduction.kind == ReductionKind::chain;
    }
    if (scaled || spec_.line_scales) {
      const std::int64_t leaves = spec_.scale_leaves();
      scales_ = numbers(DType::fp32, kRows + kCols, leaves, seed + 4, true);
      operands_.scale_a = {scales_.data(), ScaleType::fp32, 1, kRows, leaves, leaves, 1};
      operands_.scale_b = {scales_.data(), ScaleType::fp32, 1, kCols, leaves, leaves, 1};
    }
  }

  /// A new plan each time: the mode of its making does not enter either.
  Bytes run(const Backend& backend, const std::string& variant) {
    auto plan = Plan::create(backend, spec_, PlanOptions{variant, 0});
    EXPECT_TRUE(plan) << plan.status().message();
    if (!plan) return {};
    const std::size_t size = size_of(spec_.contract.output);
    Bytes d(static_cast<std::size_t>(kRows * kCols) * size, 0x5a);
    operands_.d = row_major(static_cast<void*>(d.data()), kRows, kCols, spec_.contract.output);
    const std::size_t bytes = *plan->workspace_bytes(kRows);
    void* const scratch = *host_device().allocate(bytes);
    const Status status = plan->run({}, operands_, {scratch, bytes});
    host_device().release(scratch);
    EXPECT_TRUE(status) << status.message();
    for (std::int64_t i = 1; i < kRows; ++i) {
      const std::size_t row = static_cast<std::size_t>(kCols) * size;
      EXPECT_EQ(std::memcmp(d.data(), d.data() + static_cast<std::size_t>(i) * row, row), 0)
          << "row " << i << " of " << spec_.contract.text();
    }
    return d;
  }

  const GemmSpec& spec() const { return spec_; }
  const Operands& operands() const { return operands_; }

 private:
  GemmSpec spec_;
  Operands operands_;
  Bytes a_, b_, c_, bias_, scales_;
};

std::vector<Contract> contracts() {
  std::vector<Contract> list;
  for (int a = 0; a < 16; ++a) {
    const auto arithmetic = static_cast<Arithmetic>(a);
    if (name(arithmetic) == "unknown") break;
    for (const DType input :
         {DType::bf16, DType::fp16, DType::fp32, DType::tf32, DType::e4m3, DType::e5m2}) {
      for (const auto kind : {ReductionKind::chain, ReductionKind::fold, ReductionKind::tree,
                              ReductionKind::scaled}) {
        for (const DType output : {DType::bf16, DType::fp16, DType::fp32}) {
          const Reduction reduction{kind, kind == ReductionKind::chain ? 0 : 64};
          const auto contract = Contract::make(arithmetic, input, reduction, output);
          if (contract) list.push_back(*contract);
        }
      }
    }
  }
  return list;
}

class FloatingPointMode : public testing::TestWithParam<Contract> {};

TEST_P(FloatingPointMode, ChangesNoBitOfAProduct) {
  for (const bool epilogue : {false, true}) {
    Product product(GetParam(), epilogue, 7);
    expect_same_bits(GetParam().text(), [&] { return product.run(reference_backend(), ""); });
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, FloatingPointMode, testing::ValuesIn(contracts()),
                         [](const auto& info) {
                           std::string text = info.param.text();
                           for (char& c : text) c = std::isalnum(c) != 0 ? c : '_';
                           return text;
                         });

TEST(FloatingPointModes, ChangeNoBitOfAnyVariant) {
  for (const char* text : {"ieee_fma/fp32/tree:64->fp32", "hopper/bf16/chain->bf16"}) {
    Product product(*Contract::parse(text), true, 9);
    for (const std::string& variant : reference_backend().variants(product.spec())) {
      expect_same_bits(variant, [&] { return product.run(reference_backend(), variant); });
    }
    expect_same_bits("skeleton", [&] { return product.run(skeleton_backend(), ""); });
  }
}

/// The data shows every mode: the definition itself, without a plan around it, has other bits.
TEST(FloatingPointModes, ChangeBitsOfTheBareDefinition) {
  Product product(*Contract::parse("ieee_fma/fp32/chain->fp32"), false, 7);
  Bytes d(static_cast<std::size_t>(kRows * kCols) * 4);
  Operands operands = product.operands();
  operands.d = row_major(static_cast<void*>(d.data()), 1, kCols, DType::fp32);
  const auto compute = [&] {
    std::fill(d.begin(), d.end(), std::uint8_t{0});
    for (std::int64_t col = 0; col < kCols; ++col) {
      compute_element<Arithmetic::ieee_fma, DType::fp32>(flatten(product.spec(), operands), {}, 0,
                                                         col);
    }
    return d;
  };
  test::set_default_mode();
  const Bytes expected = compute();
  for (const Mode& mode : kModes) {
    test::set_mode(mode);
    const Bytes got = compute();
    test::set_default_mode();
    EXPECT_NE(got, expected) << mode.name;
  }
}

TEST(FloatingPointModes, ChangeNoBitOfGroups) {
  for (const char* variant : {"", "scalar"}) {
    Product one(*Contract::parse("ieee_fma/fp32/chain->fp32"), false, 11);
    GroupedSpec spec;
    spec.kind = GroupKind::m_grouped;
    spec.gemm = one.spec();
    spec.groups = 2;
    const std::vector<std::int64_t> ends{kRows / 2 + 3, kRows};
    expect_same_bits("groups", [&] {
      auto plan = GroupedPlan::create(reference_backend(), spec, PlanOptions{variant, 0});
      EXPECT_TRUE(plan) << plan.status().message();
      Bytes d(static_cast<std::size_t>(kRows * kCols) * 4);
      GroupedOperands x;
      x.arrays = one.operands();
      x.arrays.d = row_major(static_cast<void*>(d.data()), kRows, kCols, DType::fp32);
      x.offsets = {ends.data(), 2, OffsetType::i64};
      const std::size_t bytes = *plan->workspace_bytes(kRows, 0);
      void* const scratch = *host_device().allocate(bytes);
      const Status status = plan->run({}, x, {scratch, bytes});
      host_device().release(scratch);
      EXPECT_TRUE(status) << status.message();
      return d;
    });
  }
}

TEST(FloatingPointModes, ChangeNoBitOfACombine) {
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/fp32/tree:64->bf16");
  spec.n = kCols;
  spec.k = 256;
  const Bytes roots = numbers(DType::fp32, 2, kRows * kCols, 13, false);
  const auto plan = Plan::create(reference_backend(), spec);
  ASSERT_TRUE(plan);
  expect_same_bits("combine", [&] {
    Bytes d(static_cast<std::size_t>(kRows * kCols) * 2);
    Operands operands;
    operands.d = row_major(static_cast<void*>(d.data()), kRows, kCols, DType::bf16);
    const std::size_t half = roots.size() / 2;
    const std::vector<ConstMatrix> views{
        row_major(static_cast<const void*>(roots.data()), kRows, kCols, DType::fp32),
        row_major(static_cast<const void*>(roots.data() + half), kRows, kCols, DType::fp32)};
    const std::size_t bytes = *plan->workspace_bytes(kRows);
    void* const scratch = *host_device().allocate(bytes);
    const Status status = plan->combine({}, views, operands, {scratch, bytes});
    host_device().release(scratch);
    EXPECT_TRUE(status) << status.message();
    return d;
  });
}

TEST(FloatingPointModes, ChangeNoBitOfQuantizeAndSnap) {
  constexpr std::int64_t kLeaf = 128, kK = 300;
  const Bytes from = numbers(DType::fp32, kRows, kK, 17, false);
  expect_same_bits("quantize", [&] {
    Bytes q(static_cast<std::size_t>(kRows * kK));
    std::vector<float> scales(static_cast<std::size_t>(kRows * 3));
    const Status status =
        quantize(reference_backend(), {}, {kLeaf, 1, KDimension::cols},
                 row_major(static_cast<const void*>(from.data()), kRows, kK, DType::fp32),
                 row_major(static_cast<void*>(q.data()), kRows, kK, DType::e4m3),
                 {scales.data(), ScaleType::fp32, kRows, 3, 3, 1});
    EXPECT_TRUE(status) << status.message();
    const auto* first = reinterpret_cast<const std::uint8_t*>(scales.data());
    q.insert(q.end(), first, first + scales.size() * sizeof(float));
    return q;
  });
  const Bytes narrow = numbers(DType::bf16, kRows, kK, 19, false);
  expect_same_bits("snap", [&] {
    Bytes to(narrow.size() + 1);
    const SnapSpec spec{.leaf_k = kLeaf};
    const Matrix out = row_major(static_cast<void*>(to.data()), kRows, kK, DType::bf16);
    const Status status =
        snap(reference_backend(), {}, spec,
             row_major(static_cast<const void*>(narrow.data()), kRows, kK, DType::bf16), out);
    EXPECT_TRUE(status) << status.message();
    const auto is = is_snapped(reference_backend(), {}, spec, out);
    EXPECT_TRUE(is && *is);
    to.back() = is && *is ? 1 : 0;
    return to;
  });
}

/// In C: a subnormal beta is a number, and C is read.
TEST(FloatingPointModes, ChangeNoBitOfTheCall) {
  const Bytes a = numbers(DType::fp32, kRows, 83, 23, true),
              b = numbers(DType::fp32, 83, kCols, 24, false);
  std::vector<float> c(static_cast<std::size_t>(kRows * kCols), 0x1p+20F);
  expect_same_bits("detgemm_gemm", [&] {
    Bytes d(c.size() * sizeof(float));
    detgemm_contract_t contract{};
    detgemm_contract_init(&contract, sizeof contract);
    detgemm_contract_parse("ieee_fma/fp32/chain->fp32", &contract);
    const detgemm_const_matrix_t av{sizeof av, DETGEMM_FP32, a.data(), kRows, 83, 83, 1};
    const detgemm_const_matrix_t bv{sizeof bv, DETGEMM_FP32, b.data(), 83, kCols, kCols, 1};
    const detgemm_const_matrix_t cv{sizeof cv, DETGEMM_FP32, c.data(), kRows, kCols, kCols, 1};
    const detgemm_matrix_t dv{sizeof dv, DETGEMM_FP32, d.data(), kRows, kCols, kCols, 1};
    detgemm_gemm_options_t options{};
    detgemm_gemm_options_init(&options, sizeof options);
    options.alpha = 0x1p-126F;
    options.beta = 0x1p-140F;
    options.c = &cv;
    EXPECT_EQ(detgemm_gemm(nullptr, &av, &bv, &dv, &contract, &options), DETGEMM_OK)
        << detgemm_last_error();
    return d;
  });
}

}  // namespace
}  // namespace detgemm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto runtime = detgemm::Runtime::start({4});
  if (!runtime) return 1;
  return RUN_ALL_TESTS();
}

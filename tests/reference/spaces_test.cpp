// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The contract on every execution space this Kokkos has (Serial, OpenMP, CUDA, HIP ...): the
// scalar definition, one output per work item, must give the bits of the tile kernels.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <cstring>

#include "backends/reference/element_kernel.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm {
namespace {

using arithmetic::Storage;
using test::Data;
using test::Random;

constexpr std::int64_t kM = 37;
constexpr std::int64_t kN = 53;
constexpr std::int64_t kK = 203;

struct Problem {
  GemmSpec spec;
  std::vector<unsigned char> a, b;
  std::vector<float> bias;
  DType stored;
};

template <Arithmetic A, DType T>
Problem make_problem(const Contract& contract, Data data, std::uint64_t seed) {
  Random random(seed);
  Problem p;
  p.spec.n = kN;
  p.spec.k = kK;
  p.spec.contract = contract;
  p.spec.op_b = Op::transpose;
  p.spec.alpha = 0.75F;
  p.spec.bias = DType::fp32;
  p.spec.activation = static_cast<Activation>(random.below(5));
  p.stored = T == DType::tf32 ? DType::fp32 : T;
  const auto copy = [](const auto& from, std::vector<unsigned char>& to) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(from.data());
    to.assign(bytes, bytes + from.size() * sizeof(from[0]));
  };
  copy(test::random_elements<T>(random, data, kM * kK), p.a);
  copy(test::random_elements<T>(random, data, kN * kK), p.b);
  for (Storage<DType::fp32> bits : test::random_elements<DType::fp32>(random, Data::near_one, kN)) {
    p.bias.push_back(arithmetic::float_of(bits));
  }
  return p;
}

std::vector<float> on_tiles(const Problem& p) {
  std::vector<float> d(static_cast<std::size_t>(kM * kN));
  const auto plan = Plan::create(reference_backend(), p.spec);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const std::size_t bytes = *plan->workspace_bytes(kM);
  void* scratch = *host_device().allocate(bytes);
  Operands operands{row_major(p.a.data(), kM, kK, p.stored),
                    row_major(p.b.data(), kN, kK, p.stored),
                    row_major(d.data(), kM, kN, DType::fp32)};
  operands.bias = {p.bias.data(), kN, DType::fp32};
  const Status status = plan->run({}, operands, {scratch, bytes});
  EXPECT_TRUE(status.ok()) << status.message();
  host_device().release(scratch);
  return d;
}

/// Copies host bytes to the space's memory.
template <class Space>
auto upload(const void* data, std::size_t bytes) {
  Kokkos::View<unsigned char*, typename Space::memory_space> view("detgemm_test", bytes);
  Kokkos::View<const unsigned char*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> host(
      static_cast<const unsigned char*>(data), bytes);
  Kokkos::deep_copy(view, host);
  return view;
}

template <class Space, Arithmetic A, DType T>
std::vector<float> on_space(const Problem& p) {
  std::vector<float> d(static_cast<std::size_t>(kM * kN), -7.0F);
  auto a = upload<Space>(p.a.data(), p.a.size());
  auto b = upload<Space>(p.b.data(), p.b.size());
  auto bias = upload<Space>(p.bias.data(), p.bias.size() * sizeof(float));
  auto out = upload<Space>(d.data(), d.size() * sizeof(float));
  Operands operands{row_major(a.data(), kM, kK, p.stored), row_major(b.data(), kN, kK, p.stored),
                    row_major(static_cast<void*>(out.data()), kM, kN, DType::fp32)};
  operands.bias = {bias.data(), kN, DType::fp32};
  reference::launch_elements<Space, A, T>(Space(), flatten(p.spec, operands), ScalePair{});
  Space().fence();
  Kokkos::View<unsigned char*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> host(
      reinterpret_cast<unsigned char*>(d.data()), d.size() * sizeof(float));
  Kokkos::deep_copy(host, out);
  return d;
}

template <class Space>
class Spaces : public testing::Test {};

using AllSpaces = testing::Types<
#ifdef KOKKOS_ENABLE_OPENMP
    Kokkos::OpenMP,
#endif
#ifdef KOKKOS_ENABLE_THREADS
    Kokkos::Threads,
#endif
#ifdef KOKKOS_ENABLE_CUDA
    Kokkos::Cuda,
#endif
#ifdef KOKKOS_ENABLE_HIP
    Kokkos::HIP,
#endif
#ifdef KOKKOS_ENABLE_SERIAL
    Kokkos::Serial
#else
    Kokkos::DefaultHostExecutionSpace
#endif
    >;
TYPED_TEST_SUITE(Spaces, AllSpaces);

TYPED_TEST(Spaces, SameBitsAsTheTiles) {
  std::int64_t compared = 0;
  for (Contract contract : base_contracts()) {
    for (ReductionKind kind : {ReductionKind::chain, ReductionKind::fold, ReductionKind::tree}) {
      contract.reduction = {kind, kind == ReductionKind::chain ? 0 : 32};
      arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic A, DType T>() {
        for (Data data : test::kAllData) {
          const Problem p = make_problem<A, T>(contract, data, 11 + static_cast<int>(data));
          const std::vector<float> want = on_tiles(p);
          const std::vector<float> got = on_space<TypeParam, A, T>(p);
          EXPECT_EQ(0, std::memcmp(got.data(), want.data(), got.size() * sizeof(float)))
              << contract.text() << " data " << static_cast<int>(data);
          compared += kM * kN;
        }
      });
    }
  }
  testing::Test::RecordProperty("outputs", std::to_string(compared));
  EXPECT_GT(compared, 500'000);
}

}  // namespace
}  // namespace detgemm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Kokkos::initialize(argc, argv);
  const int result = RUN_ALL_TESTS();
  Kokkos::finalize();
  return testing::UnitTest::GetInstance()->test_to_run_count() == 0 ? 3 : result;
}

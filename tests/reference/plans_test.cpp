// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Plans of the reference, on the host and on Kokkos's device space where there is one: the same
// bits from every kernel, in run and in combine, by no more workers than were asked for.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "backends/reference/element_kernel.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

constexpr std::int64_t kM = 19;
constexpr std::int64_t kN = 45;
constexpr std::int64_t kLeaf = 32;

/// A backend and one of its kernels.
struct Way {
  const Backend* backend;
  const char* variant;
};

std::vector<Way> ways() {
  std::vector<Way> list{{&reference_backend(), ""}, {&reference_backend(), "scalar"}};
  if (const Backend* device = reference_device_backend()) list.push_back({device, "elements"});
  return list;
}

/// Memory of a backend's device with what the host has.
class There {
 public:
  There(Device& device, const void* data, std::size_t bytes)
      : device_(device), data_(*device.allocate(bytes)) {
    EXPECT_TRUE(device.to_device(data_, data, bytes).ok());
  }
  There(const There&) = delete;
  There& operator=(const There&) = delete;
  ~There() { device_.release(data_); }
  void* data() const { return data_; }

 private:
  Device& device_;
  void* data_;
};

std::vector<float> random_floats(std::uint64_t seed, std::int64_t count) {
  test::Random random(seed);
  std::vector<float> list;
  for (auto bits : test::random_elements<DType::fp32>(random, test::Data::near_one, count)) {
    list.push_back(arithmetic::float_of(bits));
  }
  return list;
}

GemmSpec spec_of(const char* contract, std::int64_t k) {
  GemmSpec spec;
  spec.n = kN;
  spec.k = k;
  spec.contract = *Contract::parse(contract);
  spec.op_b = Op::transpose;
  return spec;
}

Plan plan_of(const Way& way, const GemmSpec& spec, int max_workers) {
  PlanOptions options;
  options.variant = way.variant;
  options.max_workers = max_workers;
  auto plan = Plan::create(*way.backend, spec, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

/// D by `call(plan, stream, d, workspace)`.
template <class Call>
std::vector<float> output(const Plan& plan, Call&& call) {
  Device& device = plan.backend().device();
  std::vector<float> d(static_cast<std::size_t>(kM * kN), -7.0F);
  const std::size_t bytes = *plan.workspace_bytes(kM);
  const std::vector<unsigned char> noise(bytes, 0xa5);
  const There there(device, d.data(), d.size() * sizeof(float));
  const There scratch(device, noise.data(), bytes);
  const Stream stream = *device.create_stream();
  const Status status =
      call(stream, row_major(there.data(), kM, kN, DType::fp32), Workspace{scratch.data(), bytes});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(device.synchronize(stream).ok());
  EXPECT_TRUE(device.to_host(d.data(), there.data(), d.size() * sizeof(float)).ok());
  device.destroy_stream(stream);
  return d;
}

std::vector<float> run(const Way& way, const GemmSpec& spec, int max_workers) {
  const Plan plan = plan_of(way, spec, max_workers);
  const auto a = random_floats(1, kM * spec.k);
  const auto b = random_floats(2, kN * spec.k);
  Device& device = way.backend->device();
  const There there_a(device, a.data(), a.size() * sizeof(float));
  const There there_b(device, b.data(), b.size() * sizeof(float));
  const Operands operands{
      row_major(static_cast<const void*>(there_a.data()), kM, spec.k, DType::fp32),
      row_major(static_cast<const void*>(there_b.data()), kN, spec.k, DType::fp32),
      {}};
  return output(plan, [&](Stream stream, const Matrix& d, Workspace workspace) {
    Operands with_d = operands;
    with_d.d = d;
    return plan.run(stream, with_d, workspace);
  });
}

std::vector<float> combine(const Way& way, const GemmSpec& spec, int roots, int max_workers) {
  const Plan plan = plan_of(way, spec, max_workers);
  Device& device = way.backend->device();
  std::vector<std::unique_ptr<There>> there;
  std::vector<ConstMatrix> list;
  for (int i = 0; i < roots; ++i) {
    const auto root = random_floats(100 + static_cast<std::uint64_t>(i), kM * kN);
    there.push_back(std::make_unique<There>(device, root.data(), root.size() * sizeof(float)));
    const void* const data = there.back()->data();
    list.push_back(i % 2 == 0 ? row_major(data, kM, kN, DType::fp32)
                              : col_major(data, kM, kN, DType::fp32));
  }
  return output(plan, [&](Stream stream, const Matrix& d, Workspace workspace) {
    Operands operands;
    operands.d = d;
    return plan.combine(stream, list, operands, workspace);
  });
}

bool same(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

TEST(Plans, EveryKernelGivesTheSameBits) {
  const GemmSpec chain = spec_of("ieee_fma/fp32/chain->fp32", 203);
  const GemmSpec tree = spec_of("hopper/tf32/tree:32->fp32", 203);
  for (const GemmSpec& spec : {chain, tree}) {
    const auto want = run(ways().front(), spec, 0);
    for (const Way& way : ways()) {
      for (int workers : {0, 1, 3}) {
        EXPECT_TRUE(same(run(way, spec, workers), want))
            << way.backend->name() << " " << way.variant << " workers " << workers;
      }
    }
  }
}

TEST(Plans, CombineGivesTheSameBits) {
  for (int roots : {1, 2, 8, 16, 64}) {  // few enough to be a kernel's arguments, and too many
    const GemmSpec spec = spec_of("hopper/tf32/tree:32->fp32", 64 * kLeaf);
    const auto want = combine(ways().front(), spec, roots, 0);
    for (const Way& way : ways()) {
      for (int workers : {0, 1, 3}) {
        EXPECT_TRUE(same(combine(way, spec, roots, workers), want))
            << way.backend->name() << " " << way.variant << " roots " << roots;
      }
    }
  }
}

TEST(Plans, DeviceBackendIsFoundOrMissedInASentence) {
  const auto found = find_backend("reference-device");
  if (reference_device_backend() != nullptr) {
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, reference_device_backend());
    EXPECT_EQ(*found, backends().back());
    EXPECT_NE((*found)->device().kind(), DeviceKind::host);
  } else {
    EXPECT_NE(found.status().message().find("Kokkos 4.0 or newer with Cuda or HIP"),
              std::string::npos);
    for (const Backend* backend : backends()) EXPECT_NE(backend, nullptr);
  }
}

TEST(Workers, PiecesCoverEverything) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  for (std::int64_t total : {std::int64_t{1}, std::int64_t{7}, std::int64_t{64}, huge}) {
    for (std::int64_t pieces : {1, 2, 3, 7, 4096}) {
      EXPECT_EQ(reference::piece_begin(total, pieces, 0), 0);
      EXPECT_EQ(reference::piece_begin(total, pieces, pieces), total);
      for (std::int64_t i = 0; i < pieces; ++i) {
        const std::int64_t size =
            reference::piece_begin(total, pieces, i + 1) - reference::piece_begin(total, pieces, i);
        EXPECT_TRUE(size == total / pieces || size == total / pieces + 1);
      }
    }
  }
}

/// Who computed which output.
struct Witness {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> times;
};
struct Seen {
  Witness* witness;
  void operator()(std::int64_t i) const {
    const std::scoped_lock lock(witness->mutex);
    witness->threads.insert(std::this_thread::get_id());
    ++witness->times[static_cast<std::size_t>(i)];
  }
};

TEST(Workers, NoMoreThreadsThanItems) {
  for (std::int64_t items : {0, 1, 2, 3, 1000}) {
    Witness witness;
    witness.times.resize(100);
    reference::for_each_output("test", Host(), 100, items, Seen{&witness});
    Host().fence();
    EXPECT_EQ(witness.times, std::vector<int>(100, 1));
    const auto most = static_cast<std::size_t>(items > 0 ? items : Host().concurrency());
    EXPECT_LE(witness.threads.size(), most);
    if (items == 1) {
      EXPECT_EQ(*witness.threads.begin(), std::this_thread::get_id());
    }
  }
}

std::atomic<int> g_dispatches{0};
void count_dispatch(const char*, const std::uint32_t, std::uint64_t*) { ++g_dispatches; }

TEST(Workers, OneWorkerIsTheCaller) {
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(count_dispatch);
  const GemmSpec spec = spec_of("hopper/tf32/tree:32->fp32", 64 * kLeaf);
  for (const char* variant : {"", "scalar"}) {
    const Way way{&reference_backend(), variant};
    for (int workers : {0, 1}) {
      const bool alone = workers == 1 || Host().concurrency() == 1;
      g_dispatches = 0;
      run(way, spec, workers);
      EXPECT_EQ(g_dispatches, alone ? 0 : 1) << "run, variant " << variant;
      g_dispatches = 0;
      combine(way, spec, 64, workers);
      EXPECT_EQ(g_dispatches, alone ? 0 : 1) << "combine, variant " << variant;
    }
  }
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
}

}  // namespace
}  // namespace detgemm

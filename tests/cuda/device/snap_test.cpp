// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Contracts of snap: the kernels that snap, products on tensor cores and on CUDA cores, and
// mistakes that the comparison must see.

#include "core/arithmetic/snap.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "detgemm/snap.hpp"
#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

using Numbers = std::vector<std::uint16_t>;

Numbers numbers_of(const Array& array) {
  const auto bytes = array.bytes();
  Numbers numbers(bytes.size() / 2);
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}
void put(const Array& array, const Numbers& numbers) {
  EXPECT_EQ(cudaMemcpy(array.data(), numbers.data(), numbers.size() * 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  // From memory that is not pinned the copy may return before it has arrived.
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/// A stored matrix between elements that nobody may touch.
struct Stored {
  std::int64_t vectors, k, pitch;  ///< `pitch`: between vectors, or between numbers along k
  bool along;
  std::size_t first;

  std::size_t size() const {
    return first + static_cast<std::size_t>((along ? vectors : k) * pitch) + 64;
  }
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return first + static_cast<std::size_t>(along ? i * pitch + j : j * pitch + i);
  }
  Matrix view(const Array& array) const {
    void* data = static_cast<std::uint16_t*>(array.data()) + first;
    return along ? row_major(data, vectors, k, DType::bf16, pitch)
                 : row_major(data, k, vectors, DType::bf16, pitch);
  }
};

Numbers snapped_by_the_rule(const Stored& s, Numbers numbers, std::int64_t leaf_k) {
  for (std::int64_t i = 0; i < s.vectors; ++i) {
    for (std::int64_t begin = 0; begin < s.k; begin += leaf_k) {
      arithmetic::snap_leaf(
          std::min(leaf_k, s.k - begin),
          [&](std::int64_t j) { return numbers[s.at(i, begin + j)]; },
          [&](std::int64_t j, std::uint16_t bits) { numbers[s.at(i, begin + j)] = bits; });
    }
  }
  return numbers;
}

/// Every length of leaf that has a kernel of its own, both ways in which memory runs, in place and
/// not, aligned and at odd addresses, and all kinds of data: the rule's bits and no others.
TEST(Snap, AMatrixHasTheRulesBits) {
  const OwnStream stream;
  std::uint64_t key = 1;
  long compared = 0;
  for (const std::int64_t leaf_k : {64, 128, 192, 256, 512, 1024, 1088, 4096}) {
    for (const std::int64_t k : {std::int64_t{1}, leaf_k - 3, leaf_k, 5 * leaf_k + 77}) {
      for (int bits = 0; bits < 8; ++bits) {
        const bool along = (bits & 1) != 0, odd = (bits & 2) != 0, in_place = (bits & 4) != 0;
        // Many vectors now and then: warps take several leaves then.
        const std::int64_t vectors = k < 200 || bits == 1 ? 3000 : 70;
        const std::int64_t run = along ? k : vectors;
        const Stored s{vectors, k, odd ? run + 3 : (run + 7) / 8 * 8, along, odd ? 13U : 16U};
        const Array from(s.size() * 2), to(s.size() * 2);
        const auto data = static_cast<Data>(key % kDataKinds);
        const Lines lines{static_cast<std::uint16_t*>(from.data()) + s.first,
                          along ? Strides{s.pitch, 1} : Strides{1, s.pitch}, vectors, k};
        ASSERT_EQ(fill(lines, {data, DType::bf16, ++key, 3, false}, stream.get()), cudaSuccess);
        stream.wait();
        const Numbers before = numbers_of(from);
        const SnapSpec spec{leaf_k, along ? KDimension::cols : KDimension::rows};
        const Array& out = in_place ? from : to;
        if (!in_place) put(to, before);
        EXPECT_OK(snap(cuda_backend(), stream, spec, s.view(from), s.view(out)));
        stream.wait();
        const Numbers expected = snapped_by_the_rule(s, before, leaf_k);
        ASSERT_EQ(numbers_of(out), expected)
            << vectors << " vectors of " << k << ", leaf " << leaf_k << ", case " << bits;
        EXPECT_TRUE(in_place || numbers_of(from) == before);
        compared += static_cast<long>(vectors * k);
        const auto again = is_snapped(cuda_backend(), stream, spec, s.view(out));
        ASSERT_TRUE(again);
        EXPECT_TRUE(*again);
      }
    }
  }
  EXPECT_GE(compared, 10'000'000);
}

/// The result may lie the other way round than the matrix.
TEST(Snap, AResultMayBeTransposedInMemory) {
  const Stored rows{50, 700, 701, true, 1}, columns{50, 700, 53, false, 5};
  const Array from(rows.size() * 2), to(columns.size() * 2);
  const Lines lines{static_cast<std::uint16_t*>(from.data()) + 1, {701, 1}, 50, 700};
  ASSERT_EQ(fill(lines, {Data::windows, DType::bf16, 3}, nullptr), cudaSuccess);
  const OwnStream stream;
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  Matrix out = columns.view(to);  // 700 x 50, the same elements as 50 x 700
  out = {out.data, 50, 700, 1, columns.pitch, DType::bf16};
  EXPECT_OK(snap(cuda_backend(), stream, {128, KDimension::cols}, rows.view(from), out));
  stream.wait();
  const Numbers expected = snapped_by_the_rule(rows, numbers_of(from), 128);
  const Numbers got = numbers_of(to);
  for (std::int64_t i = 0; i < 50; ++i) {
    for (std::int64_t j = 0; j < 700; ++j) {
      ASSERT_EQ(got[columns.at(i, j)], expected[rows.at(i, j)]) << i << " " << j;
    }
  }
}

std::vector<std::uint8_t> expected_of(const Product& p) {
  const Array out = p.output();
  EXPECT_EQ(oracle(flatten(p.spec, p.operands(out.data())), DType::bf16, nullptr, Arithmetic::snap),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return out.bytes();
}

struct Scratch {
  Scratch(const Plan& plan, std::int64_t m) : bytes(*plan.workspace_bytes(m)), memory(bytes + 1) {}
  Workspace workspace() const { return {bytes != 0 ? memory.data() : nullptr, bytes}; }
  std::size_t bytes;
  Array memory;
};

std::vector<std::uint8_t> run_plan(const GemmSpec& spec, const Product& p, const Operands& operands,
                                   const PlanOptions& options = {}, std::string* kernel = nullptr) {
  const Plan plan = plan_of(spec, options);
  const Scratch scratch(plan, p.m);
  const OwnStream stream;
  Operands with = operands;
  const Array d = p.output();
  with.d.data = d.data();
  RunInfo info;
  const Status s = plan.run(stream, with, scratch.workspace(), &info);
  stream.wait();
  if (kernel != nullptr) *kernel = info.kernel;
  if (s.code() == Errc::unsupported) return {};
  EXPECT_OK(s);
  return d.bytes();
}

/// Tensor cores and CUDA cores, every kernel that there is, with each promise.
TEST(Snap, EveryKernelHasTheOraclesBits) {
  for (const char* contract :
       {"snap/bf16/tree:256->fp32", "snap/bf16/fold:128->fp32", "snap/bf16/fold:512->bf16"}) {
    const GemmSpec spec = spec_of(contract, 96, 256 * 8);
    const Product p(spec, 16, 9);
    const auto expected = expected_of(p);
    int on_tensor_cores = 0, on_cuda_cores = 0;
    for (const std::string& variant : cuda_backend().variants(spec)) {
      std::string kernel;
      const auto got = run_plan(spec, p, p.operands(), {variant}, &kernel);
      if (got.empty()) continue;
      EXPECT_EQ(got, expected) << kernel;
      EXPECT_TRUE(kernel.ends_with("/snap")) << kernel;
      (kernel.starts_with("simt/") ? on_cuda_cores : on_tensor_cores)++;
    }
    EXPECT_GE(on_tensor_cores, 5) << contract;
    EXPECT_GE(on_cuda_cores, 4) << contract;
  }
}

/// Operands that were snapped before, and the promise: the same bits, and nothing snaps them again.
TEST(Snap, PromisedOperandsGiveTheSameBits) {
  const GemmSpec spec = spec_of("snap/bf16/fold:128->fp32", 200, 1000);
  const Product p(spec, 70, 21);
  const auto expected = expected_of(p);
  const Array a(Product::bytes_of(70 * 1000, DType::bf16));
  const Array b(Product::bytes_of(1000 * 200, DType::bf16));
  const OwnStream stream;
  Operands operands = p.operands();
  Operands once = operands;
  once.a.data = a.data();
  once.b.data = b.data();
  const auto writable = [](const ConstMatrix& view, const Array& to) {
    return row_major(to.data(), view.rows, view.cols, view.dtype);
  };
  EXPECT_OK(snap(cuda_backend(), stream, {128, KDimension::cols}, operands.a, writable(once.a, a)));
  EXPECT_OK(snap(cuda_backend(), stream, {128, KDimension::rows}, operands.b, writable(once.b, b)));
  stream.wait();
  for (int promises = 0; promises < 4; ++promises) {
    GemmSpec with = spec;
    with.a_snapped = (promises & 1) != 0;
    with.b_snapped = (promises & 2) != 0;
    Operands mixed = operands;
    if (with.a_snapped) mixed.a = once.a;
    if (with.b_snapped) mixed.b = once.b;
    for (const Stable stable : {Stable::none, Stable::a, Stable::b}) {
      PlanOptions options;
      options.stable = stable;
      std::string kernel;
      EXPECT_EQ(run_plan(with, p, mixed, options, &kernel), expected) << kernel;
      EXPECT_EQ(kernel.find("/snap") == std::string::npos, promises == 3) << kernel;
    }
    // A promise that is not kept is seen.
    EXPECT_EQ(run_plan(with, p, operands) == expected, promises == 0);
  }
}

/// k in any order inside of its leaves, for every kernel: the sums are exact.
TEST(Snap, AnyOrderInsideALeafGivesTheSameBits) {
  constexpr std::int64_t kM = 48, kN = 96, kK = 1500, kLeaf = 256;
  for (const char* contract : {"snap/bf16/fold:256->fp32", "snap/bf16/tree:256->fp32"}) {
    const GemmSpec spec = spec_of(contract, kN, kK);
    const Product p(spec, kM, 31);
    const auto expected = expected_of(p);
    const Numbers a = numbers_of(p.a), b = numbers_of(p.b);
    std::mt19937_64 random(5);
    int seen = 0;
    for (int turn = 0; turn < 10; ++turn) {
      std::vector<std::size_t> order(kK);
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::int64_t begin = 0; begin < kK; begin += kLeaf) {
        std::shuffle(order.begin() + begin, order.begin() + std::min(kK, begin + kLeaf), random);
      }
      Numbers x = a, y = b;
      for (std::size_t j = 0; j < kK; ++j) {
        for (std::size_t i = 0; i < kM; ++i) x[i * kK + j] = a[i * kK + order[j]];
        for (std::size_t i = 0; i < kN; ++i) y[j * kN + i] = b[order[j] * kN + i];
      }
      put(p.a, x);
      put(p.b, y);
      const auto variants = cuda_backend().variants(spec);
      for (std::size_t i = 0; i < variants.size(); ++i) {
        if (mix(i + static_cast<std::size_t>(turn)) % 2 != 0) continue;
        std::string kernel;
        const auto got = run_plan(spec, p, p.operands(), {variants[i]}, &kernel);
        if (got.empty()) continue;
        EXPECT_EQ(got, expected) << kernel;
        ++seen;
      }
      // Without snapping the order would show.
      GemmSpec plain = spec;
      plain.contract =
          *Contract::make(Arithmetic::hopper, DType::bf16, spec.contract.reduction, DType::fp32);
      EXPECT_NE(run_plan(plain, p, p.operands()), expected);
    }
    EXPECT_GE(seen, 20);
  }
}

/// Sums that cancel are +0, whatever the signs of the zeros that went in.
TEST(Snap, AZeroSumIsPositive) {
  constexpr std::int64_t kM = 64, kN = 64, kK = 512;
  for (const char* contract :
       {"snap/bf16/fold:128->fp32", "snap/bf16/tree:128->fp32", "snap/bf16/fold:512->fp32"}) {
    const GemmSpec spec = spec_of(contract, kN, kK);
    const Product p(spec, kM, 1);
    Numbers a(kM * kK), b(kK * kN);
    std::mt19937_64 random(6);
    for (std::uint16_t& x : a) x = random() % 2 != 0 ? 0x8000 : 0;
    for (std::uint16_t& x : b) x = static_cast<std::uint16_t>(0x3f80U | (random() & 0x807fU));
    for (std::size_t i = 0; i < kM / 2; ++i) {  // rows of x and -x, where columns have pairs
      for (std::size_t j = 0; j < kK; ++j) a[i * kK + j] = j % 2 != 0 ? 0xbf80 : 0x3f80;
    }
    for (std::size_t j = 0; j < kK; j += 2) {
      for (std::size_t i = 0; i < kN; ++i) b[(j + 1) * kN + i] = b[j * kN + i];
    }
    put(p.a, a);
    put(p.b, b);
    const auto expected = expected_of(p);
    EXPECT_EQ(expected, std::vector<std::uint8_t>(expected.size(), 0)) << contract;
    for (const std::string& variant : cuda_backend().variants(spec)) {
      std::string kernel;
      const auto got = run_plan(spec, p, p.operands(), {variant}, &kernel);
      EXPECT_TRUE(got.empty() || got == expected) << kernel;
    }
  }
}

/// Each call overwrites the copies of the call before; what it snaps has just been written, and
/// weights may be read before that.
TEST(Snap, CallsInARowAndReplaysShareAWorkspace) {
  GemmSpec spec = spec_of("snap/bf16/fold:128->fp32", 4096, 2048);
  const Product first(spec, 16, 41), second(spec, 16, 43);
  const OwnStream stream;
  const Matrix weights = row_major(first.b.data(), 2048, 4096, DType::bf16);
  EXPECT_OK(snap(cuda_backend(), stream, {128, KDimension::rows}, weights, weights));
  stream.wait();
  const auto of = [&](const Product& p) {
    Operands operands = p.operands();
    operands.b = weights;
    const Array out = p.output();
    operands.d.data = out.data();
    EXPECT_EQ(oracle(flatten(spec, operands), DType::bf16, nullptr, Arithmetic::snap), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return out.bytes();
  };
  const std::vector<std::uint8_t> expected[2] = {of(first), of(second)};
  spec.b_snapped = true;
  PlanOptions options;
  options.stable = Stable::b;
  const Plan plan = plan_of(spec, options);
  const Scratch scratch(plan, 16);
  const Array a(Product::bytes_of(16 * 2048, DType::bf16));
  std::vector<Array> outputs;
  for (int i = 0; i < 20; ++i) outputs.push_back(first.output());
  const auto call = [&](Stream on, std::size_t i) {
    Operands operands = first.operands(outputs[i].data());
    operands.a.data = a.data();
    operands.b = weights;
    return plan.run(on, operands, scratch.workspace());
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Product& from = i % 2 == 0 ? first : second;
    EXPECT_EQ(cudaMemcpyAsync(a.data(), from.a.data(), Product::bytes_of(16 * 2048, DType::bf16),
                              cudaMemcpyDeviceToDevice, stream.get()),
              cudaSuccess);
    EXPECT_OK(call(stream, i));
  }
  stream.wait();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].bytes(), expected[i % 2]) << i;
  }
  outputs[0].poison();
  EXPECT_OK(cuda_backend().device().replay(
      stream, [&](Stream s) { return call(s, 0); }, 3));
  EXPECT_EQ(outputs[0].bytes(), expected[1]);
}

/// What must differ: operands that are not snapped, leaves of twice the length.
TEST(Snap, PlantedFaultsAreCaught) {
  const GemmSpec spec = spec_of("snap/bf16/fold:128->fp32", 72, 1024);
  const Product p(spec, 40, 51);
  const auto expected = expected_of(p);
  EXPECT_EQ(run_plan(spec, p, p.operands()), expected);
  GemmSpec not_snapped = spec;
  not_snapped.a_snapped = not_snapped.b_snapped = true;
  const auto plain = run_plan(not_snapped, p, p.operands());
  const Array a(Product::bytes_of(40 * 1024, DType::bf16));
  const OwnStream stream;
  Operands other = p.operands();
  EXPECT_OK(snap(cuda_backend(), stream, {256, KDimension::cols}, other.a,
                 row_major(a.data(), 40, 1024, DType::bf16)));
  stream.wait();
  other.a.data = a.data();
  GemmSpec twice = spec;
  twice.a_snapped = true;
  const auto twice_as_long = run_plan(twice, p, other);
  for (const auto& wrong : {plain, twice_as_long}) {
    int differing = 0;
    for (std::size_t i = 0; i < wrong.size(); i += 4) {
      differing += std::memcmp(&wrong[i], &expected[i], 4) != 0;
    }
    EXPECT_GE(differing, 40 * 72 / 10);
  }
}

}  // namespace
}  // namespace detgemm::test

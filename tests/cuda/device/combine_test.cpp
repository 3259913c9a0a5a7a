// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Tensor parallelism on one device: the ranks' roots, joined, have the bits of one rank.

#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

constexpr std::int64_t kM = 33, kN = 70, kK = 128 * 20;

GemmSpec whole() {
  GemmSpec spec = spec_of("ieee_fma/fp32/tree:20->bf16", kN, kK);
  spec.alpha = 0.5F;
  spec.bias = DType::fp32;
  spec.activation = Activation::gelu;
  return spec;
}

/// D through that many ranks; roots of odd ranks are column-major.
std::vector<std::uint8_t> through_ranks(std::int64_t ranks, const Product& p, const Array& bias) {
  const GemmSpec spec = whole();
  std::vector<Array> memory;
  std::vector<ConstMatrix> roots;
  const OwnStream stream;
  const Operands all = p.operands();
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const KRange range = *rank_share(spec.contract, kK, rank, ranks);
    GemmSpec share = spec_of("ieee_fma/fp32/tree:20->fp32", kN, range.end - range.begin);
    memory.emplace_back(kM * kN * 4);
    const Matrix root = rank % 2 != 0 ? col_major(memory.back().data(), kM, kN, DType::fp32)
                                      : row_major(memory.back().data(), kM, kN, DType::fp32);
    ConstMatrix a = all.a;
    a.data = static_cast<const float*>(a.data) + range.begin;
    a.cols = share.k;
    ConstMatrix b = all.b;
    b.data = static_cast<const float*>(b.data) + range.begin * kN;
    b.rows = share.k;
    EXPECT_OK(plan_of(share).run(stream, a, b, root));
    roots.push_back(root);
  }
  const Array d = p.output();
  Operands operands = p.operands(d.data());
  operands.bias = {bias.data(), kN, DType::fp32};
  RunInfo info;
  EXPECT_OK(plan_of(spec).combine(stream, roots, operands, {}, &info));
  EXPECT_EQ(info.kernel, "combine");
  stream.wait();
  return d.bytes();
}

TEST(Combine, AnyNumberOfRanksGivesTheUncutBits) {
  const GemmSpec spec = whole();
  const Product p(spec, kM, 21);
  const Array bias(kN * 4);
  fill_normal(bias, 1, kN, DType::fp32, 23);
  const Array d = p.output();
  Operands operands = p.operands(d.data());
  operands.bias = {bias.data(), kN, DType::fp32};
  const OwnStream stream;
  EXPECT_OK(plan_of(spec).run(stream, operands));
  stream.wait();
  for (const std::int64_t ranks : {1, 2, 4, 8, 16, 128}) {
    EXPECT_EQ(through_ranks(ranks, p, bias), d.bytes()) << ranks;
  }
}

TEST(Combine, RootsOnTheHostAreRefused) {
  const GemmSpec spec = whole();
  const Product p(spec, kM, 31);
  const Array bias(kN * 4);
  std::vector<float> host(kM * kN);
  Operands operands = p.operands();
  operands.bias = {bias.data(), kN, DType::fp32};
  const ConstMatrix root = row_major(static_cast<const void*>(host.data()), kM, kN, DType::fp32);
  const Status s =
      plan_of(spec).combine({DeviceKind::cuda, nullptr}, std::span(&root, 1), operands);
  EXPECT_EQ(s.code(), Errc::invalid_argument);
  EXPECT_NE(s.message().find("roots[0].data is 0x"), std::string::npos) << s.message();
}

}  // namespace
}  // namespace detgemm::test

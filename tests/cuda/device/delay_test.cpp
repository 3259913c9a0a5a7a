// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/device/fixture.hpp"
#include "tests/cuda/planted_delay.hpp"

// One thread hands a stage back for the four warps of its group, once its own wgmma has ended. That
// is enough if the quarters of a wgmma end together, however late the other warps come to it.

namespace detgemm::test {
namespace {

struct Runs {
  std::vector<std::uint8_t> in_time, late;
};

Runs run(const Product& p, HandBack how) {
  const OwnStream stream;
  const auto k = static_cast<int>(p.spec.k);
  const auto one = [&](bool late) {
    p.d.poison();
    EXPECT_EQ(delayed_chain(p.a.data(), p.b.data(), static_cast<float*>(p.d.data()), k, late, how,
                            stream.get()),
              cudaSuccess);
    stream.wait();
    return p.d.bytes();
  };
  return {one(false), one(true)};
}

/// 64 x 64 outputs; B is given as it is stored, 64 x k.
Product product(std::uint64_t key) {
  GemmSpec spec = spec_of("hopper/bf16/chain->fp32", 64, 4096);
  spec.op_b = Op::transpose;
  return Product(spec, 64, key);
}

TEST(Delay, WarpsThatComeLateToAStageStillFindIt) {
  for (std::uint64_t key = 1; key <= 5; ++key) {
    const Product p = product(key);
    const Runs found = run(p, HandBack::product);
    EXPECT_EQ(found.in_time, p.expected());
    EXPECT_EQ(found.late, found.in_time);
  }
}

TEST(Delay, AStageThatIsHandedBackEarlyShows) {
  const Product p = product(1);
  EXPECT_NE(run(p, HandBack::early).late, p.expected());
}

}  // namespace
}  // namespace detgemm::test

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Products that depend on each other, enqueued without a wait in between: whoever begins early may
// read only what it was promised.

#include <algorithm>
#include <cmath>

#include "cuda/mma/tile.hpp"
#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

constexpr int kLength = 400;

struct Setting {
  std::int64_t m, width;
  bool adds_input;  // D = alpha * X * W + X / 2 + bias: C and bias are the chain's, too
};

/// X[i+1] = f(X[i] * W), every X in memory of its own, or all in two buffers in turn.
class Chain {
 public:
  Chain(const Setting& s, int buffers)
      : setting_(s), spec_(spec_of("hopper/bf16/chain->bf16", s.width, s.width)) {
    spec_.alpha = s.adds_input ? 0.8F : 1.0F;
    spec_.alpha /= std::sqrt(static_cast<float>(s.width));
    if (s.adds_input) {
      spec_.beta = 0.5F;
      spec_.bias = DType::bf16;
    }
    const std::size_t bytes = static_cast<std::size_t>(s.m * s.width) * 2;
    for (int i = 0; i < buffers; ++i) x_.emplace_back(bytes);
    fill_normal(w_, s.width, s.width, DType::bf16, 1);
    fill_normal(bias_, 1, s.width, DType::bf16, 2);
    begin();
  }

  /// The first X again, and NaN in all others.
  void begin() {
    for (Array& x : x_) x.poison();
    fill_normal(x_[0], setting_.m, setting_.width, DType::bf16, 3);
  }
  Operands step(int i) {
    const auto at = [&](int index) {
      return x_[static_cast<std::size_t>(index) % x_.size()].data();
    };
    const std::int64_t n = setting_.width;
    Operands o{row_major(static_cast<const void*>(at(i)), setting_.m, n, DType::bf16),
               row_major(static_cast<const void*>(w_.data()), n, n, DType::bf16),
               row_major(at(i + 1), setting_.m, n, DType::bf16)};
    if (setting_.adds_input) {
      o.c = o.a;
      o.bias = {bias_.data(), n, DType::bf16};
    }
    return o;
  }
  Status enqueue(const Plan& plan, const Stream& stream, bool wait) {
    for (int i = 0; i < kLength; ++i) {
      Status s = plan.run(stream, step(i));
      if (s && wait) s = cuda_backend().device().synchronize(stream);
      if (!s) return s;
    }
    return {};
  }
  std::vector<std::vector<std::uint8_t>> all() const {
    std::vector<std::vector<std::uint8_t>> list;
    for (const Array& x : x_) list.push_back(x.bytes());
    return list;
  }
  const GemmSpec& spec() const { return spec_; }

 private:
  Setting setting_;
  GemmSpec spec_;
  std::vector<Array> x_;
  Array w_{static_cast<std::size_t>(setting_.width * setting_.width) * 2};
  Array bias_{static_cast<std::size_t>(setting_.width) * 2};
};

class DependentProducts : public testing::TestWithParam<Setting> {};

void check(const Setting& setting, int buffers) {
  Chain chain(setting, buffers);
  const OwnStream stream;
  for (int i = 0; i < kLength; ++i) {
    EXPECT_EQ(oracle(flatten(chain.spec(), chain.step(i)), DType::bf16, stream.get()), cudaSuccess);
  }
  stream.wait();
  const auto expected = chain.all();
  std::vector<std::string> variants = cuda_backend().variants(chain.spec());
  variants.emplace_back("");
  std::size_t ran = 0;
  for (const std::string& variant : variants) {
    const Plan careful = plan_of(chain.spec(), {variant, 0, Stable::none});
    const Plan eager = plan_of(chain.spec(), {variant, 0, Stable::b});
    chain.begin();
    const Status first = chain.enqueue(careful, stream, true);
    // W is row-major, and some tiles of mma.sync take weights along k alone.
    if (first.code() == Errc::unsupported && variant.starts_with("mma/")) continue;
    ++ran;
    EXPECT_OK(first);
    EXPECT_EQ(chain.all(), expected) << variant << ", waiting after each";
    for (const Plan* plan : {&careful, &eager}) {
      const char* name = plan == &eager ? ", b stable" : ", nothing stable";
      chain.begin();
      EXPECT_OK(chain.enqueue(*plan, stream, false));
      stream.wait();
      EXPECT_EQ(chain.all(), expected) << variant << name;
      if (buffers == 2) continue;  // X[0] is no longer the first X when a graph starts again
      chain.begin();
      EXPECT_OK(cuda_backend().device().replay(
          stream, [&](Stream s) { return chain.enqueue(*plan, s, false); }, 3));
      EXPECT_EQ(chain.all(), expected) << variant << name << ", graph";
    }
  }
  const auto general = std::count_if(std::begin(cuda::mma::kTiles), std::end(cuda::mma::kTiles),
                                     [](const cuda::mma::Tile& t) { return t.general; });
  EXPECT_EQ(ran, variants.size() - cuda::mma::kTiles.size() + static_cast<std::size_t>(general));
}

TEST_P(DependentProducts, EachInItsOwnMemory) { check(GetParam(), kLength + 1); }
TEST_P(DependentProducts, InTwoBuffers) { check(GetParam(), 2); }

INSTANTIATE_TEST_SUITE_P(Chains, DependentProducts,
                         testing::Values(Setting{1, 256, false}, Setting{16, 512, false},
                                         Setting{16, 256, true}, Setting{100, 264, true},
                                         Setting{256, 256, false}, Setting{300, 512, true}));

}  // namespace
}  // namespace detgemm::test

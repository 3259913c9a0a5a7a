// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Log-probabilities of the reference: fused against stored logits, rows alone and in any batch,
// chunks, shards, padding, layouts and the caller's floating-point mode.

#include <algorithm>
#include <cmath>

#include "backends/skeleton/skeleton.hpp"
#include "core/arithmetic/log_sum.hpp"
#include "tests/reference/log_prob_layer.hpp"
#include "tests/support/floating_point_mode.hpp"

namespace detgemm {
namespace {

using namespace test;

constexpr const char* kContracts[] = {"hopper/bf16/chain->fp32", "hopper/bf16/chain->bf16",
                                      "ieee_fma/bf16/tree:8->fp32", "snap/bf16/fold:64->bf16"};

ConstMatrix view(const std::vector<std::uint8_t>& stored, const Layer& layer, std::int64_t ld) {
  return row_major(static_cast<const void*>(stored.data()), layer.t, layer.v,
                   layer.spec.contract.output, ld);
}

TEST(LogProb, FusedIsStored) {
  int each = 0;
  for (const std::int64_t v : {1, 15, 16, 17, 255, 256, 257, 5003}) {
    for (const char* contract : kContracts) {
      Layer layer(v > 1000 ? 3 : 11, v, 24, contract, static_cast<std::uint64_t>(v), 1 + each % 3);
      if (++each % 2 == 0) layer.spec.bias = DType::bf16;
      if (each % 3 == 0) layer.spec.alpha = 0.7F;
      const std::int64_t ld = v + each % 5;
      const auto stored = layer.logits(ld);
      const std::string what = std::string(contract) + " V " + std::to_string(v);
      const Results fused = layer.run();
      expect_same(fused, of_logits(view(stored, layer, ld), v, layer.rows()), what);
      // The plain loops of another backend, on the reference's logits and on its own.
      expect_same(fused, of_logits(view(stored, layer, ld), v, layer.rows(), skeleton_backend()),
                  what + " skeleton");
      if (v < 1000) expect_same(fused, layer.run(skeleton_backend()), what + " skeleton, fused");
    }
  }
}

TEST(LogProb, LargeVocabularies) {
  for (const std::int64_t v : {32000, 128256}) {
    Layer layer(2, v, 4, "ieee_fma/bf16/chain->fp32", 3);
    const auto stored = layer.logits(v);
    const Results fused = layer.run();
    expect_same(fused, of_logits(view(stored, layer, v), v, layer.rows()), std::to_string(v));
    for (std::int64_t row = 0; row < layer.t; ++row) {
      double sum = 0, weighted = 0;
      const auto* z = reinterpret_cast<const float*>(stored.data()) + row * v;
      for (std::int64_t i = 0; i < v; ++i) {
        const double x = static_cast<double>(z[i] * layer.scale[static_cast<std::size_t>(row)]);
        sum += std::exp(x);
        weighted += x * std::exp(x);
      }
      const auto at = static_cast<std::size_t>(row);
      EXPECT_NEAR(fused.lse[at], std::log(sum), 30 * 0x1p-24 * std::log(sum));
      EXPECT_NEAR(fused.entropy[at], std::log(sum) - weighted / sum, 2e-5);
    }
  }
}

TEST(LogProb, RowsAloneAndInAnyBatch) {
  for (const char* contract : kContracts) {
    Layer layer(300, 129, 24, contract, 4, 2);  // more rows than a stripe has
    const Results all = layer.run();
    for (const std::int64_t row : {0, 1, 7, 255, 256, 299}) {
      Layer one = layer;
      one.t = 1;
      const auto at = static_cast<std::size_t>(row);
      one.x.assign(layer.x.begin() + row * 24, layer.x.begin() + (row + 1) * 24);
      one.targets.assign(layer.targets.begin() + row * 2, layer.targets.begin() + row * 2 + 2);
      one.scale.assign(1, layer.scale[at]);
      const Results alone = one.run();
      Results part(1, 2);
      part.logp.assign(all.logp.begin() + row * 2, all.logp.begin() + row * 2 + 2);
      part.target_logit.assign(all.target_logit.begin() + row * 2,
                               all.target_logit.begin() + row * 2 + 2);
      part.lse = {all.lse[at]};
      part.entropy = {all.entropy[at]};
      part.saved_k = {all.saved_k[at]};
      part.saved_r = {all.saved_r[at]};
      expect_same(part, alone, contract);
    }
  }
}

TEST(LogProb, ChunksWorkersAndEntropyDoNotMatter) {
  for (const char* contract : kContracts) {
    Layer layer(5, 1000, 24, contract, 5);
    const Results whole = layer.run();
    for (const std::int64_t chunk : {16, 48, 256, 992, 1008, 100000}) {
      layer.spec.chunk = chunk;
      expect_same(whole, layer.run(), std::to_string(chunk));
    }
    Results without(layer.t, 1);
    layer.run(reference_backend(), layer.operands(), without.without_entropy());
    without.entropy = whole.entropy;
    expect_same(whole, without, "without entropy");
    const auto plan = LogProbPlan::create(reference_backend(), layer.spec, {"scalar", 1});
    ASSERT_TRUE(plan);
    const auto workspace = HostWorkspace::allocate(*plan->workspace_bytes(layer.t));
    Results scalar(layer.t, 1);
    ASSERT_TRUE(plan->run({}, layer.operands(), scalar.outputs(), *workspace));
    expect_same(whole, scalar, "scalar, one worker");
  }
}

/// Cuts V at these columns; each rank computes nodes, one joins them.
Results from_shards(const Layer& layer, const std::vector<std::int64_t>& cuts, bool stored) {
  std::vector<std::vector<std::uint32_t>> nodes;
  std::vector<std::vector<float>> targets;
  std::vector<LogShard> shards;
  const auto logits = layer.logits(layer.v);
  const std::size_t element = size_of(layer.spec.contract.output);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const auto slots = log_prob_slots(cuts[i], (cuts[i + 1] + 15) / 16 * 16);
    EXPECT_TRUE(slots) << slots.status().message();
    nodes.emplace_back(static_cast<std::size_t>(*slots * 3 * layer.t), 0x12345678U);
    targets.emplace_back(static_cast<std::size_t>(layer.t * layer.per_row), -9.0F);
    shards.push_back({cuts[i], cuts[i + 1], nodes.back().data(), targets.back().data(), true});
    Status status;
    if (stored) {
      ConstMatrix part = view(logits, layer, layer.v);
      part.data =
          static_cast<const std::byte*>(part.data) + static_cast<std::size_t>(cuts[i]) * element;
      part.cols -= cuts[i];
      status = log_prob_nodes_of_logits(reference_backend(), {}, part, layer.v, layer.rows(),
                                        shards.back());
    } else {
      LogProbSpec spec = layer.spec;
      spec.begin = cuts[i];
      spec.n = cuts[i + 1] - cuts[i];
      spec.vocabulary = layer.v;
      spec.chunk = i % 2 == 0 ? 32 : 0;
      const auto plan = LogProbPlan::create(reference_backend(), spec);
      EXPECT_TRUE(plan) << plan.status().message();
      LogProbOperands operands = layer.operands();
      operands.w.data = layer.w.data() + cuts[i] * layer.k;
      operands.w.rows = spec.n;
      const auto workspace = HostWorkspace::allocate(*plan->workspace_bytes(layer.t));
      status = plan->nodes({}, operands, shards.back(), *workspace);
    }
    EXPECT_TRUE(status) << status.message();
  }
  Results joined(layer.t, layer.per_row);
  const Status status = log_prob_join(reference_backend(), {}, layer.t, shards, layer.v,
                                      layer.rows(), joined.outputs());
  EXPECT_TRUE(status) << status.message();
  return joined;
}

TEST(LogProb, ShardsHaveTheBitsOfOne) {
  for (const char* contract : {kContracts[0], kContracts[1]}) {
    Layer layer(4, 1013, 24, contract, 6, 2);
    const Results whole = layer.run();
    const std::int64_t leaves = (layer.v + 15) / 16;
    Random random(7);
    for (const std::int64_t ranks : {1, 2, 3, 8}) {
      for (int even = 0; even < 4; ++even) {
        std::vector<std::int64_t> cuts{0};
        for (std::int64_t r = 1; r < ranks; ++r) {
          const std::int64_t cut = even == 0 ? r * leaves / ranks : random.below(leaves + 1);
          cuts.push_back(std::min(16 * cut, layer.v / 16 * 16));
        }
        cuts.push_back(layer.v);
        std::sort(cuts.begin(), cuts.end());
        for (const bool stored : {false, true}) {
          expect_same(whole, from_shards(layer, cuts, stored), std::to_string(ranks) + " ranks");
        }
      }
    }
  }
}

TEST(LogProb, PaddingDoesNotExist) {
  Layer layer(6, 500, 24, kContracts[0], 8);
  const Results whole = layer.run();
  Layer padded = layer;
  padded.spec.n = 512;
  padded.spec.vocabulary = 500;
  padded.w.resize(512 * 24, 0x7fff);  // NaN
  expect_same(whole, padded.run(), "512 rows of W");
  padded.w.resize(500 * 24);
  padded.w.resize(512 * 24, 0x7f80);  // +Inf
  padded.spec.chunk = 32;
  expect_same(whole, padded.run(), "512 rows of W, in chunks");
  const auto stored = layer.logits(512);  // filled with NaN from column 500 on
  ConstMatrix all = view(stored, layer, 512);
  all.cols = 512;
  expect_same(whole, of_logits(all, 500, layer.rows()), "512 logits");
}

/// n, begin and the vocabulary of a shard, and how many of its columns exist.
TEST(LogProb, TheProductOfALayerHasTheColumnsThatExist) {
  const std::int64_t cases[][4] = {{40, 0, 0, 40},  {48, 0, 40, 40},  {48, 32, 40, 8},
                                   {16, 48, 40, 0}, {16, 32, 48, 16}, {0, 32, 32, 0}};
  for (const auto& [n, begin, vocabulary, exist] : cases) {
    LogProbSpec spec;
    spec.n = n;
    spec.k = 24;
    spec.begin = begin;
    spec.vocabulary = vocabulary;
    spec.contract = contract_of("hopper/bf16/chain->bf16");
    spec.alpha = 0.5F;
    spec.bias = DType::fp16;
    const GemmSpec product = logits_product(spec);
    EXPECT_EQ(product.n, exist) << n << " from " << begin << " of " << vocabulary;
    EXPECT_EQ(product.k, 24);
    EXPECT_EQ(product.contract, spec.contract);
    EXPECT_TRUE(product.op_a == Op::none && product.op_b == Op::transpose);
    EXPECT_EQ(product.alpha, 0.5F);
    EXPECT_EQ(product.bias, DType::fp16);
    EXPECT_EQ(product.beta, 0.0F);
  }
}

TEST(LogProb, LayoutsAndIdTypesDoNotMatter) {
  Layer layer(9, 77, 24, kContracts[1], 9, 3);
  const Results whole = layer.run();
  // Logits by columns, W by columns, ids of 32 bits some apart.
  const auto stored = layer.logits(77);
  std::vector<std::uint16_t> turned(9 * 80), w(24 * 77);
  const auto* logits = reinterpret_cast<const std::uint16_t*>(stored.data());
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 77; ++j) turned[j * 9 + i] = logits[i * 77 + j];
  }
  for (std::size_t i = 0; i < 77; ++i) {
    for (std::size_t j = 0; j < 24; ++j) w[j * 77 + i] = layer.w[i * 24 + j];
  }
  std::vector<std::int32_t> ids(9 * 5, 1 << 30);
  for (std::size_t i = 0; i < 27; ++i) ids[i / 3 * 5 + i % 3] = static_cast<int>(layer.targets[i]);
  LogProbRows rows = layer.rows();
  rows.targets = {ids.data(), 9, 3, 5, OffsetType::i32};
  expect_same(
      whole,
      of_logits(col_major(static_cast<const void*>(turned.data()), 9, 77, DType::bf16), 77, rows),
      "logits by columns");
  LogProbOperands operands = layer.operands();
  operands.w = col_major(static_cast<const void*>(w.data()), 77, 24, DType::bf16);
  operands.rows = rows;
  Results by_columns(9, 3);
  layer.run(reference_backend(), operands, by_columns.outputs());
  expect_same(whole, by_columns, "W by columns");
}

/// A leaf in the thread's own mode.
__attribute__((noinline)) arithmetic::LogNode leaf_here(const float (&x)[16]) {
  return arithmetic::log_leaf<true>(x);
}

TEST(LogProb, TheCallersModeDoesNotMatter) {
  int shows = 0;  // modes in which an unguarded leaf has other bits
  Layer layer(7, 333, 24, kContracts[0], 10);
  for (std::size_t i = 0; i < 24; ++i)
    layer.x[24 + i] = static_cast<std::uint16_t>(i);  // subnormal
  const Results whole = layer.run();
  const auto stored = layer.logits(333);
  float x[16];
  for (int i = 0; i < 16; ++i) x[i] = 0.37F * static_cast<float>(i) - (i == 0 ? 87 : 2);
  const arithmetic::LogNode leaf = leaf_here(x);
  for (const Mode& mode : kModes) {
    set_mode(mode);
    const std::uint64_t before = mode_of_thread();
    const arithmetic::LogNode unguarded = leaf_here(x);
    const Results fused = layer.run();
    const Results unfused = of_logits(view(stored, layer, 333), 333, layer.rows());
    const std::uint64_t after = mode_of_thread();
    set_default_mode();
    EXPECT_EQ(before & 0xffffffffffffffc0U, after & 0xffffffffffffffc0U) << mode.name;
    expect_same(whole, fused, mode.name);
    expect_same(whole, unfused, mode.name);
    if (unguarded.s != leaf.s || unguarded.a != leaf.a) ++shows;
  }
  EXPECT_GE(shows, 3);
}

TEST(LogProb, NoRowsAndNoColumns) {
  Layer layer(0, 40, 24, kContracts[0]);
  expect_same(Results(0, 1), layer.run(), "no rows");
  Layer none(3, 16, 24, kContracts[0]);
  std::vector<std::uint8_t> stored = none.logits(16);
  for (auto& target : none.targets) target = -1;
  const Results empty = of_logits(view(stored, none, 16), 0, none.rows());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(empty.lse[i], -HUGE_VALF);
    EXPECT_TRUE(std::isnan(empty.entropy[i]));
    EXPECT_EQ(empty.logp[i], 0.0F);
    EXPECT_EQ(empty.saved_k[i], -(1 << 20));
  }
}

TEST(LogProb, ContractsHaveTextAndDigest) {
  const auto contract = LogProbContract::parse("hopper/bf16/chain->fp32+logsum16");
  ASSERT_TRUE(contract);
  EXPECT_EQ(contract->text(), "hopper/bf16/chain->fp32+logsum16");
  EXPECT_EQ(contract->canonical(),
            "detgemm-logprob version=1 logits=" + hex(contract->logits.digest()) +
                " block=16 bits=0312 tree=aligned exp=1 log=1");
  EXPECT_EQ(hex(contract->digest()), "4956a46666344988");
  EXPECT_NE(contract->digest(),
            LogProbContract::parse("hopper/bf16/chain->bf16+logsum16")->digest());
}

}  // namespace
}  // namespace detgemm

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Gradients of the reference: dX and dW are products of the gradient of stored logits, in any
// chunks of V and micro-batches of T, and near the true ones.

#include <algorithm>
#include <cmath>

#include "backends/skeleton/skeleton.hpp"
#include "tests/reference/log_prob_layer.hpp"

namespace detgemm {
namespace {

using namespace test;

/// A layer, the results of its forward pass, and upstream gradients.
struct Problem {
  Layer layer;
  Results saved;
  std::vector<float> d_logp, d_lse, d_entropy;

  Problem(Layer of, std::uint64_t seed) : layer(std::move(of)), saved(layer.run()) {
    Random random(seed);
    for (std::int64_t i = 0; i < layer.t; ++i) {
      for (auto* to : {&d_logp, &d_lse, &d_entropy}) {
        to->push_back(static_cast<float>(static_cast<double>(random.next() >> 11) * 0x1p-52 - 1));
      }
    }
  }
  LogProbUpstream upstream(std::int64_t first = 0) const {
    return {saved.saved_k.data() + first, saved.saved_r.data() + first, saved.lse.data() + first,
            saved.entropy.data() + first, d_logp.data() + first,        d_lse.data() + first,
            d_entropy.data() + first};
  }
};

struct Gradients {
  std::vector<float> dx, dw;
};

/// A run that keeps its logits has the same results, and a gradient of kept logits is `expected`.
void expect_kept(const LogProbPlan& plan, const Problem& p, LogProbBackward arrays,
                 const Gradients& expected) {
  const auto columns = plan.spec().vocabulary == 0 ? plan.spec().n : plan.spec().vocabulary;
  std::vector<float> kept(static_cast<std::size_t>(p.layer.t * (columns + 5)), 7.0F);
  Results results(p.layer.t, 1);
  LogProbOutputs out = results.outputs();
  out.logits = row_major(kept.data(), p.layer.t, columns, DType::fp32);
  out.logits.row_stride = columns + 5;
  const auto workspace = HostWorkspace::allocate(*plan.backward_workspace_bytes(p.layer.t));
  Status status = plan.run({}, arrays.forward, out, *workspace);
  EXPECT_TRUE(status) << status.message();
  expect_same(p.layer.run(), results, "kept");
  Gradients g{std::vector<float>(expected.dx.size(), 1e30F),
              std::vector<float>(expected.dw.size(), 0.0F)};
  arrays.dx.data = g.dx.data();
  arrays.dw.data = g.dw.data();
  arrays.logits = out.logits;
  status = plan.backward({}, arrays, *workspace);
  EXPECT_TRUE(status) << status.message();
  EXPECT_TRUE(same_bytes(expected.dx, g.dx) && same_bytes(expected.dw, g.dw)) << "kept";
  for (float& logit : kept) logit -= 1.0F;  // control: they are what the gradient reads
  status = plan.backward({}, arrays, *workspace);
  EXPECT_TRUE(status) << status.message();
  const bool moves =
      std::any_of(expected.dx.begin(), expected.dx.end(), [](float x) { return x != 0; });
  EXPECT_EQ(!same_bytes(expected.dx, g.dx), moves) << "other logits";
}

/// By a plan with this chunk, in micro-batches of these rows.
Gradients by_plan(const Problem& p, std::int64_t chunk, const std::vector<std::int64_t>& batches,
                  const Backend& backend = reference_backend()) {
  const Layer& layer = p.layer;
  Gradients g{std::vector<float>(layer.x.size(), 1e30F),
              std::vector<float>(static_cast<std::size_t>(layer.spec.n * layer.k), 0.0F)};
  std::int64_t first = 0;
  for (const std::int64_t rows : batches) {
    LogProbSpec spec = layer.spec;
    spec.chunk = chunk;
    spec.continue_dw = batches.size() > 1;
    const auto plan = LogProbPlan::create(backend, spec);
    EXPECT_TRUE(plan) << plan.status().message();
    LogProbBackward arrays;
    arrays.forward = layer.operands();
    arrays.forward.x = row_major(static_cast<const void*>(layer.x.data() + first * layer.k), rows,
                                 layer.k, DType::bf16);
    arrays.forward.rows = {{layer.targets.data() + first, rows, 1, 1, OffsetType::i64},
                           layer.scale.data() + first};
    arrays.upstream = p.upstream(first);
    arrays.dx = row_major(g.dx.data() + first * layer.k, rows, layer.k, DType::fp32);
    arrays.dw = row_major(g.dw.data(), spec.n, layer.k, DType::fp32);
    const auto bytes = plan->backward_workspace_bytes(rows);
    EXPECT_TRUE(bytes) << bytes.status().message();
    const auto workspace = HostWorkspace::allocate(*bytes);
    const Status status = plan->backward({}, arrays, *workspace);
    EXPECT_TRUE(status) << status.message();
    const bool whole = spec.begin == 0 && spec.vocabulary <= spec.n;
    if (batches.size() == 1 && whole) expect_kept(*plan, p, arrays, g);
    first += rows;
  }
  return g;
}

/// By the gradient of stored logits and two products.
Gradients by_products(const Problem& p) {
  const Layer& layer = p.layer;
  const auto stored = layer.logits(layer.v);
  std::vector<std::uint16_t> g(static_cast<std::size_t>(layer.t * layer.v));
  const Matrix view = row_major(g.data(), layer.t, layer.v, DType::bf16);
  const Status status =
      log_prob_gradient_of_logits(reference_backend(), {},
                                  row_major(static_cast<const void*>(stored.data()), layer.t,
                                            layer.v, layer.spec.contract.output),
                                  0, layer.v, layer.rows(), p.upstream(), view);
  EXPECT_TRUE(status) << status.message();
  Gradients out{std::vector<float>(layer.x.size()), std::vector<float>(layer.w.size())};
  GemmOptions options;
  options.backend = "reference";
  const LogProbOperands from = layer.operands();
  EXPECT_TRUE(gemm({}, view, from.w, row_major(out.dx.data(), layer.t, layer.k, DType::fp32),
                   *layer.spec.dgrad, options));
  options.op_a = Op::transpose;
  EXPECT_TRUE(gemm({}, view, from.x, row_major(out.dw.data(), layer.v, layer.k, DType::fp32),
                   *layer.spec.wgrad, options));
  return out;
}

void expect_same(const Gradients& a, const Gradients& b, const std::string& what) {
  EXPECT_TRUE(same_bytes(a.dx, b.dx)) << what << ": dx";
  EXPECT_TRUE(same_bytes(a.dw, b.dw)) << what << ": dw";
}

Problem problem(const char* dgrad, const char* wgrad, std::int64_t t = 24, std::int64_t v = 300) {
  Layer layer(t, v, 24, "hopper/bf16/chain->fp32", 21);
  layer.spec.dgrad = contract_of(dgrad);
  layer.spec.wgrad = contract_of(wgrad);
  return {std::move(layer), 22};
}

TEST(LogProbGradient, IsItsProductsInAnyChunks) {
  for (const char* dgrad : {"hopper/bf16/chain->fp32", "hopper/bf16/fold:32->fp32",
                            "ieee_fma/bf16/chain->fp32", "snap/bf16/fold:64->fp32"}) {
    const Problem p = problem(dgrad, "hopper/bf16/tree:16->fp32");
    const Gradients expected = by_products(p);
    for (const std::int64_t chunk : {0, 64, 128, 4096}) {
      expect_same(expected, by_plan(p, chunk, {24}), std::string(dgrad) + std::to_string(chunk));
    }
    expect_same(expected, by_plan(p, 64, {24}, skeleton_backend()), "skeleton");
  }
  const Problem tree = problem("hopper/bf16/tree:32->fp32", "hopper/bf16/chain->fp32");
  expect_same(by_products(tree), by_plan(tree, 0, {24}), "tree");
}

TEST(LogProbGradient, MicroBatchesContinueInDw) {
  for (const char* wgrad : {"hopper/bf16/chain->fp32", "hopper/bf16/fold:16->fp32"}) {
    const Problem p = problem("hopper/bf16/fold:64->fp32", wgrad, 64);
    const Gradients whole = by_plan(p, 64, {64});
    for (const auto& batches : {std::vector<std::int64_t>{32, 32}, {16, 16, 16, 16}, {48, 16}}) {
      expect_same(whole, by_plan(p, 128, batches), wgrad);
    }
    // Control: a cut that is not at a leaf.
    EXPECT_FALSE(same_bytes(whole.dw, by_plan(p, 64, {40, 24}).dw));
  }
}

TEST(LogProbGradient, IsRoundedOnceAtTheEnd) {
  Problem p = problem("hopper/bf16/fold:32->bf16", "hopper/bf16/chain->bf16");
  const auto run = [&](std::int64_t chunk) {
    LogProbSpec spec = p.layer.spec;
    spec.chunk = chunk;
    const auto plan = LogProbPlan::create(reference_backend(), spec);
    EXPECT_TRUE(plan) << plan.status().message();
    std::vector<std::uint16_t> dx(p.layer.x.size()), dw(p.layer.w.size());
    LogProbBackward arrays;
    arrays.forward = p.layer.operands();
    arrays.upstream = p.upstream();
    arrays.dx = row_major(dx.data(), p.layer.t, p.layer.k, DType::bf16);
    arrays.dw = row_major(dw.data(), p.layer.v, p.layer.k, DType::bf16);
    const auto workspace = HostWorkspace::allocate(*plan->backward_workspace_bytes(p.layer.t));
    EXPECT_TRUE(plan->backward({}, arrays, *workspace));
    dx.insert(dx.end(), dw.begin(), dw.end());
    return dx;
  };
  const auto whole = run(4096);
  for (const std::int64_t chunk : {32, 96}) EXPECT_EQ(whole, run(chunk)) << chunk;
  // Control: dX rounded to bf16 after each chunk.
  p.layer.spec.dgrad = contract_of("hopper/bf16/fold:32->fp32");
  std::size_t different = 0;
  std::vector<float> sum(p.layer.x.size());
  const auto stored = p.layer.logits(p.layer.v);
  for (std::int64_t v = 0; v < p.layer.v; v += 32) {
    const std::int64_t width = std::min<std::int64_t>(32, p.layer.v - v);
    std::vector<std::uint16_t> g(static_cast<std::size_t>(p.layer.t * width));
    ConstMatrix logits = row_major(static_cast<const void*>(stored.data() + v * 4), p.layer.t,
                                   width, DType::fp32, p.layer.v);
    EXPECT_TRUE(log_prob_gradient_of_logits(reference_backend(), {}, logits, v, p.layer.v,
                                            p.layer.rows(), p.upstream(),
                                            row_major(g.data(), p.layer.t, width, DType::bf16)));
    std::vector<float> dx(p.layer.x.size());
    GemmOptions options;
    options.backend = "reference";
    EXPECT_TRUE(
        gemm({}, row_major(static_cast<const void*>(g.data()), p.layer.t, width, DType::bf16),
             row_major(static_cast<const void*>(p.layer.w.data() + v * 24), width, 24, DType::bf16),
             row_major(dx.data(), p.layer.t, 24, DType::fp32), *p.layer.spec.dgrad, options));
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto word = arithmetic::to_bf16(sum[i] + dx[i]);
      sum[i] = arithmetic::to_float<DType::bf16>(word);
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) different += arithmetic::to_bf16(sum[i]) != whole[i];
  EXPECT_GT(different, sum.size() / 20);
}

TEST(LogProbGradient, PaddingTakesNoPart) {
  const Problem p = problem("hopper/bf16/fold:32->fp32", "hopper/bf16/fold:16->fp32");
  const Gradients expected = by_plan(p, 64, {24});
  Problem padded = p;
  padded.layer.spec.n = 320;
  padded.layer.spec.vocabulary = 300;
  padded.layer.w.resize(320 * 24, 0x7fff);  // NaN
  Gradients got = by_plan(padded, 64, {24});
  for (std::size_t i = 300 * 24; i < got.dw.size(); ++i) {
    EXPECT_EQ(arithmetic::bits_of(got.dw[i]), 0U);
  }
  got.dw.resize(300 * 24);
  expect_same(expected, got, "padded");
}

TEST(LogProbGradient, AShardHasItsRowsOfDw) {
  const Problem p = problem("hopper/bf16/fold:32->fp32", "hopper/bf16/fold:16->fp32");
  const Gradients whole = by_plan(p, 64, {24});
  Problem shard = p;
  shard.layer.spec.begin = 128;
  shard.layer.spec.n = 172;
  shard.layer.spec.vocabulary = 300;
  shard.layer.w.erase(shard.layer.w.begin(), shard.layer.w.begin() + 128 * 24);
  const Gradients got = by_plan(shard, 64, {24});
  EXPECT_TRUE(same_bytes(std::vector<float>(whole.dw.begin() + 128 * 24, whole.dw.end()), got.dw));
  EXPECT_FALSE(same_bytes(whole.dx, got.dx));  // the rest of dX is the other shard's
}

TEST(LogProbGradient, IgnoredRowsAndZerosUpstream) {
  Problem p = problem("hopper/bf16/fold:32->fp32", "hopper/bf16/fold:16->fp32");
  for (auto& target : p.layer.targets) target = -1;
  const Gradients none = by_plan(p, 64, {24});
  EXPECT_TRUE(std::all_of(none.dx.begin(), none.dx.end(), [](float x) { return x == 0; }));
  EXPECT_TRUE(std::all_of(none.dw.begin(), none.dw.end(), [](float x) { return x == 0; }));

  // Upstream gradients of zeros have the bits of none.
  const Problem q = problem("hopper/bf16/fold:32->fp32", "hopper/bf16/fold:16->fp32");
  const std::vector<float> zeros(24, 0.0F);
  const auto stored = q.layer.logits(q.layer.v);
  const ConstMatrix logits =
      row_major(static_cast<const void*>(stored.data()), 24, 300, DType::fp32);
  std::vector<std::uint16_t> given(24 * 300), absent(24 * 300);
  LogProbUpstream up = q.upstream();
  up.d_lse = up.d_entropy = zeros.data();
  EXPECT_TRUE(log_prob_gradient_of_logits(reference_backend(), {}, logits, 0, 300, q.layer.rows(),
                                          up, row_major(given.data(), 24, 300, DType::bf16)));
  up.d_lse = up.d_entropy = nullptr;
  EXPECT_TRUE(log_prob_gradient_of_logits(reference_backend(), {}, logits, 0, 300, q.layer.rows(),
                                          up, row_major(absent.data(), 24, 300, DType::bf16)));
  EXPECT_EQ(given, absent);
}

/// Against the formula in fp64: what is left is the rounding of G to bf16.
TEST(LogProbGradient, IsNearTheTruth) {
  const Problem p = problem("ieee_fma/bf16/chain->fp32", "ieee_fma/bf16/chain->fp32");
  const Layer& layer = p.layer;
  const auto stored = layer.logits(layer.v);
  const auto* z = reinterpret_cast<const float*>(stored.data());
  std::vector<std::uint16_t> g(static_cast<std::size_t>(layer.t * layer.v));
  EXPECT_TRUE(log_prob_gradient_of_logits(
      reference_backend(), {},
      row_major(static_cast<const void*>(stored.data()), layer.t, layer.v, DType::fp32), 0, layer.v,
      layer.rows(), p.upstream(), row_major(g.data(), layer.t, layer.v, DType::bf16)));
  for (std::int64_t row = 0; row < layer.t; ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (layer.targets[at] < 0) continue;
    const double s = layer.scale[at];
    double sum = 0, mean = 0;
    for (std::int64_t i = 0; i < layer.v; ++i) sum += std::exp(z[row * layer.v + i] * s);
    for (std::int64_t i = 0; i < layer.v; ++i) {
      mean += z[row * layer.v + i] * s * std::exp(z[row * layer.v + i] * s) / sum;
    }
    for (std::int64_t i = 0; i < layer.v; ++i) {
      const double x = z[row * layer.v + i] * s;
      const double q = std::exp(x) / sum;
      const double truth =
          s * (p.d_logp[at] * ((i == layer.targets[at] ? 1 : 0) - q) + p.d_lse[at] * q -
               p.d_entropy[at] * q * ((x - std::log(sum)) + (std::log(sum) - mean)));
      const float got =
          arithmetic::to_float<DType::bf16>(g[static_cast<std::size_t>(row * layer.v + i)]);
      EXPECT_NEAR(got, truth, std::fabs(truth) * 0x1.01p-8 + 4e-6 * q + 1e-38) << row << " " << i;
    }
  }
}

}  // namespace
}  // namespace detgemm

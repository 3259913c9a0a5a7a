// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Wrong calls: each gets a sentence with the argument, its value and the rule, and writes nothing.

#include <cmath>
#include <functional>
#include <regex>

#include "tests/reference/log_prob_layer.hpp"

namespace detgemm {
namespace {

using namespace test;

void expect_refusal(const Status& status, const char* sentence, const char* what) {
  EXPECT_FALSE(status.ok()) << what;
  EXPECT_TRUE(std::regex_search(status.message(), std::regex(sentence)))
      << what << ": " << status.message() << "\n  is not: " << sentence;
}

struct BadSpec {
  const char* name;
  const char* sentence;
  std::function<void(LogProbSpec&)> spoil;
};

TEST(LogProbRefusals, Specs) {
  const BadSpec bad[] = {
      {"fp16", "contract output is fp16: logits are bf16 or fp32",
       [](LogProbSpec& s) { s.contract.output = DType::fp16; }},
      {"scaled", "contract is hopper/bf16/scaled:64->fp32: log-probabilities have no scales",
       [](LogProbSpec& s) { s.contract = contract_of("hopper/bf16/scaled:64->fp32"); }},
      {"n", "n is -1: it must be from 0 to 2147483647", [](LogProbSpec& s) { s.n = -1; }},
      {"k", "k is -1: it must not be negative", [](LogProbSpec& s) { s.k = -1; }},
      {"n * k", "n is 40 and k is 9223372036854775807: n \\* k must fit 2\\^63",
       [](LogProbSpec& s) { s.k = INT64_MAX; }},
      {"alpha", "alpha is inf: it must be finite", [](LogProbSpec& s) { s.alpha = HUGE_VALF; }},
      {"bias", "bias is e4m3: it must be bf16, fp16 or fp32",
       [](LogProbSpec& s) { s.bias = DType::e4m3; }},
      {"begin", "begin is 8: a shard begins at a multiple of 16",
       [](LogProbSpec& s) {
         s.begin = 8;
         s.n = 16;
         s.vocabulary = 100;
       }},
      {"begin < 0", "begin is -16: it must be from 0", [](LogProbSpec& s) { s.begin = -16; }},
      {"end", "end is 40: a shard ends at a multiple of 16 or at the vocabulary's end, 100",
       [](LogProbSpec& s) { s.vocabulary = 100; }},
      {"vocabulary", "vocabulary is -5: it must be from 0",
       [](LogProbSpec& s) { s.vocabulary = -5; }},
      {"dgrad's input", "dgrad is ieee_fma/fp32/chain->fp32: the gradient of logits is bf16",
       [](LogProbSpec& s) { s.dgrad = contract_of("ieee_fma/fp32/chain->fp32"); }},
      {"wgrad scaled", "wgrad is hopper/bf16/scaled:64->fp32: log-probabilities have no scales",
       [](LogProbSpec& s) { s.wgrad = contract_of("hopper/bf16/scaled:64->fp32"); }},
      {"operands", "dgrad is set and the contract is ieee_fma/fp32/chain->fp32: gradients need",
       [](LogProbSpec& s) {
         s.contract = contract_of("ieee_fma/fp32/chain->fp32");
         s.dgrad = contract_of("hopper/bf16/chain->fp32");
       }},
      {"no dW", "continue_dw is set and wgrad is none",
       [](LogProbSpec& s) { s.continue_dw = true; }},
      {"tree", "continue_dw is set and wgrad is hopper/bf16/tree:64->fp32: a tree cannot continue",
       [](LogProbSpec& s) {
         s.wgrad = contract_of("hopper/bf16/tree:64->fp32");
         s.continue_dw = true;
       }},
      {"bf16 dW", "continue_dw is set and wgrad is hopper/bf16/chain->bf16: a dW that continues is",
       [](LogProbSpec& s) {
         s.wgrad = contract_of("hopper/bf16/chain->bf16");
         s.continue_dw = true;
       }},
      {"chunk", "chunk is 24: it must be 0 \\(chosen\\) or a positive multiple of 16",
       [](LogProbSpec& s) { s.chunk = 24; }},
      {"chunk of a fold",
       "chunk is 16: dgrad is hopper/bf16/fold:32->fp32, so it must be a multiple of 32",
       [](LogProbSpec& s) {
         s.chunk = 16;
         s.dgrad = contract_of("hopper/bf16/fold:32->fp32");
       }},
      {"chunk of a tree", "chunk is 16: dgrad is hopper/bf16/tree:32->fp32, which cannot continue",
       [](LogProbSpec& s) {
         s.chunk = 16;
         s.dgrad = contract_of("hopper/bf16/tree:32->fp32");
       }},
  };
  for (const BadSpec& one : bad) {
    LogProbSpec spec = Layer(1, 40, 8, "hopper/bf16/chain->fp32").spec;
    ASSERT_TRUE(validate(spec));
    one.spoil(spec);
    expect_refusal(validate(spec), one.sentence, one.name);
    expect_refusal(LogProbPlan::create(reference_backend(), spec).status(), one.sentence, one.name);
  }
  for (const char* text :
       {"hopper/bf16/chain->fp32", "hopper/bf16/chain->fp32+logsum8", "+logsum16"}) {
    EXPECT_FALSE(LogProbContract::parse(text)) << text;
  }
  expect_refusal(LogProbContract::parse("hopper/bf16/chain->fp16+logsum16").status(),
                 "contract output is fp16", "text");
}

/// The arguments of a run, and how each is spoilt.
struct Call {
  Layer layer{3, 40, 8, "hopper/bf16/chain->fp32"};
  LogProbOperands operands = layer.operands();
  Results results{3, 1};
  LogProbOutputs outputs = results.outputs();
  HostWorkspace memory;
  Workspace workspace;
  Stream stream;
};

struct BadCall {
  const char* name;
  const char* sentence;
  std::function<void(Call&)> spoil;
};

TEST(LogProbRefusals, Runs) {
  const BadCall bad[] = {
      {"x", "x is 3 x 7: it must be 3 x 8 \\(T x k\\)", [](Call& c) { c.operands.x.cols = 7; }},
      {"w", "w is 39 x 8: it must be 40 x 8 \\(n x k\\)", [](Call& c) { c.operands.w.rows = 39; }},
      {"x's type", "x.dtype is fp16: the plan needs bf16",
       [](Call& c) { c.operands.x.dtype = DType::fp16; }},
      {"w is null", "w.data is null", [](Call& c) { c.operands.w.data = nullptr; }},
      {"rows", "targets.rows is 2: it must be T = 3",
       [](Call& c) { c.operands.rows.targets.rows = 2; }},
      {"per_row", "targets.per_row is 0: it must be at least 1",
       [](Call& c) { c.operands.rows.targets.per_row = 0; }},
      {"row_stride", "targets.row_stride is 0: it must be at least per_row = 1",
       [](Call& c) { c.operands.rows.targets.row_stride = 0; }},
      {"type", "targets.type is unknown \\(7\\): it must be i32 \\(0\\) or i64 \\(1\\)",
       [](Call& c) { c.operands.rows.targets.type = static_cast<OffsetType>(7); }},
      {"no targets", "targets.data is null: logp needs targets",
       [](Call& c) { c.operands.rows.targets.data = nullptr; }},
      {"target", "targets\\[1,0\\] is 40: it must be below the vocabulary's end, 40, or negative",
       [](Call& c) { c.layer.targets[1] = 40; }},
      {"scale", "scale\\[2\\] is 0.0*: it must be finite and positive",
       [](Call& c) { c.layer.scale[2] = 0; }},
      {"scale NaN", "scale\\[0\\] is nan: it must be finite and positive",
       [](Call& c) { c.layer.scale[0] = NAN; }},
      {"scale < 0", "scale\\[0\\] is -1.0*: it must be finite and positive",
       [](Call& c) { c.layer.scale[0] = -1; }},
      {"alignment", "lse is 0x[0-9a-f]*: it must be a multiple of 4",
       [](Call& c) {
         c.outputs.lse = reinterpret_cast<float*>(reinterpret_cast<char*>(c.outputs.lse) + 1);
       }},
      {"overlap", "lse at .* overlaps logp at .*: they must not share memory",
       [](Call& c) { c.outputs.lse = c.outputs.logp + 1; }},
      {"overlap with x", "logp at .* overlaps x at",
       [](Call& c) { c.outputs.logp = reinterpret_cast<float*>(c.layer.x.data()); }},
      {"workspace", "workspace.bytes is 0: these rows need at least [0-9]+",
       [](Call& c) { c.workspace.bytes = 0; }},
      {"no workspace", "workspace.data is null", [](Call& c) { c.workspace.data = nullptr; }},
      {"odd workspace", "workspace.data is 0x[0-9a-f]*: it must be a multiple of 256",
       [](Call& c) { c.workspace.data = static_cast<char*>(c.workspace.data) + 8; }},
      {"stream", "stream.kind is cuda: backend reference needs host",
       [](Call& c) { c.stream.kind = DeviceKind::cuda; }},
  };
  for (const BadCall& one : bad) {
    Call c;
    const auto plan = LogProbPlan::create(reference_backend(), c.layer.spec);
    ASSERT_TRUE(plan);
    const std::size_t bytes = *plan->workspace_bytes(3);
    c.memory = *HostWorkspace::allocate(bytes + 256);
    c.workspace = {c.memory.get().data, bytes};
    one.spoil(c);
    const Results before = c.results;
    expect_refusal(plan->run(c.stream, c.operands, c.outputs, c.workspace), one.sentence, one.name);
    expect_same(before, c.results, one.name);
  }
}

TEST(LogProbRefusals, PlansOfOtherKinds) {
  Call c;
  LogProbSpec spec = c.layer.spec;
  spec.entropy = false;
  auto plan = LogProbPlan::create(reference_backend(), spec);
  ASSERT_TRUE(plan);
  c.memory = *HostWorkspace::allocate(*plan->workspace_bytes(3));
  expect_refusal(plan->run({}, c.operands, c.outputs, c.memory),
                 "entropy is not null: the plan was created without entropy", "entropy");
  spec.vocabulary = 80;
  spec.n = 32;
  c.operands.w.rows = 32;
  plan = LogProbPlan::create(reference_backend(), spec);
  ASSERT_TRUE(plan);
  c.outputs.entropy = nullptr;
  expect_refusal(plan->run({}, c.operands, c.outputs, c.memory),
                 "the plan has columns 0 to 32 of a vocabulary of 80: use nodes", "a shard");
  expect_refusal(plan->nodes({}, c.operands, {0, 16, nullptr, nullptr, false}, c.memory),
                 "shard is \\[0, 16\\): it must be \\[0, 32\\)", "nodes");
  expect_refusal(plan->workspace_bytes(-1).status(), "max_t is -1", "max_t");
  LogProbBackward backward;
  backward.forward = c.operands;
  backward.upstream.saved_k = c.results.saved_k.data();
  backward.upstream.saved_r = c.results.saved_r.data();
  std::vector<float> dx(24);
  backward.dx = row_major(dx.data(), 3, 8, DType::fp32);
  expect_refusal(plan->backward({}, backward, c.memory),
                 "dx is given: the plan was created without its contract", "dx");
  backward.dx = {};
  backward.upstream.saved_r = nullptr;
  expect_refusal(plan->backward({}, backward, c.memory), "saved_r is null", "saved_r");
}

TEST(LogProbRefusals, StoredLogitsAndShards) {
  std::vector<std::uint16_t> z(3 * 40);
  std::vector<std::int64_t> targets{1, 2, 3};
  std::vector<std::uint32_t> nodes(3 * 8 * 3), more(3 * 8 * 3);
  std::vector<float> x(3), y(3);
  Results results(3, 1);
  const ConstMatrix logits = row_major(static_cast<const void*>(z.data()), 3, 40, DType::bf16);
  const LogProbRows rows{{targets.data(), 3, 1, 1, OffsetType::i64}, nullptr};
  const Backend& backend = reference_backend();
  auto memory = *HostWorkspace::allocate(4096);
  const auto call = [&](ConstMatrix view, std::int64_t vocabulary) {
    return log_prob_of_logits(backend, {}, view, vocabulary, rows, results.outputs(), memory);
  };
  ASSERT_TRUE(call(logits, 40));
  expect_refusal(call(logits, 41), "logits.cols is 40: it must be at least 41", "cols");
  expect_refusal(call(logits, -1), "vocabulary is -1: it must be from 0", "vocabulary");
  ConstMatrix other = logits;
  other.dtype = DType::fp16;
  expect_refusal(call(other, 40), "logits.dtype is fp16: logits are bf16 or fp32", "type");
  const auto shard = [&](LogShard one) {
    return log_prob_nodes_of_logits(backend, {}, logits, 40, rows, one);
  };
  ASSERT_TRUE(shard({0, 32, nodes.data(), x.data(), true}));
  expect_refusal(shard({8, 32, nodes.data(), nullptr, true}), "begin is 8: a shard begins at",
                 "begin");
  expect_refusal(shard({0, 33, nodes.data(), nullptr, true}), "end is 33: a shard ends at", "end");
  expect_refusal(shard({0, 48, nodes.data(), nullptr, true}),
                 "end is 48: it must not exceed the vocabulary, 40", "end");
  expect_refusal(shard({0, 32, nullptr, nullptr, true}), "shard.nodes is null", "nodes");
  const auto join = [&](LogShard left, LogShard right) {
    const LogShard both[] = {left, right};
    return log_prob_join(backend, {}, 3, both, 40, rows, results.outputs());
  };
  const LogShard left{0, 32, nodes.data(), x.data(), true};
  expect_refusal(join(left, left),
                 "shards\\[1\\].begin is 0: it must be where the shard before it ends, 32", "gap");
  expect_refusal(join(left, {32, 32, more.data(), y.data(), true}),
                 "shards end at column 32: they must hold the whole vocabulary, 40", "end");
  expect_refusal(join(left, {32, 40, more.data(), nullptr, true}),
                 "shards\\[1\\].target_logit is null", "targets");
  expect_refusal(join(left, {32, 40, more.data(), y.data(), false}),
                 "shards\\[1\\].entropy is not set", "entropy");
  expect_refusal(log_prob_slots(3, 32).status(), "begin is 3", "slots");
  expect_refusal(log_prob_workspace_bytes(-1, 3).status(), "t is -1", "t");
  std::vector<std::uint16_t> g(3 * 40, 0x5555);
  const auto gradient = [&](const LogProbUpstream& up, Matrix to) {
    return log_prob_gradient_of_logits(backend, {}, logits, 0, 40, rows, up, to);
  };
  LogProbUpstream up;
  up.saved_k = results.saved_k.data();
  up.saved_r = results.saved_r.data();
  up.d_entropy = x.data();
  const Matrix to = row_major(g.data(), 3, 40, DType::bf16);
  expect_refusal(gradient(up, to), "lse is null: d_entropy needs it", "lse");
  up.d_entropy = nullptr;
  expect_refusal(gradient(up, row_major(g.data(), 3, 39, DType::bf16)),
                 "g is 3 x 39: it must be 3 x 40", "g");
  expect_refusal(gradient(up, row_major(g.data(), 3, 20, DType::fp32)),
                 "g.dtype is fp32: the gradient is bf16", "g");
  EXPECT_EQ(g, std::vector<std::uint16_t>(3 * 40, 0x5555));
  ASSERT_TRUE(gradient(up, to));
}

}  // namespace
}  // namespace detgemm

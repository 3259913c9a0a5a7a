// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <set>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"
#include "detgemm/grouped.hpp"
#include "detgemm/log_prob.hpp"
#include "detgemm/plan.hpp"

// An engine in C that hands all that it is given to a backend of the project: every door of the
// table leads somewhere, and what goes wrong behind one is found.

namespace detgemm::conformance {
namespace {

/// What goes wrong on the way, behind one door each.
enum class Mistake {
  none,
  one_leafs_scale,      // the rows' scales are those of the first leaf
  forgets_line_scale,   // of columns
  promise_cuts_k,       // a B that is promised lacks its last product
  batched_first_b,      // all groups have the first one's B
  offsets_as_i32,       // the upper half of each offset counts as an offset
  packed_groups,        // groups of B are taken to be stacked without gaps
  masked_as_batched,    // rows beyond the count are written
  groups_first_scales,  // all groups have the scales of the first one's B
  empty_untouched,      // a group without products keeps its bytes
  unscaled_logits,      // scales are 1
  targets_of_shard,     // a shard counts targets from its own first column
  packed_head,          // rows of W are taken to be without gaps
  third_plane,          // nodes have a plane A whatever the shard says
};
Mistake mistake = Mistake::none;

const Backend& behind() { return controls::honest(); }

int say(const Status& status, char* sentence, std::size_t size) {
  if (status.ok()) return 0;
  const std::string& text = status.message();
  std::memcpy(sentence, text.c_str(), std::min(text.size() + 1, size));
  return 1;
}

GemmSpec from_c(const detgemm_engine_spec& c) {
  GemmSpec spec;
  spec.contract = *Contract::parse(c.contract);
  spec.n = c.n, spec.k = c.k;
  spec.op_a = static_cast<Op>(c.op_a), spec.op_b = static_cast<Op>(c.op_b);
  spec.alpha = c.alpha, spec.beta = c.beta;
  if (c.bias >= 0) spec.bias = static_cast<DType>(c.bias);
  spec.activation = static_cast<Activation>(c.activation);
  spec.continue_from_c = c.continue_from_c != 0;
  spec.line_scales = c.line_scales != 0;
  spec.a_snapped = c.a_snapped != 0, spec.b_snapped = c.b_snapped != 0;
  return spec;
}
PlanOptions options_of(const detgemm_engine_spec& c) { return {c.variant, c.max_workers}; }

GroupedSpec from_c(const detgemm_engine_spec& c, const detgemm_engine_groups& g) {
  return {from_c(c), static_cast<GroupKind>(g.kind), g.count};
}
Matrix from_c(const detgemm_engine_matrix& m) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride, static_cast<DType>(m.dtype)};
}
BlockScales from_c(const detgemm_engine_scales& s) {
  return {s.data,       static_cast<ScaleType>(s.type), s.per, s.blocks, s.leaves, s.stride,
          s.leaf_stride};
}
Operands from_c(const detgemm_engine_spec& s, const detgemm_engine_call& c) {
  Operands o{from_c(c.a), from_c(c.b),       from_c(c.d),      from_c(c.c),
             {},          from_c(c.scale_a), from_c(c.scale_b)};
  if (s.bias >= 0) o.bias = {c.bias, s.n, static_cast<DType>(s.bias)};
  return o;
}
void name_kernel(const detgemm_engine_call& c, const RunInfo& info) {
  std::memcpy(c.kernel, info.kernel.c_str(), std::min(info.kernel.size() + 1, c.kernel_size));
}

int supports(const detgemm_engine_spec* c, char* sentence, std::size_t size) {
  return say(behind().supports(from_c(*c)), sentence, size);
}
void shorten(Operands& o, const GemmSpec& spec) {
  (spec.op_a == Op::none ? o.a.cols : o.a.rows) = spec.k;
  (spec.op_b == Op::none ? o.b.rows : o.b.cols) = spec.k;
}
int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  GemmSpec spec = from_c(*s);
  Operands o = from_c(*s, *c);
  if (mistake == Mistake::one_leafs_scale && !spec.line_scales && o.scale_a.leaves > 1) {
    o.scale_a.leaf_stride = 0;
  }
  if (mistake == Mistake::forgets_line_scale && spec.line_scales) o.scale_b.stride = 0;
  if (mistake == Mistake::promise_cuts_k && spec.b_snapped && spec.k > 1)
    --spec.k, shorten(o, spec);
  const auto plan = Plan::create(behind(), spec, options_of(*s));
  if (!plan) return say(plan.status(), c->sentence, c->sentence_size);
  RunInfo info;
  const Status status =
      plan->run({DeviceKind::host, c->stream}, o, {c->workspace, c->workspace_bytes}, &info);
  name_kernel(*c, info);
  return say(status, c->sentence, c->sentence_size);
}
std::size_t workspace_bytes(const detgemm_engine_spec* s, std::int64_t max_m) {
  const auto plan = Plan::create(behind(), from_c(*s), options_of(*s));
  return plan ? *plan->workspace_bytes(max_m) : 0;
}
const char* variant(const detgemm_engine_spec*, std::size_t index) {
  return index == 0 ? "scalar" : nullptr;
}
int combine(const detgemm_engine_spec* s, const detgemm_engine_matrix* roots, std::size_t count,
            const detgemm_engine_call* c) {
  // A plan asks which leaves a root has; the table says only that the ranges are equal nodes.
  const auto plan = behind().make_plan(from_c(*s), options_of(*s));
  if (!plan) return say(plan.status(), c->sentence, c->sentence_size);
  std::vector<TreeRoot> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back({from_c(roots[i]), std::countr_one(i)});
  RunInfo info;
  const Status status = (*plan)->combine({DeviceKind::host, c->stream}, list, from_c(*s, *c),
                                         {c->workspace, c->workspace_bytes}, &info);
  name_kernel(*c, info);
  return say(status, c->sentence, c->sentence_size);
}

int supports_groups(const detgemm_engine_spec* s, const detgemm_engine_groups* g, char* sentence,
                    std::size_t size) {
  return say(behind().supports_grouped(from_c(*s, *g)), sentence, size);
}
int run_groups(const detgemm_engine_spec* s, const detgemm_engine_groups* g,
               const detgemm_engine_call* c) {
  GroupedSpec spec = from_c(*s, *g);
  GroupedOperands x;
  x.arrays = from_c(*s, *c);
  x.group = {g->a, g->b, g->d, g->c, g->bias, g->scale_a, g->scale_b};
  if (g->offsets != nullptr) {
    x.offsets = {g->offsets, g->count, static_cast<OffsetType>(g->offset_type)};
  }
  std::vector<std::int32_t> counts;
  switch (mistake) {
    case Mistake::batched_first_b:
      if (spec.kind == GroupKind::batched) x.group.b = 0;
      break;
    case Mistake::groups_first_scales:
      x.group.scale_b = 0;
      break;
    case Mistake::offsets_as_i32:
      x.offsets.type = OffsetType::i32;
      break;
    case Mistake::packed_groups:
      if (spec.kind != GroupKind::k_grouped) x.group.b = spec.gemm.n * spec.gemm.k;
      break;
    case Mistake::masked_as_batched:
      if (spec.kind == GroupKind::m_masked) {
        counts.assign(static_cast<std::size_t>(g->count),
                      static_cast<std::int32_t>(x.arrays.d.rows));
        x.offsets = {counts.data(), g->count, OffsetType::i32};
      }
      break;
    case Mistake::empty_untouched:
      if (spec.kind == GroupKind::k_grouped && x.arrays.b.rows > 0) {
        const auto first = x.offsets.type == OffsetType::i32
                               ? *static_cast<const std::int32_t*>(g->offsets)
                               : *static_cast<const std::int64_t*>(g->offsets);
        if (first == 0 && g->count > 1) {
          x.offsets.data = static_cast<const char*>(g->offsets) + size_of(x.offsets.type);
          --x.offsets.size, --spec.groups;
          x.arrays.d.data = static_cast<char*>(x.arrays.d.data) +
                            x.group.d * static_cast<int>(size_of(x.arrays.d.dtype));
        }
      }
      break;
    default:
      break;
  }
  const auto plan = GroupedPlan::create(behind(), spec, options_of(*s));
  if (!plan) return say(plan.status(), c->sentence, c->sentence_size);
  RunInfo info;
  const Status status =
      plan->run({DeviceKind::host, c->stream}, x, {c->workspace, c->workspace_bytes}, &info);
  name_kernel(*c, info);
  if (c->kernel[0] == '\0') std::memcpy(c->kernel, "none", 5);
  return say(status, c->sentence, c->sentence_size);
}
std::size_t groups_workspace_bytes(const detgemm_engine_spec* s, const detgemm_engine_groups* g,
                                   std::int64_t max_m, std::int64_t max_k) {
  const auto plan = GroupedPlan::create(behind(), from_c(*s, *g), options_of(*s));
  return plan ? *plan->workspace_bytes(max_m, max_k) : 0;
}

/// Tokens from C, and where their results go.
struct Tokens {
  explicit Tokens(const detgemm_engine_tokens& c)
      : stream{DeviceKind::host, c.stream},
        rows{{c.targets, c.rows, 1, c.target_stride, static_cast<OffsetType>(c.target_type)},
             mistake == Mistake::unscaled_logits ? nullptr : c.scale},
        out{c.logp, c.target_logit, c.lse, c.entropy, c.saved_k, c.saved_r},
        workspace{c.workspace, c.workspace_bytes} {}
  Stream stream;
  LogProbRows rows;
  LogProbOutputs out;
  Workspace workspace;
};
LogShard from_c(const detgemm_engine_shard& s) {
  return {s.begin, s.end, s.nodes, s.target_logit,
          s.planes == 3 || mistake == Mistake::third_plane};
}

int log_probs(const detgemm_engine_matrix* z, const detgemm_engine_tokens* c) {
  const Tokens t(*c);
  return say(
      log_prob_of_logits(behind(), t.stream, from_c(*z), c->vocabulary, t.rows, t.out, t.workspace),
      c->sentence, c->sentence_size);
}
int log_prob_nodes(const detgemm_engine_matrix* z, const detgemm_engine_shard* s,
                   const detgemm_engine_tokens* c) {
  // The library refuses targets beyond the shard as if it ended the vocabulary, and it gives
  // ignored rows a +0: so all but the shard's own are ignored here, and left alone in the result.
  const Tokens t(*c);
  std::vector<std::int32_t> own(static_cast<std::size_t>(c->rows));
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) * c->target_stride;
    std::int64_t id = c->target_type == 0 ? static_cast<const std::int32_t*>(c->targets)[at]
                                          : static_cast<const std::int64_t*>(c->targets)[at];
    if (mistake == Mistake::targets_of_shard && id >= 0) id += s->begin;
    own[i] = static_cast<std::int32_t>(id >= s->begin && id < s->end ? id : -1);
  }
  const LogProbRows rows{{own.data(), c->rows, 1, 1, OffsetType::i32}, t.rows.scale};
  std::vector<float> logits(own.size());
  LogShard shard = from_c(*s);
  shard.target_logit = logits.data();
  const Status status =
      log_prob_nodes_of_logits(behind(), t.stream, from_c(*z), c->vocabulary, rows, shard);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] >= 0 && s->target_logit != nullptr) s->target_logit[i] = logits[i];
  }
  return say(status, c->sentence, c->sentence_size);
}
int log_prob_joined(const detgemm_engine_shard* shards, std::size_t count,
                    const detgemm_engine_tokens* c) {
  const Tokens t(*c);
  std::vector<LogShard> list;
  std::vector<std::vector<float>> logits;  // chunks of a layer write where results go
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(from_c(shards[i]));
    if (shards[i].target_logit == nullptr) continue;
    logits.emplace_back(shards[i].target_logit, shards[i].target_logit + c->rows);
    list.back().target_logit = logits.back().data();
  }
  return say(log_prob_join(behind(), t.stream, c->rows, list, c->vocabulary, t.rows, t.out),
             c->sentence, c->sentence_size);
}
Result<LogProbPlan> layer_of(const detgemm_engine_spec& s) {
  const GemmSpec product = from_c(s);
  LogProbSpec spec;
  spec.n = s.n, spec.k = s.k;
  spec.contract = product.contract;
  spec.alpha = product.alpha, spec.bias = product.bias;
  spec.entropy = true;
  return LogProbPlan::create(behind(), spec, options_of(s));
}
int log_prob_layer(const detgemm_engine_spec* s, const detgemm_engine_matrix* x,
                   const detgemm_engine_matrix* w, const void*, const detgemm_engine_tokens* c) {
  const Tokens t(*c);
  const auto plan = layer_of(*s);
  if (!plan) return say(plan.status(), c->sentence, c->sentence_size);
  LogProbOperands o;
  o.x = from_c(*x), o.w = from_c(*w), o.rows = t.rows;
  if (mistake == Mistake::packed_head) o.w.row_stride = o.w.cols, o.w.col_stride = 1;
  return say(plan->run(t.stream, o, t.out, t.workspace), c->sentence, c->sentence_size);
}
std::size_t log_prob_layer_bytes(const detgemm_engine_spec* s, std::int64_t max_rows) {
  const auto plan = layer_of(*s);
  return plan ? *plan->workspace_bytes(max_rows) : 0;
}

detgemm_engine all_doors() {
  detgemm_engine e{};
  e.struct_size = sizeof e;
  e.abi_version = DETGEMM_ENGINE_ABI_VERSION;
  e.name = "through";
  e.supports = supports, e.run = run;
  e.variant = variant, e.workspace_bytes = workspace_bytes, e.combine = combine;
  e.takes = DETGEMM_ENGINE_SCALES | DETGEMM_ENGINE_LINE_SCALES | DETGEMM_ENGINE_SNAPPED;
  e.supports_groups = supports_groups, e.run_groups = run_groups;
  e.groups_workspace_bytes = groups_workspace_bytes;
  e.log_probs = log_probs, e.log_prob_nodes = log_prob_nodes, e.log_prob_join = log_prob_joined;
  e.log_prob_layer = log_prob_layer, e.log_prob_layer_bytes = log_prob_layer_bytes;
  return e;
}

constexpr const char* kScaled = "hopper/e4m3/scaled:64->bf16";
constexpr std::array kContracts{"hopper/bf16/chain->bf16", "ieee_fma/fp32/tree:32->fp32", kScaled,
                                "snap/bf16/fold:64->fp32", "hopper/bf16/fold:32->fp32"};

Report report_of(const Backend& engine, const char* property, const char* contract) {
  Options options;
  options.engine = &engine;
  options.oracle.backend = &controls::honest();
  options.contracts = {*Contract::parse(contract)};
  if (property != nullptr) options.properties = {property};
  auto report = run_conformance(options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return std::move(report).value();
}

TEST(EngineDoors, EveryPropertyPassesAndNoneIsUnsupported) {
  mistake = Mistake::none;
  const detgemm_engine table = all_doors();
  const auto engine = std::move(wrap_engine(&table)).value();
  std::set<std::string> passed;
  for (const char* contract : kContracts) {
    for (const Cell& cell : report_of(*engine, nullptr, contract).cells) {
      EXPECT_TRUE(cell.verdict == Verdict::passed || cell.verdict == Verdict::skipped)
          << cell.property << " under " << contract << ": " << name(cell.verdict) << ", "
          << cell.reason << (cell.failures.empty() ? "" : cell.failures.front().what);
      if (cell.verdict == Verdict::passed) passed.insert(cell.property);
    }
  }
  // All kinds of groups but segments of K have scales.
  for (const char* property : {"group_neighbours", "group_order", "group_count", "group_padding",
                               "group_ranks", "group_empty"}) {
    const Cell cell = report_of(*engine, property, kScaled).cells.front();
    EXPECT_EQ(name(cell.verdict), "passed") << property << ": " << cell.reason;
  }
  // The host has no graphs to replay.
  EXPECT_EQ(passed.size() + 1, properties().size());
  EXPECT_EQ(passed.count("graph_replay"), 0U);
}

TEST(EngineDoors, AMistakeBehindEachIsFound) {
  struct Row {
    Mistake mistake;
    const char *property, *contract;
  };
  for (const auto& [planted, property, contract] :
       {Row{Mistake::one_leafs_scale, "reference", kScaled},
        Row{Mistake::forgets_line_scale, "line_scales", "hopper/bf16/chain->bf16"},
        Row{Mistake::promise_cuts_k, "snapped", "snap/bf16/fold:64->fp32"},
        Row{Mistake::batched_first_b, "group_padding", "hopper/bf16/chain->bf16"},
        Row{Mistake::groups_first_scales, "group_order", kScaled},
        Row{Mistake::groups_first_scales, "group_padding", kScaled},
        Row{Mistake::offsets_as_i32, "group_order", "hopper/bf16/chain->bf16"},
        Row{Mistake::packed_groups, "group_padding", "hopper/bf16/chain->bf16"},
        Row{Mistake::masked_as_batched, "group_padding", "hopper/bf16/chain->bf16"},
        Row{Mistake::empty_untouched, "group_empty", "hopper/bf16/chain->bf16"},
        Row{Mistake::unscaled_logits, "log_prob_reference", "hopper/bf16/chain->bf16"},
        Row{Mistake::targets_of_shard, "log_prob_shards", "hopper/bf16/chain->bf16"},
        Row{Mistake::packed_head, "log_prob_fused", "hopper/bf16/chain->bf16"}}) {
    mistake = planted;
    const detgemm_engine table = all_doors();
    const auto engine = std::move(wrap_engine(&table)).value();
    const Report report = report_of(*engine, property, contract);
    EXPECT_EQ(name(report.cells.front().verdict), "failed")
        << static_cast<int>(planted) << " by " << property << ": " << report.cells.front().reason;
  }
  mistake = Mistake::none;
}

TEST(EngineDoors, LogProbabilitiesNeedTheirOwnCallbacks) {
  mistake = Mistake::none;
  detgemm_engine table = all_doors();
  constexpr const char* kChain = "hopper/bf16/chain->bf16";
  table.log_prob_layer = nullptr;  // then columns are computed by `run`, and joined
  auto engine = std::move(wrap_engine(&table)).value();
  EXPECT_EQ(name(report_of(*engine, "log_prob_fused", kChain).cells.front().verdict), "passed");
  table.log_prob_nodes = nullptr;
  engine = std::move(wrap_engine(&table)).value();
  EXPECT_EQ(name(report_of(*engine, "log_prob_reference", kChain).cells.front().verdict), "passed");
  for (const char* property : {"log_prob_shards", "log_prob_fused"}) {
    EXPECT_EQ(report_of(*engine, property, kChain).cells.front().reason,
              "engine \"through\" has no log_prob_nodes callback");
  }
  table.log_probs = nullptr;
  engine = std::move(wrap_engine(&table)).value();
  EXPECT_EQ(report_of(*engine, "log_prob_rows", kChain).cells.front().reason,
            "the engine does not compute log-probabilities");
}

/// A head of 41 words whose weight has 48 rows, for 3 tokens, and its results.
struct Head {
  static constexpr std::int64_t kTokens = 3, kWidth = 16, kRows = 48, kWords = 41;
  std::vector<std::uint16_t> x, w;  // (kTokens, kWidth), (kRows, kWidth)
  std::vector<std::int32_t> targets{0, kWords - 1, -100};
  std::array<std::vector<float>, 4> results;  // logp, x_t, lse, H

  Head() : x(kTokens * kWidth), w(kRows * kWidth, 0x7fff) {  // the rows that do not exist are NaN
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(0x3f00 + i);
    for (std::size_t i = 0; i < kWords * kWidth; ++i) {
      w[i] = static_cast<std::uint16_t>((i % 3 == 0 ? 0xbd00 : 0x3d00) + i % 200);
    }
    results.fill(std::vector<float>(kTokens));
  }
  LogProbOutputs outputs() {
    return {results[0].data(), results[1].data(), results[2].data(), results[3].data()};
  }
  Status run(const Backend& backend, std::int64_t per_row = 1) {
    LogProbSpec spec;
    spec.n = kRows, spec.k = kWidth, spec.vocabulary = kWords;
    spec.contract = *Contract::parse("hopper/bf16/chain->bf16");
    spec.entropy = true;
    const auto plan = LogProbPlan::create(backend, spec);
    if (!plan) return plan.status();
    LogProbOperands o;
    o.x = {x.data(), kTokens / per_row, kWidth, kWidth, 1, DType::bf16};
    o.w = {w.data(), kRows, kWidth, kWidth, 1, DType::bf16};
    o.rows.targets = {targets.data(), kTokens / per_row, per_row, per_row, OffsetType::i32};
    std::vector<std::byte> memory(*plan->workspace_bytes(kTokens) + 256);
    void* at = memory.data();
    std::size_t size = memory.size();
    std::align(256, size - 256, at, size);
    return plan->run({}, o, outputs(), {at, size});
  }
};

TEST(EngineDoors, RowsOfAHeadThatDoNotExistAreNotHanded) {
  mistake = Mistake::none;
  detgemm_engine table = all_doors();
  Head expected;
  ASSERT_TRUE(expected.run(behind()).ok());
  EXPECT_LT(expected.results[0][1], 0.0F);
  for (const bool has_layer : {true, false}) {
    if (!has_layer) table.log_prob_layer = nullptr;
    Head found;
    const Status status = found.run(*std::move(wrap_engine(&table)).value());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(found.results, expected.results) << has_layer;
  }
}

TEST(EngineDoors, SeveralTargetsOfARowAreRefused) {
  mistake = Mistake::none;
  const detgemm_engine table = all_doors();
  Head head;
  head.targets = {0, 1, 2};
  EXPECT_EQ(head.run(*std::move(wrap_engine(&table)).value(), 3).message(),
            "targets.per_row is 3: an engine in C has one target per row");
  EXPECT_TRUE(head.run(behind(), 3).ok());
}

TEST(EngineDoors, AShardHasThePlanesThatItsNodesHaveRoomFor) {
  const detgemm_engine table = all_doors();
  const auto engine = std::move(wrap_engine(&table)).value();
  const std::int64_t t = Head::kTokens, v = Head::kWidth;
  const Head head;
  const std::vector<std::int32_t> targets{0, 15, -100};
  const auto nodes = [&](const Backend& backend, bool entropy) {
    std::vector<std::uint32_t> words(3 * static_cast<std::size_t>(t), 77);  // one leaf per row
    std::vector<float> target_logit(static_cast<std::size_t>(t));
    const LogProbRows rows{{targets.data(), t, 1, 1, OffsetType::i32}, nullptr};
    const LogShard shard{0, v, words.data(), target_logit.data(), entropy};
    const ConstMatrix logits{head.x.data(), t, v, v, 1, DType::bf16};
    const Status status = log_prob_nodes_of_logits(backend, {}, logits, v, rows, shard);
    EXPECT_TRUE(status.ok()) << status.message();
    return words;
  };
  mistake = Mistake::none;
  for (const bool entropy : {true, false}) {
    EXPECT_EQ(nodes(*engine, entropy), nodes(behind(), entropy));
    EXPECT_EQ(nodes(*engine, entropy).back() == 77, !entropy);
  }
  mistake = Mistake::third_plane;
  EXPECT_NE(nodes(*engine, false), nodes(behind(), false));
  mistake = Mistake::none;
}

TEST(EngineDoors, ATableOfBeforeIsRefusedOnlyForWhatItLacks) {
  mistake = Mistake::none;
  detgemm_engine table = all_doors();
  table.struct_size = offsetof(detgemm_engine, takes);
  const auto engine = std::move(wrap_engine(&table)).value();
  GemmSpec spec;
  spec.n = 8, spec.k = 64;
  spec.contract = *Contract::parse("snap/bf16/fold:64->fp32");
  EXPECT_TRUE(engine->supports(spec).ok());
  spec.b_snapped = true;
  EXPECT_EQ(engine->supports(spec).message(),
            "engine \"through\": b_snapped is true, and its table's takes lacks "
            "DETGEMM_ENGINE_SNAPPED");
  spec = {};
  spec.n = 8, spec.k = 64;
  spec.contract = *Contract::parse("hopper/bf16/chain->bf16");
  EXPECT_TRUE(engine->supports(spec).ok());
  GroupedSpec groups{spec, GroupKind::m_grouped, 2};
  EXPECT_EQ(engine->supports_grouped(groups).message(),
            "engine \"through\" has no run_groups callback: it is not given m_grouped problems");
  spec.line_scales = true;
  EXPECT_EQ(engine->supports(spec).message(),
            "engine \"through\": line_scales is true, and its table's takes lacks "
            "DETGEMM_ENGINE_LINE_SCALES");
}

}  // namespace
}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/log_prob.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/conformance/buffer.hpp"
#include "core/conformance/format.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// Rows of logits, with a target and a scale each.
struct Rows {
  Elements logits;
  std::vector<std::int64_t> targets;
  Elements scales;
};

/// The vocabulary of a model, beyond what 16 bits count.
constexpr std::int64_t kModelV = 70'000;

/// What is compared of each row, as words: logp, x_t, lse, H, K, R.
constexpr std::int64_t kWords = 6;
constexpr std::int64_t kEntropyWord = 3;

/// Now and then one number at an edge of the rules, and rows of which one column or none is left.
void draw_edges(Case& c, Elements& logits, std::int64_t row) {
  constexpr double kEdges[] = {65536, -65536, 66048, -66048, -0.0, 0x1p-130};
  const std::int64_t v = logits.cols;
  if (c.random().one_in(12)) {
    const std::int64_t left = c.random().one_in(2) ? c.random().below(v) : v;
    for (std::int64_t j = 0; j < v; ++j) {
      if (j != left) logits.set(row, j, encode(-HUGE_VAL, logits.dtype));
    }
  }
  if (!c.random().one_in(4)) return;
  const double edge = c.random().pick(std::span<const double>(kEdges));
  logits.set(row, c.random().below(v), encode(edge, logits.dtype));
}

/// Rows of every kind: sizes of logits, masks, peaks, special values, ignored targets.
Rows draw_rows(Case& c, std::int64_t t, std::int64_t v, DType type) {
  Rows rows{Elements(type, t, v), {}, Elements(DType::fp32, t, 1)};
  for (std::int64_t i = 0; i < t; ++i) {
    constexpr double kSigmas[] = {0.5, 3, 12, 60};
    const double sigma = kSigmas[c.random().below(4)];
    const Elements drawn = draw_normal(c.random(), type, 1, v, sigma);
    const bool masked = c.random().one_in(4);
    for (std::int64_t j = 0; j < v; ++j) {
      rows.logits.set(i, j,
                      masked && c.random().one_in(3) ? encode(-HUGE_VAL, type) : drawn.get(0, j));
    }
    if (c.random().one_in(8)) rows.logits.set(i, c.random().below(v), some_nan(type));
    if (c.random().one_in(8)) rows.logits.set(i, c.random().below(v), encode(HUGE_VAL, type));
    if (c.random().one_in(5)) rows.logits.set(i, c.random().below(v), encode(-70000, type));
    // Where they are, the order of a sum hardly shows.
    const bool edges = c.index() % 2 != 0 && v < kModelV;
    if (edges) draw_edges(c, rows.logits, i);
    constexpr std::int64_t kIgnored[] = {-100, -1, -2'147'483'648};
    constexpr double kScales[] = {1 / 0.7, 0.25, 3, 0x1p-10};
    rows.targets.push_back(c.random().one_in(7)
                               ? c.random().pick(std::span<const std::int64_t>(kIgnored))
                           : c.random().one_in(6) ? v - 1
                                                  : c.random().below(v));
    rows.scales.set(i, 0,
                    encode(c.random().one_in(2) ? 1.0
                           : edges              ? c.random().pick(std::span<const double>(kScales))
                                                : kScales[0],
                           DType::fp32));
  }
  return rows;
}

Rows slice(const Rows& rows, std::int64_t begin, std::int64_t end) {
  return {row_slice(rows.logits, begin, end),
          {rows.targets.begin() + begin, rows.targets.begin() + end},
          row_slice(rows.scales, begin, end)};
}

/// What kWords are, as bits, where all are requested.
constexpr unsigned kAllWords = (1U << kWords) - 1;

/// How rows are handed over, and what is requested of them: none of it may enter a result.
struct Handover {
  OffsetType type = OffsetType::i32;
  std::int64_t stride = 1;     ///< from a target to the next
  bool scales = true;          ///< without, all are 1
  unsigned words = kAllWords;  ///< bit w: word w is requested
  bool wants(std::int64_t word) const { return (words >> word & 1U) != 0; }
};

/// Targets on the device, in words of 32 bits: the gaps hold another column's number.
Elements words_of(const std::vector<std::int64_t>& targets, const Handover& how) {
  const bool wide = how.type == OffsetType::i64;
  const std::int64_t step = how.stride * (wide ? 2 : 1);
  Elements words(DType::fp32, static_cast<std::int64_t>(targets.size()), step);
  for (std::int64_t i = 0; i < words.rows; ++i) {
    const auto bits = static_cast<std::uint64_t>(targets[static_cast<std::size_t>(i)]);
    words.set(i, 0, static_cast<std::uint32_t>(bits));
    if (wide) words.set(i, 1, static_cast<std::uint32_t>(bits >> 32));
  }
  return words;
}

/// Arrays in device memory, between canaries: inputs, which may not change, and results.
class Arrays {
 public:
  explicit Arrays(Device& device) : device_(device) {}

  Result<void*> put(const Elements& contents, bool written, const Layout& layout = {}) {
    auto buffer = Buffer::holding(device_, contents, false, layout, 0xff);
    if (!buffer) return buffer.status();
    buffers_.push_back({std::move(*buffer), written});
    return buffers_.back().buffer.data();
  }
  Matrix view() const { return buffers_.back().buffer.view(); }
  std::size_t last() const { return buffers_.size() - 1; }
  Result<Elements> read(std::size_t i) const { return buffers_[i].buffer.read(); }
  /// Empty, or that bytes changed that are no result.
  Result<std::string> violation() const {
    for (const Held& held : buffers_) {
      const auto intact = held.buffer.intact(held.written);
      if (!intact) return intact.status();
      if (!*intact) return std::string("bytes outside of the results changed");
      if (!held.buffer.touched().empty()) return held.buffer.touched();
    }
    return std::string();
  }

 private:
  struct Held {
    Buffer buffer;
    bool written;
  };
  Device& device_;
  std::vector<Held> buffers_;
};

/// Columns where V is cut, from 0 to V: none inside, or multiples of 16.
using Cuts = std::vector<std::int64_t>;

/// One call, or a call per shard and their join, on a backend's device.
class Call {
 public:
  Call(Case& c, const Backend& backend) : c_(c), backend_(backend), arrays_(backend.device()) {}

  void hand_over(const Handover& how) { how_ = how; }

  /// The words of each row, those that are not requested 0; nothing after a refusal, which is
  /// noted.
  template <class... What>
  std::optional<Elements> results(const Rows& rows, const What&... what) {
    auto stream = backend_.device().create_stream();
    if (!stream) return noted(stream.status());
    const Status status = run(*stream, rows, what...);
    const Status waited = backend_.device().synchronize(*stream);
    backend_.device().destroy_stream(*stream);
    if (!status) return noted(status);
    if (!waited) return noted(waited);
    const auto violation = arrays_.violation();
    if (!violation) return noted(violation.status());
    if (!violation->empty()) c_.fail(*violation);
    Elements words(DType::fp32, static_cast<std::int64_t>(rows.targets.size()), kWords);
    for (std::int64_t word = 0; word < kWords; ++word) {
      if (!how_.wants(word)) continue;
      const auto read = arrays_.read(first_ + static_cast<std::size_t>(word));
      if (!read) return noted(read.status());
      for (std::int64_t i = 0; i < words.rows; ++i) words.set(i, word, read->get(i, 0));
    }
    return words;
  }

 private:
  std::optional<Elements> noted(const Status& status) {
    c_.note(status);
    return std::nullopt;
  }

  /// Places targets, scales and results of T rows.
  Status place(const Rows& rows, std::int64_t t) {
    auto targets = arrays_.put(words_of(rows.targets, how_), false);
    if (!targets) return targets.status();
    auto scales = arrays_.put(rows.scales, false);
    if (!scales) return scales.status();
    with_ = {{*targets, t, 1, how_.stride, how_.type},
             how_.scales ? static_cast<const float*>(*scales) : nullptr};
    void* to[kWords] = {};
    for (std::int64_t word = 0; word < kWords; ++word) {
      auto memory = arrays_.put(Elements(DType::fp32, t, 1), true);
      if (!memory) return memory.status();
      to[word] = how_.wants(word) ? *memory : nullptr;
    }
    first_ = arrays_.last() + 1 - kWords;
    outputs_ = {static_cast<float*>(to[0]),        static_cast<float*>(to[1]),
                static_cast<float*>(to[2]),        static_cast<float*>(to[3]),
                static_cast<std::int32_t*>(to[4]), static_cast<float*>(to[5])};
    return {};
  }
  Result<Workspace> workspace(Result<std::size_t> bytes) {
    if (!bytes) return bytes.status();
    if (*bytes == 0) return Workspace{};
    auto memory = arrays_.put(
        Elements(DType::fp32, static_cast<std::int64_t>(*bytes / sizeof(float)), 1), true);
    if (!memory) return memory.status();
    return Workspace{*memory, *bytes};
  }

  /// One layer: the logits' contract on these operands, op(B) as W's rows.
  Status run(Stream stream, const Rows& rows, const Request& layer, std::int64_t chunk) {
    const std::int64_t t = layer.a.rows;
    LogProbSpec spec;
    spec.n = layer.b.cols;
    spec.k = layer.b.rows;
    spec.contract = layer.spec.contract;
    spec.entropy = true;
    spec.chunk = chunk;
    const auto plan = LogProbPlan::create(backend_, spec, layer.options);
    if (!plan) return plan.status();
    LogProbOperands operands;
    if (auto x = arrays_.put(layer.a, false, layer.a_layout); !x) return x.status();
    operands.x = arrays_.view();
    if (auto w = arrays_.put(transposed(layer.b), false, layer.b_layout); !w) return w.status();
    operands.w = arrays_.view();
    if (Status s = place(rows, t); !s) return s;
    operands.rows = with_;
    const auto scratch = workspace(plan->workspace_bytes(t));
    if (!scratch) return scratch.status();
    return plan->run(stream, operands, outputs_, *scratch);
  }

  Status run(Stream stream, const Rows& rows, const Cuts& cuts, const Layout& layout) {
    const std::int64_t t = rows.logits.rows;
    const std::int64_t v = rows.logits.cols;
    auto logits = arrays_.put(rows.logits, false, layout);
    if (!logits) return logits.status();
    const ConstMatrix all = arrays_.view();
    if (Status s = place(rows, t); !s) return s;
    if (cuts.size() <= 2) {
      const auto scratch = workspace(log_prob_workspace_bytes(t, v));
      if (!scratch) return scratch.status();
      return log_prob_of_logits(backend_, stream, all, v, with_, outputs_, *scratch);
    }
    std::vector<LogShard> shards;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const auto slots = log_prob_slots(cuts[i], cuts[i + 1]);
      if (!slots) return slots.status();
      auto nodes =
          arrays_.put(Elements(DType::fp32, std::max<std::int64_t>(*slots * 3 * t, 1), 1), true);
      if (!nodes) return nodes.status();
      auto target_logit = arrays_.put(Elements(DType::fp32, t, 1), true);
      if (!target_logit) return target_logit.status();
      float* const logits_of_targets =
          how_.wants(0) || how_.wants(1) ? static_cast<float*>(*target_logit) : nullptr;
      shards.push_back({cuts[i], cuts[i + 1], *nodes, logits_of_targets, how_.wants(kEntropyWord)});
      ConstMatrix part = all;
      part.data =
          static_cast<const std::byte*>(all.data) +
          static_cast<std::size_t>(cuts[i] * (v > 1 ? all.col_stride : 0)) * size_of(all.dtype);
      part.cols = v - cuts[i];
      const Status status =
          log_prob_nodes_of_logits(backend_, stream, part, v, with_, shards.back());
      if (!status) return status;
    }
    return log_prob_join(backend_, stream, t, shards, v, with_, outputs_);
  }

  Case& c_;
  const Backend& backend_;
  Arrays arrays_;
  Handover how_;
  LogProbRows with_;
  LogProbOutputs outputs_;
  std::size_t first_ = 0;
};

/// Whether the property applies to the contract and the engine; otherwise the case says why not.
bool applies(Case& c) {
  if (const Status s = LogProbContract{c.contract()}.validate(); !s) {
    c.skip(s.message());
    return false;
  }
  if (c.engine().log_prob() != nullptr) return true;
  c.skip("the engine does not compute log-probabilities");
  return false;
}

std::int64_t draw_v(Case& c) {
  constexpr std::int64_t kEdges[] = {1, 15, 16, 17, 255, 256, 257};
  const std::int64_t edge = c.random().below(14);
  return edge < 7 ? kEdges[edge] : c.random().between(18, c.full() ? 9000 : 1500);
}

std::optional<Elements> run(Case& c, const Backend& backend, const Rows& rows,
                            const Cuts& cuts = {}) {
  Layout layout;
  if (c.random().one_in(2)) layout = draw_layout(c.random());
  return Call(c, backend).results(rows, cuts, layout);
}

/// Any handover, but for rows that need their scales.
Handover draw_handover(Case& c) {
  Handover how;
  how.type = c.random().one_in(2) ? OffsetType::i32 : OffsetType::i64;
  how.stride = c.random().between(1, 3);
  // Of logp alone to all but one.
  how.words = c.random().one_in(3) ? 1U : static_cast<unsigned>(c.random().between(1, kAllWords));
  return how;
}

/// The words that are requested, and 0 for the others.
Elements requested(Elements words, const Handover& how) {
  for (std::int64_t word = 0; word < kWords; ++word) {
    for (std::int64_t i = 0; !how.wants(word) && i < words.rows; ++i) words.set(i, word, 0U);
  }
  return words;
}

/// The same rows, handed over in another way. False after a difference.
bool same_however(Case& c, Rows rows, Elements expected, const Cuts& cuts = {}) {
  Handover how = draw_handover(c);
  if (c.random().one_in(2)) {
    for (std::int64_t i = 0; i < rows.scales.rows; ++i) {
      rows.scales.set(i, 0, encode(1.0, DType::fp32));
    }
    const auto unscaled = run(c, c.engine(), rows);
    if (!unscaled) return true;
    expected = *unscaled;
    how.scales = false;
  }
  Call call(c, c.engine());
  call.hand_over(how);
  const auto got = call.results(rows, cuts, Layout{});
  if (!got) return true;
  return c.same(requested(std::move(expected), how), *got,
                "some results, with targets " + std::to_string(how.stride) + " apart of " +
                    std::string(name(how.type)) + (how.scales ? "" : " and without scales"));
}

/// The problem, for a sentence.
std::string of(const Rows& rows) {
  return " of " + std::to_string(rows.logits.rows) + " x " + std::to_string(rows.logits.cols) +
         " logits";
}

/// Sums in ascending order in place of the tree: whether the bits of some row show the order.
bool order_shows(const Rows& rows, const Elements& words) {
  for (std::int64_t i = 0; i < words.rows; ++i) {
    float sum = 0;
    const double k = static_cast<std::int32_t>(words.get(i, 4));
    if (std::fabs(k) > 100000) continue;
    const double scale = decode(rows.scales.get(i, 0), DType::fp32);
    for (std::int64_t j = 0; j < rows.logits.cols; ++j) {
      const double x = decode(rows.logits.get(i, j), rows.logits.dtype) * scale;
      sum += static_cast<float>(std::exp(x - k * std::log(2.0)));
    }
    if (encode(1.0 / static_cast<double>(sum), DType::fp32) != words.get(i, 5)) return true;
  }
  return false;
}

}  // namespace

/// A row of logits has the same results alone, in any batch, at any place and in any layout.
void log_prob_rows(Case& c) {
  if (!applies(c)) return;
  const std::int64_t t = c.random().between(2, 9);
  const Rows rows = draw_rows(c, t, draw_v(c), c.contract().output);
  c.log("T=" + std::to_string(t) + " V=" + std::to_string(rows.logits.cols));
  const auto all = run(c, c.engine(), rows);
  if (!all) return;
  for (const std::int64_t i : {std::int64_t{0}, c.random().below(t), t - 1}) {
    const auto alone = run(c, c.engine(), slice(rows, i, i + 1));
    if (!alone) return;
    if (!c.same(row_slice(*all, i, i + 1), *alone,
                "row " + std::to_string(i) + of(rows) + " alone"))
      return;
  }
  if (!same_however(c, rows, *all)) return;
  if (order_shows(rows, *all)) c.count_discriminating();
}

/// Shards of the vocabulary at any multiples of 16 join to the results of the whole.
void log_prob_shards(Case& c) {
  if (!applies(c)) return;
  const std::int64_t v = draw_v(c);
  const Rows rows = draw_rows(c, c.random().between(1, 5), v, c.contract().output);
  c.log("T=" + std::to_string(rows.logits.rows) + " V=" + std::to_string(v));
  const auto whole = run(c, c.engine(), rows);
  if (!whole) return;
  for (const std::int64_t ranks : {2, 3, 8}) {
    Cuts cuts{0};
    for (std::int64_t r = 1; r < ranks; ++r) cuts.push_back(16 * c.random().below(v / 16 + 1));
    cuts.push_back(v);
    std::sort(cuts.begin(), cuts.end());
    const auto joined = run(c, c.engine(), rows, cuts);
    if (!joined) return;
    if (!c.same(*whole, *joined, std::to_string(ranks) + " shards" + of(rows))) return;
    if (ranks == 3 && !same_however(c, rows, *whole, cuts)) return;
  }
  if (order_shows(rows, *whole)) c.count_discriminating();
}

/// A layer whose logits are never stored gives the results of its stored logits, in any chunks.
void log_prob_fused(Case& c) {
  if (!applies(c)) return;
  Shape shape = c.draw_shape();
  shape.n = c.random().between(100, c.full() ? 900 : 400);
  shape.m = std::min<std::int64_t>(shape.m, 6);
  shape.k = std::min<std::int64_t>(shape.k, c.full() ? 600 : 64);
  Request layer = c.draw(shape, Distribution::normal);
  const auto product = c.run(layer);
  if (!product) return;
  Rows rows = draw_rows(c, shape.m, shape.n, c.contract().output);
  rows.logits = product->d;
  // Logits so close that many of them matter to the last bit of their sum.
  for (std::int64_t i = 0; i < shape.m; ++i) rows.scales.set(i, 0, encode(0.11, DType::fp32));
  const auto stored = run(c, c.engine(), rows);
  if (!stored) return;
  for (const std::int64_t chunk : {std::int64_t{0}, 16 * c.random().between(1, 3)}) {
    layer.a_layout = draw_layout(c.random());
    layer.b_layout = draw_layout(c.random());
    const auto fused = Call(c, c.engine()).results(rows, layer, chunk);
    if (!fused) return;
    if (!c.same(*stored, *fused, "chunks of " + std::to_string(chunk) + of(rows) + ", fused"))
      return;
  }
  if (order_shows(rows, *stored)) c.count_discriminating();
}

/// The oracle's bits, whatever is stored after a row's end.
void log_prob_reference(Case& c) {
  if (!applies(c)) return;
  if (!c.has_oracle() || c.oracle().log_prob() == nullptr) {
    return c.skip("there is no oracle that computes log-probabilities");
  }
  std::int64_t t = c.random().between(1, 6), v = draw_v(c);
  if (c.index() == 1) t = 2, v = kModelV + c.random().below(1000);
  const Rows rows = draw_rows(c, t, v, c.contract().output);
  c.log("T=" + std::to_string(rows.logits.rows) + " V=" + std::to_string(rows.logits.cols));
  const auto expected = Call(c, c.oracle()).results(rows, Cuts{}, Layout{});
  if (!expected) return;
  const auto got = run(c, c.engine(), rows);
  if (!got) return;
  if (!c.same(*expected, *got, "log-probabilities" + of(rows))) return;
  if (order_shows(rows, *got)) c.count_discriminating();
}

}  // namespace detgemm::conformance

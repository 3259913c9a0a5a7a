// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu/cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace detgemm::bench {
namespace {

struct Shape {
  std::int64_t n, k;
};

constexpr Shape kShapes[] = {{6144, 4096},   {4096, 4096},   {1024, 4096},  {28672, 4096},
                             {4096, 14336},  {128256, 4096}, {24576, 4096}, {4096, 12288},
                             {151936, 4096}, {10240, 8192},  {8192, 8192},  {57344, 8192},
                             {8192, 28672}};
/// One narrow, one square, one tall and one wide: what odd and fp16 are shown on.
constexpr Shape kFewShapes[] = {{4096, 4096}, {28672, 4096}, {4096, 14336}, {8192, 8192}};

/// Under which contract a group of cases is computed.
enum class Under { chain, tree_of_8, fold_1024, fold_1024_into_fp32 };

struct Group {
  const char* name;
  Mode mode;
  Kind kind;
  std::vector<std::int64_t> tokens, quick_tokens;
  Under under = Under::chain;
};

const std::vector<Group>& groups() {
  using enum Mode;
  using enum Kind;
  static const std::vector<Group> all = {
      {"small", stream, forward, {1, 2, 4, 8, 16, 32, 64}, {1, 16, 64}},
      {"middle", stream, forward, {128, 192, 256, 384, 512}, {128, 256, 512}},
      {"large", burst, forward, {1024, 2048, 4096, 8192}, {1024, 8192}},
      {"settled", settled, forward, {1024, 2048, 4096, 8192}, {4096}},
      {"dA", burst, da, {512, 1024, 2048, 4096, 8192}, {1024, 8192}},
      {"dB", burst, db, {512, 1024, 2048, 4096, 8192}, {1024, 8192}},
      {"tree-small", stream, forward, {1, 2, 4, 8, 16, 32, 64}, {1, 16, 64}, Under::tree_of_8},
      {"tree-middle",
       stream,
       forward,
       {128, 192, 256, 384, 512},
       {128, 256, 512},
       Under::tree_of_8},
      {"tree-large", burst, forward, {1024, 2048, 4096, 8192}, {1024, 8192}, Under::tree_of_8},
      {"tree-settled", settled, forward, {1024, 2048, 4096, 8192}, {4096}, Under::tree_of_8},
      {"tree-skinny", stream, forward, {1, 4, 8, 16}, {1, 16}, Under::tree_of_8},
      {"fold-large", burst, forward, {4096, 8192, 16384, 32768}, {4096}, Under::fold_1024},
      {"fold-dB", burst, db, {4096, 8192, 16384, 32768}, {4096}, Under::fold_1024_into_fp32}};
  return all;
}

/// Few columns and a long K: too few tiles for the machine unless K is shared.
constexpr Shape kSkinny[] = {{1024, 8192}, {512, 8192},   {256, 8192},  {1024, 14336}, {512, 14336},
                             {256, 14336}, {1024, 28672}, {512, 28672}, {256, 28672}};

Problem under(Under which, Problem p) {
  const std::int64_t k = gemm_of(p).k;
  if (which == Under::tree_of_8) {
    p.reduction = {ReductionKind::tree, std::max<std::int64_t>(64, (k / 8 + 63) / 64 * 64)};
  } else if (which != Under::chain) {
    p.reduction = {ReductionKind::fold, 1024};
    p.accumulate = which == Under::fold_1024_into_fp32;
  }
  return p;
}

std::vector<Shape> chosen(const Options& options, const Shape* begin, const Shape* end) {
  std::vector<Shape> shapes;
  if (options.shapes.empty()) return {begin, end};
  for (const std::string& text : options.shapes) {
    long long n = 0;
    long long k = 0;
    if (std::sscanf(text.c_str(), "%lldx%lld", &n, &k) != 2 || n < 1 || k < 1) {
      throw std::invalid_argument("--shape " + text + " is not NxK");
    }
    shapes.push_back({n, k});
  }
  return shapes;
}

/// Odd shapes against their aligned neighbours, at few, middling and many tokens.
void add_odd(const Options& options, const Shape& s, std::vector<Case>& out) {
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t aligned_m) {
    out.push_back({"odd",
                   m >= 1024 ? Mode::burst : Mode::stream,
                   {Kind::forward, m, n, k},
                   Problem{Kind::forward, aligned_m, s.n, s.k}});
  };
  if (!options.tokens.empty()) {
    for (std::int64_t m : options.tokens) add(m, s.n - 1, s.k - 1, m);
    return;
  }
  add(8191, s.n, s.k, 8192);
  add(8191, s.n - 1, s.k - 1, 8192);
  add(16, s.n - 1, s.k - 1, 16);
  if (options.quick) return;
  add(8192, s.n - 1, s.k, 8192);
  add(8192, s.n, s.k - 1, 8192);
  add(512, s.n - 1, s.k - 1, 512);
  add(512, s.n, s.k - 4, 512);
}

void add_fp16(const Options& options, const Shape& s, std::vector<Case>& out) {
  std::vector<std::int64_t> tokens = options.tokens;
  if (tokens.empty()) {
    tokens = options.quick ? std::vector<std::int64_t>{16, 4096}
                           : std::vector<std::int64_t>{1, 16, 64, 256, 1024, 8192};
  }
  for (std::int64_t m : tokens) {
    out.push_back({"fp16",
                   m >= 1024 ? Mode::burst : Mode::stream,
                   {Kind::forward, m, s.n, s.k, DType::fp16},
                   Problem{Kind::forward, m, s.n, s.k}});
  }
}

/// Squares of fp32 under ieee_fma, each way round.
void add_fma(const Options& options, std::vector<Case>& out) {
  for (const Kind kind : {Kind::forward, Kind::da, Kind::db}) {
    for (const std::int64_t side : {2048, 4096, 8192}) {
      if (options.quick && side == 8192) continue;
      out.push_back({"fma", Mode::burst, {kind, side, side, side, DType::fp32}});
    }
  }
}

/// Microseconds by counted bytes and operations on an H200: for estimates only.
double guess_us(const Problem& p) {
  const Gemm g = gemm_of(p);
  return std::max({3.0, g.bytes() / 4.4e6, g.flops() / (p.type == DType::fp32 ? 50e6 : 720e6)});
}

}  // namespace

std::vector<Problem> problems_of(const std::vector<Case>& cases) {
  std::vector<Problem> problems;
  for (const Case& c : cases) {
    problems.push_back(c.problem);
    if (c.neighbour) problems.push_back(*c.neighbour);
  }
  return problems;
}

std::vector<Case> cases(const Options& options) {
  for (const std::string& name : options.groups) {
    bool known = name == "odd" || name == "fp16" || name == "fma";
    for (const Group& group : groups()) known = known || name == group.name;
    if (!known) throw std::invalid_argument("no group is named " + name);
  }
  std::vector<Case> all;
  for (const Group& group : groups()) {
    if (!wanted(options.groups, group.name)) continue;
    const auto& own = options.quick ? group.quick_tokens : group.tokens;
    const bool skinny = std::string_view(group.name) == "tree-skinny";
    const auto shapes = skinny ? chosen(options, std::begin(kSkinny), std::end(kSkinny))
                               : chosen(options, std::begin(kShapes), std::end(kShapes));
    for (const Shape& s : shapes) {
      for (std::int64_t m : options.tokens.empty() ? own : options.tokens) {
        all.push_back({group.name, group.mode, under(group.under, {group.kind, m, s.n, s.k})});
      }
    }
  }
  for (const Shape& s : chosen(options, std::begin(kFewShapes), std::end(kFewShapes))) {
    if (wanted(options.groups, "odd")) add_odd(options, s, all);
  }
  for (const Shape& s : chosen(options, std::begin(kFewShapes), std::end(kFewShapes))) {
    if (wanted(options.groups, "fp16")) add_fp16(options, s, all);
  }
  if (wanted(options.groups, "fma") && options.shapes.empty()) add_fma(options, all);
  return all;
}

Protocol protocol(const Case& c, const Options& options) {
  Protocol p;
  const bool quick = options.quick;
  switch (c.mode) {
    case Mode::stream:
      // Up to 64 tokens power is no question; above, a pause keeps the clock from sinking.
      p = {quick ? 5 : 15, c.problem.tokens <= 64 ? 1.0 : 10.0, 1000, 20};
      break;
    case Mode::burst:
      p = {quick ? 3 : 9, 60, 1000, 2};
      break;
    case Mode::settled:
      p = {quick ? 2 : 6, 0, 3000, 2, quick ? 0.4 : 1.0, quick ? 60.0 : 100.0};
      break;
  }
  if (options.repetitions > 0) p.repetitions = options.repetitions;
  return p;
}

int calls_for(const Protocol& p, double us) {
  constexpr int kMost = 256;
  return std::clamp(static_cast<int>(std::ceil(p.sample_us / us)), p.least_calls, kMost);
}

double estimate_s(const Case& c, const Options& options) {
  const Protocol p = protocol(c, options);
  const double us = guess_us(c.problem);
  const double graph_s = calls_for(p, us) * us * 1e-6;
  const double arms = c.neighbour ? 6 : 5;
  double seconds = 0.05 + (options.bits ? 0.02 : 0.0) + arms * (0.01 + 1.5 * graph_s);
  if (options.all_variants) return seconds + 0.04 * 20;
  if (c.mode == Mode::settled) {
    seconds += p.soak_s + arms * p.repetitions * std::max(p.block_ms * 1e-3, 2 * graph_s);
  } else {
    seconds += arms * p.repetitions * (p.idle_ms * 1e-3 + graph_s + 2e-4);
  }
  return seconds;
}

}  // namespace detgemm::bench

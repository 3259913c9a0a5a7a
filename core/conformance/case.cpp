// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/case.hpp"

#include <algorithm>

#include "core/conformance/format.hpp"

namespace detgemm::conformance {
namespace {

void keep_first(std::string& kept, const std::string& reason) {
  if (kept.empty()) kept = reason;
}

}  // namespace

Case::Case(const Setting& setting, std::int64_t index, Cell& cell, Evidence& evidence)
    : setting_(setting),
      index_(index),
      cell_(cell),
      evidence_(evidence),
      random_(derive(setting.seed, cell.property + " " + cell.contract, index)) {}

Contract Case::with_output(DType output) const {
  Contract contract = setting_.contract;
  contract.output = output;
  return contract;
}

std::int64_t Case::budget() const { return full() ? 400'000 : 16'000; }

std::int64_t Case::draw_k() {
  if (random_.one_in(4)) return random_.between(1, full() ? 5000 : 1100);
  return random_.between(1, stretch() * (full() ? 12 : 7));
}

std::int64_t Case::stretch() const {
  const Contract& c = contract();
  return std::max<std::int64_t>({c.reduction.leaf_k, 2 * c.k_block, 32});
}

Shape Case::draw_shape() {
  Shape shape;
  shape.k = draw_k();
  const std::int64_t outputs = std::max<std::int64_t>(budget() / shape.k, 4);
  // Tall, wide or neither; each extent uniform, never rounded to a tile.
  const std::int64_t limit = full() ? 600 : 200;
  switch (random_.below(3)) {
    case 0:
      shape.m = random_.between(1, 5);
      shape.n = random_.between(1, std::clamp<std::int64_t>(outputs / shape.m, 1, limit));
      break;
    case 1:
      shape.n = random_.between(1, 5);
      shape.m = random_.between(1, std::clamp<std::int64_t>(outputs / shape.n, 1, limit));
      break;
    default:
      shape.m = random_.between(1, std::clamp<std::int64_t>(outputs, 1, full() ? 90 : 24));
      shape.n = random_.between(1, std::clamp<std::int64_t>(outputs / shape.m, 1, limit));
      break;
  }
  return shape;
}

Request Case::draw(const Shape& shape, Distribution distribution) {
  Request request;
  request.spec.contract = contract();
  Pair pair = draw_pair(random_, distribution, contract().input, shape.m, shape.n, shape.k);
  request.a = std::move(pair.a);
  request.b = std::move(pair.b);
  problem_ = "m=" + std::to_string(shape.m) + " n=" + std::to_string(shape.n) +
             " k=" + std::to_string(shape.k) + " " + std::string(name(distribution));
  if (setting_.limits_workers && !random_.one_in(full() ? 2 : 4)) {
    request.options.max_workers = 1;
    problem_ += ", 1 worker";
  }
  log(problem_);
  return request;
}

Request Case::draw(const Shape& shape) {
  if (contract().output != DType::fp32 && !random_.one_in(3)) {
    return draw(shape, Distribution::residue);
  }
  return draw(shape, random_.pick(std::span<const Distribution>(kFiniteDistributions)));
}

bool Case::try_add_c(Request& request, Output& result) {
  Request with_c = request;
  add_c(with_c, result.d);
  const Status adds = engine().supports(sized(with_c));
  if (!adds) {
    note(adds);
    return true;
  }
  auto sum = run(with_c);
  if (!sum) return false;
  request = std::move(with_c);
  result = std::move(*sum);
  return true;
}

void Case::note(const Status& refusal) {
  const bool refused = refusal.code() == Errc::unsupported;
  keep_first(refused ? evidence_.unsupported : evidence_.untested, refusal.message());
}

std::optional<Output> Case::noted(Result<Output> output) {
  if (!output) {
    note(output.status());
    return std::nullopt;
  }
  return std::move(output).value();
}

std::optional<Output> Case::run(Request request) {
  return ran(run_once(engine(), std::move(request)));
}

std::optional<Output> Case::run(GroupedRequest request) {
  return ran(run_once(engine(), std::move(request)));
}

std::optional<Output> Case::ran(Result<Output> result) {
  ++cell_.runs;
  auto output = noted(std::move(result));
  if (!output) return output;
  if (!output->violation.empty()) fail(output->violation);
  if (output->kernel.empty()) fail("the run did not record its kernel");
  cell_.kernels.insert(output->kernel);
  return output;
}

std::optional<Output> Case::run_oracle(Request request) {
  request.options = setting_.oracle.options;
  return noted(run_once(*setting_.oracle.backend, std::move(request)));
}

void Case::count_outputs(const Elements& outputs) {
  evidence_.compared = true;
  cell_.outputs += outputs.rows * outputs.cols;
  for (std::int64_t i = 0; i < outputs.rows; ++i) {
    for (std::int64_t j = 0; j < outputs.cols; ++j) {
      if (evidence_.distinct.size() >= kMinDistinct) return;
      const std::uint32_t bits = outputs.get(i, j);
      if (is_finite_nonzero(bits, outputs.dtype)) evidence_.distinct.insert(bits);
    }
  }
}

bool Case::same(const Elements& expected, const Elements& got, std::string_view what) {
  if (expected.rows != got.rows || expected.cols != got.cols || expected.dtype != got.dtype) {
    fail(std::string(what) + ": the shapes differ");
    return false;
  }
  count_outputs(got);
  if (expected == got) return true;
  bool first = true;
  for (std::int64_t i = 0; i < got.rows; ++i) {
    for (std::int64_t j = 0; j < got.cols; ++j) {
      const std::uint32_t want = expected.get(i, j);
      const std::uint32_t have = got.get(i, j);
      if (want == have) continue;
      ++cell_.mismatches;
      if (first) fail_at(std::string(what), i, j, show(want, got.dtype), show(have, got.dtype));
      first = false;
    }
  }
  return false;
}

void Case::check_order_matters(const Request& request, const Elements& result) {
  if (evidence_.discriminating >= kMinDiscriminating) return;
  Request reversed = request;
  reversed.a = cols_reversed(request.a);
  reversed.b = rows_reversed(request.b);
  const Oracle& oracle = setting_.oracle;
  if (oracle.backend != nullptr) reversed.options = oracle.options;
  const auto other =
      noted(run_once(oracle.backend != nullptr ? *oracle.backend : engine(), reversed));
  if (other && !(other->d == result)) count_discriminating();
}

void Case::fail(std::string what) { fail_at(std::move(what), -1, -1, "", ""); }

void Case::fail_at(std::string what, std::int64_t row, std::int64_t col, std::string expected,
                   std::string got) {
  cell_.verdict = Verdict::failed;
  if (failed_ || cell_.failures.size() >= kMaxFailures) return;
  failed_ = true;
  cell_.failures.push_back({index_, std::move(what), problem_, row, col, std::move(expected),
                            std::move(got), setting_.repro + " --case " + std::to_string(index_)});
}

void Case::skip(std::string reason) { keep_first(evidence_.skipped, reason); }

void Case::doubt(std::string reason) { keep_first(evidence_.doubt, reason); }

void Case::log(const std::string& line) {
  cell_.log.push_back("case " + std::to_string(index_) + ": " + line);
  if (setting_.observer != nullptr) setting_.observer->on_problem(line);
}

}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>

#include "core/conformance/properties/crossing.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

// Kernels cut K at powers of two, and some index it with 16 bits.
constexpr std::int64_t kLongK = 65'536;
// Outputs of several waves of tiles: on a host 2^16, in --full 2^18 with more than 512 rows and
// columns; on a GPU a million and more.
constexpr std::int64_t kHostOutputs = 66'000;
constexpr std::int64_t kHostOutputsFull = 270'000;
constexpr std::int64_t kDeviceOutputs = 1'100'000;
// Cases of many outputs or a long K, before those of turning points.
constexpr std::int64_t kQuickOutputs = 4;
constexpr std::int64_t kFullOutputs = 8;
// What rounding leaves of residues; C and the bias must not hide it.
constexpr double kResidue = 0x1p-8;

/// The engine's own pieces of `request`, in calls of a few rows or columns, against the whole.
bool pieces_agree(Case& c, const Request& request, const Elements& whole) {
  const bool by_rows = whole.rows >= whole.cols;
  const std::int64_t extent = by_rows ? whole.rows : whole.cols;
  const std::int64_t few = std::max<std::int64_t>(extent / 12, 48);
  for (std::int64_t begin = 0; begin < extent;) {
    const std::int64_t end = std::min(extent, begin + c.random().between(few / 2, few));
    // Half of them, and always the last one: that is where a fault in the distance shows.
    if (!c.full() && end < extent && c.random().one_in(2)) {
      begin = end;
      continue;
    }
    Request part = request;
    if (by_rows) {
      part.a = row_slice(request.a, begin, end);
      if (request.c.rows > 0) part.c = row_slice(request.c, begin, end);
    } else {
      part.b = col_slice(request.b, begin, end);
      if (request.c.rows > 0) part.c = col_slice(request.c, begin, end);
      if (request.bias.cols > 0) part.bias = col_slice(request.bias, begin, end);
    }
    const auto got = c.run(part);
    if (!got) return false;
    const Elements same_part =
        by_rows ? row_slice(whole, begin, end) : col_slice(whole, begin, end);
    if (!c.same(got->d, same_part,
                (by_rows ? "rows [" : "columns [") + std::to_string(begin) + ", " +
                    std::to_string(end) + ") of the whole against a call of their own")) {
      return false;
    }
    begin = end;
  }
  return true;
}

/// The rows at these places; those of C with them.
Request rows_of(const Request& request, const std::vector<std::int64_t>& places) {
  Request some = plain(request);
  const auto count = static_cast<std::int64_t>(places.size());
  some.a = Elements(request.a.dtype, count, request.a.cols);
  if (request.c.rows > 0) some.c = Elements(request.c.dtype, count, request.c.cols);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = places[static_cast<std::size_t>(i)];
    paste_rows(some.a, i, row_slice(request.a, at, at + 1));
    if (request.c.rows > 0) paste_rows(some.c, i, row_slice(request.c, at, at + 1));
  }
  return some;
}

/// A few rows, the last one among them, against the oracle; or against the engine in one small
/// call.
void sample(Case& c, const Request& request, const Elements& whole) {
  std::vector<std::int64_t> places{whole.rows - 1};
  const std::int64_t more = std::clamp<std::int64_t>(1'000 / whole.cols, 0, 16);
  for (std::int64_t i = 0; i < more; ++i) places.push_back(c.random().below(whole.rows));
  const Request some = rows_of(request, places);
  const auto expected = c.has_oracle() ? c.run_oracle(some) : c.run(some);
  if (!expected) return;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t row = places[i];
    if (!c.same(row_slice(expected->d, at, at + 1), row_slice(whole, row, row + 1),
                "row " + std::to_string(row) + " of the whole")) {
      return;
    }
  }
  c.check_order_matters(some, expected->d);
}

/// Many outputs, by rows (with C in place), by columns (with a bias) or neither.
void many_outputs(Case& c, std::int64_t kind) {
  const bool host = c.engine().device().kind() == DeviceKind::host;
  const std::int64_t outputs = !host ? kDeviceOutputs : c.full() ? kHostOutputsFull : kHostOutputs;
  Shape shape;
  shape.k = std::min<std::int64_t>(c.stretch(), 512) + 1 + c.random().below(8);
  const std::int64_t narrow = c.random().between(57, 66);
  if (kind == 0) {
    shape.n = narrow;
  } else if (kind == 1) {
    shape.n = outputs / narrow + 1;
  } else {
    for (shape.n = 1; shape.n * shape.n < outputs; ++shape.n) continue;
    shape.n -= c.random().below(8);
  }
  shape.m = outputs / shape.n + 1;
  Request request = c.draw(shape, Distribution::residue);
  GemmSpec& spec = request.spec;
  GemmSpec asked = sized(request);
  if (kind == 0) {
    asked.beta = 1.0F;
    if (c.engine().supports(asked)) {
      spec.beta = 1.0F;
      request.c = draw_normal(c.random(), spec.contract.output, shape.m, shape.n, kResidue);
      request.in_place = true;
    }
  } else {
    asked.bias = DType::fp32;
    if (c.engine().supports(asked)) {
      spec.bias = DType::fp32;
      request.bias = draw_normal(c.random(), DType::fp32, 1, shape.n, kResidue);
    }
  }
  c.log(describe(request));
  const auto whole = c.run(request);
  if (!whole) return;
  if (pieces_agree(c, request, whole->d)) sample(c, request, whole->d);
}

void long_k(Case& c) {
  const Shape shape{c.random().between(1, 2), c.full() ? 2 : 1,
                    kLongK + c.random().between(1, c.full() ? kLongK : 4'000)};
  Request request =
      c.draw(shape, c.random().one_in(2) ? Distribution::residue : Distribution::normal);
  request.spec.contract = c.with_output(DType::fp32);
  request.options = {};  // all workers: where outputs are few, a long K is what they could share
  if (c.random().one_in(2)) request.spec.op_a = request.spec.op_b = Op::transpose;
  if (!c.engine().supports(sized(request))) request.spec.op_a = request.spec.op_b = Op::none;
  const auto got = c.run(request);
  if (!got) return;
  if (!c.has_oracle()) {
    // At least the batch must not matter.
    Request more = request;
    more.a = with_zero_rows(request.a, 70);
    const auto other = c.run(more);
    if (!other) return;
    if (!c.same(got->d, row_slice(other->d, 0, shape.m), "the same rows in a larger batch")) return;
    return c.check_order_matters(request, got->d);
  }
  const auto expected = c.run_oracle(request);
  if (!expected) return;
  if (c.same(expected->d, got->d, "the oracle, with a K of more than 65,536")) {
    c.check_order_matters(request, got->d);
  }
}

/// A shape at which kernels change: extents in whole tiles and not, crossed; extents beyond 2^10
/// and 2^15; a K beyond 2^18, and more than 4096 leaves. K is short where outputs are many.
struct Turn {
  std::int64_t m, n, k;  ///< 0: a few; negative K: so many leaves
  bool tiles = false;    ///< exactly these extents, no further
};
constexpr std::int64_t kFew = 0;
constexpr std::array kTurns{
    Turn{128, 128, 128, true}, Turn{1, 1, -4097},         Turn{700, 130, kFew},
    Turn{256, 64, 256, true},  Turn{33'000, 1, kFew},     Turn{1, 33'000, kFew},
    Turn{64, 256, 192, true},  Turn{1, 1, 1 << 18},       Turn{1025, 1024, kFew},
    Turn{129, 128, 64, true},  Turn{128, 129, 128, true}, Turn{128, 64, 129, true},
    Turn{65, 67, 128, true},   Turn{64, 67, 65, true},    Turn{65, 64, 131, true},
    Turn{4'000, 70, kFew},     Turn{66'000, 2, kFew},     Turn{2, 66'000, kFew},
};

/// One wide row, as a model decodes: every contract has it.
constexpr Turn kOneRow{1, 1'025, kFew, true};

/// With --full further ones: the extents that models have, alone and together.
constexpr std::array kFullTurns{
    kOneRow,
    Turn{8, 4096, 64, true},
    Turn{4096, 12, 64, true},
    Turn{16, 24, 4096, true},
    Turn{3, 5, 1024, true},
    Turn{96, 96, 96, true},
    Turn{2048, 40, 32, true},
};

/// In --quick a contract has three of them and one row, and another contract has others.
const Turn& turn_of(Case& c, std::int64_t number) {
  const auto count = static_cast<std::int64_t>(kTurns.size());
  if (number >= count) return kFullTurns[static_cast<std::size_t>(number - count)];
  if (!c.full() && number == 3) return kOneRow;
  const auto first = static_cast<std::int64_t>(c.contract().digest() % kTurns.size());
  if (!c.full()) number = number == 0 ? 0 : first + 7 * number;
  return kTurns[static_cast<std::size_t>(number % count)];
}

/// Whatever is far from its first element: a bias of many columns, a C of many rows, operations.
void add_far_addends(Case& c, const Shape& shape, Request& request) {
  const auto if_supported = [&](auto&& change) { return change_if_supported(c, request, change); };
  const DType output = request.spec.contract.output;
  if (shape.n > 1000 && if_supported([](GemmSpec& spec) { spec.bias = DType::fp32; })) {
    request.bias = draw_normal(c.random(), DType::fp32, 1, shape.n, kResidue);
  }
  if (shape.m > 1000 && if_supported([](GemmSpec& spec) { spec.beta = 1.0F; })) {
    request.c = draw_normal(c.random(), output, shape.m, shape.n, kResidue);
  }
  if (c.random().one_in(2)) if_supported([](GemmSpec& spec) { spec.op_a = Op::transpose; });
  if (c.random().one_in(2)) if_supported([](GemmSpec& spec) { spec.op_b = Op::transpose; });
}

void turning_point(Case& c, const Turn& turn) {
  const auto extent = [&](std::int64_t at) { return turn.tiles ? at : at + c.random().below(4); };
  Shape shape{extent(turn.m), extent(turn.n), turn.k};
  const std::int64_t leaf = std::max<std::int64_t>(c.contract().reduction.leaf_k, 32);
  if (turn.k == kFew) {  // more than two leaves of a narrow contract, or few outputs show the order
    shape.k = std::min<std::int64_t>(2 * c.stretch(), 80) + 1 + c.random().below(16);
  }
  if (turn.k < 0) shape.k = -turn.k * leaf + c.random().below(leaf);
  if (turn.k > 0 && !turn.tiles) shape.k += c.random().below(1000);
  if (turn.k < 0 || !turn.tiles) shape.m = std::max<std::int64_t>(shape.m, 1);
  Request request = c.draw(shape, Distribution::residue);
  request.options = {};  // all workers
  if (shape.m * shape.n < 8) request.spec.contract = c.with_output(DType::fp32);
  add_far_addends(c, shape, request);
  const auto whole = c.run(request);
  if (!whole) return;
  // In several rows and columns, the first and the last ones among them.
  std::vector<std::int64_t> rows{0, shape.m / 2, shape.m - 1};
  for (int i = 0; i < (c.full() ? 9 : 3); ++i) rows.push_back(c.random().below(shape.m));
  Request some = rows_of(request, rows);
  const std::int64_t cols = std::min<std::int64_t>(shape.n, 40);
  const std::int64_t begin = c.random().below(shape.n - cols + 1);
  for (const std::int64_t from : {std::int64_t{0}, begin, shape.n - cols}) {
    Request part = some;
    part.b = col_slice(request.b, from, from + cols);
    if (part.c.rows > 0) part.c = col_slice(some.c, from, from + cols);
    if (part.bias.cols > 0) part.bias = col_slice(request.bias, from, from + cols);
    const auto expected = c.has_oracle() ? c.run_oracle(part) : c.run(part);
    if (!expected) return;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const Elements got = col_slice(row_slice(whole->d, rows[i], rows[i] + 1), from, from + cols);
      if (!c.same(row_slice(expected->d, at, at + 1), got,
                  "row " + std::to_string(rows[i]) + ", columns from " + std::to_string(from) +
                      " on")) {
        return;
      }
    }
    if (from == 0) c.check_order_matters(part, expected->d);
  }
}

}  // namespace

std::int64_t large_cases(const Contract&, Level level) {
  return level == Level::full
             ? kFullOutputs + static_cast<std::int64_t>(kTurns.size() + kFullTurns.size())
             : kQuickOutputs + 4;
}

/// Outputs of many tiles are those of small calls, and a long K is added as a short one.
void large(Case& c) {
  const std::int64_t outputs = c.full() ? kFullOutputs : kQuickOutputs;
  if (c.index() >= outputs &&
      c.index() < large_cases(c.contract(), c.full() ? Level::full : Level::quick)) {
    return turning_point(c, turn_of(c, c.index() - outputs));
  }
  const std::int64_t kind = c.index() % 4;
  if (kind == 3) return long_k(c);
  many_outputs(c, kind);
}

}  // namespace detgemm::conformance

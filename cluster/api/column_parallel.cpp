// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cluster/api/overlap.hpp"
#include "cluster/join/join.hpp"

namespace detgemm::cluster {

/// The plan of this rank's columns. Where A is gathered, it is multiplied as it is stored then in
/// the workspace: m x K, packed by rows.
struct ColumnParallelPlan::State {
  Communicator ranks;
  GemmSpec whole;
  ColumnParallelOptions options;
  Range columns;
  Plan own;
  int number = 0;  ///< which of the communicator's plans this is

  int rank() const { return ranks.rank(); }
  int size() const { return ranks.size(); }
  bool gathers_a() const { return options.input != Placement::replicated && size() > 1; }
  bool gathers_d() const { return options.output == Placement::replicated && size() > 1; }
  DType input() const {
    const DType type = whole.contract.input;
    return type == DType::tf32 ? DType::fp32 : type;
  }
  /// Of op(A), m x K.
  Block block_of_a(std::int64_t m, int r) const {
    const Block all{{0, m}, {0, whole.k}};
    if (!gathers_a()) return all;
    return options.input == Placement::rows ? Block{rows_of(m, r, size()), all.cols}
                                            : Block{all.rows, rows_of(whole.k, r, size())};
  }
  Block block_of_d(std::int64_t m, int r) const { return {{0, m}, rows_of(whole.n, r, size())}; }
  std::size_t a_bytes(std::int64_t m) const { return gather_bytes(m, whole.k, input()); }
  std::size_t d_bytes(std::int64_t m) const {
    return gather_bytes(m, whole.n, whole.contract.output);
  }
  int chunk_count_of(std::int64_t m) const {
    return gathers_a() || gathers_d() ? chunk_count(m, size(), options.chunks) : 1;
  }
  std::size_t product_bytes(std::int64_t m) const { return padded(*own.workspace_bytes(m)); }
  std::size_t bytes(std::int64_t m) const {
    // Packed rows arrive where A is read; packed columns are copied there.
    std::size_t staging = 0;
    if (gathers_a() && options.input == Placement::columns) staging = padded(a_bytes(m));
    if (gathers_d()) staging = std::max(staging, padded(d_bytes(m)));
    // The product of one chunk runs beside the messages of another.
    const std::size_t product = product_bytes(m);
    const std::size_t both = chunk_count_of(m) > 1 ? staging + product : std::max(staging, product);
    return both + (gathers_a() ? padded(a_bytes(m)) : 0);
  }
  Status check(Stream stream, std::int64_t m, const Operands& local) const;
};

namespace {

/// op(A) as it is stored: the transposed view of a stored transpose.
ConstMatrix logical(ConstMatrix a, Op op) {
  if (op == Op::none) return a;
  return {a.data, a.cols, a.rows, a.col_stride, a.row_stride, a.dtype};
}

/// What two ranges have in common; empty ones begin where the second does.
Range common(Range x, Range y) {
  const Range both{std::max(x.begin, y.begin), std::min(x.end, y.end)};
  return both.begin < both.end ? both : Range{y.begin, y.begin};
}

Status check_options(const ColumnParallelOptions& options) {
  if (Status s = check_chunks(options.chunks); !s) return s;
  if (name(options.input) == "unknown") {
    return invalid("input is unknown (" + std::to_string(static_cast<int>(options.input)) +
                   "): it must be replicated (0), rows (1) or columns (2)");
  }
  if (options.output == Placement::replicated || options.output == Placement::columns) return {};
  return invalid("output is " + std::string(name(options.output)) + " (" +
                 std::to_string(static_cast<int>(options.output)) +
                 "): it must be replicated (0) or columns (2)");
}

}  // namespace

Status ColumnParallelPlan::State::check(Stream stream, std::int64_t m,
                                        const Operands& local) const {
  if (m < 0) return invalid("m is " + std::to_string(m) + ": it must not be negative");
  const DeviceKind kind = own.backend().device().kind();
  if (stream.kind != kind) {
    return invalid("stream.kind is " + std::string(name(stream.kind)) + ": backend " +
                   std::string(own.backend().name()) + " needs " + std::string(name(kind)));
  }
  if (local.d.rows != m) {
    return invalid("d has " + std::to_string(local.d.rows) + " rows: m is " + std::to_string(m));
  }
  // A, B and the bias of this rank, as if D were m x its columns.
  GemmSpec part = own.spec();
  part.op_a = whole.op_a;
  const Block a = block_of_a(m, rank());
  if (gathers_a()) {
    // A alone is in pieces: its piece with a B of nothing, then B with an A of nothing.
    GemmSpec piece;
    piece.contract = whole.contract;
    piece.op_a = whole.op_a;
    piece.k = a.cols.size();
    const void* const none = nullptr;
    const Operands of_a{
        local.a, row_major(none, piece.k, 0, input()),
        row_major(static_cast<void*>(nullptr), a.rows.size(), 0, whole.contract.output)};
    if (Status s = validate(piece, of_a); !s) return s;
    piece = part;
    piece.op_a = Op::none;
    piece.beta = 0.0F;
    piece.continue_from_c = false;
    Operands of_b = local;
    of_b.a = row_major(none, 0, whole.k, input());
    of_b.d = row_major(static_cast<void*>(nullptr), 0, part.n, whole.contract.output);
    if (Status s = validate(piece, of_b); !s) return s;
  }
  // D and C, with all columns or with this rank's.
  GemmSpec outputs = part;
  outputs.n = gathers_d() ? whole.n : part.n;
  outputs.bias.reset();
  outputs.k = 0;
  outputs.op_a = outputs.op_b = Op::none;
  Operands arrays = local;
  const void* const none = nullptr;
  arrays.a = row_major(none, m, 0, input());
  arrays.b = row_major(none, 0, outputs.n, input());
  if (Status s = validate(outputs, arrays); !s) return s;
  if (gathers_a()) return {};
  Operands mine = local;
  if (gathers_d()) {
    mine.d = block_of(local.d, block_of_d(m, rank()));
    if (whole.reads_c()) mine.c = block_of(local.c, block_of_d(m, rank()));
  }
  return validate(part, mine);
}

Result<ColumnParallelPlan> ColumnParallelPlan::create(const Communicator& communicator,
                                                      const Backend& backend, const GemmSpec& whole,
                                                      const ColumnParallelOptions& options) {
  Facts facts{{"plan", "column parallel"}};
  const auto make = [&]() -> Result<State> {
    if (Status s = validate(whole); !s) return s;
    if (Status s = check_options(options); !s) return s;
    const Range columns = rows_of(whole.n, communicator.rank(), communicator.size());
    GemmSpec part = whole;
    part.n = columns.size();
    if (options.input != Placement::replicated && communicator.size() > 1) part.op_a = Op::none;
    auto own = Plan::create(backend, part, options.plan);
    if (!own) return own.status();
    add_facts(whole, facts);
    facts.push_back({"continue_from_c", whole.continue_from_c ? "true" : "false"});
    facts.push_back({"chunks", std::to_string(options.chunks)});
    if (Status s = prepare_side(communicator.state(), backend.device(), options.chunks); !s) {
      return s;
    }
    facts.push_back({"input", std::string(name(options.input))});
    facts.push_back({"output", std::string(name(options.output))});
    return State{communicator, whole, options, columns, *std::move(own), 0};
  };
  auto state = make();
  if (Status s = agree(communicator.state(), state.status(), facts); !s) return s;
  state->number = ++communicator.state().plans;
  return ColumnParallelPlan(std::make_shared<const State>(*std::move(state)));
}

Range ColumnParallelPlan::columns() const noexcept { return state_->columns; }

Result<std::size_t> ColumnParallelPlan::workspace_bytes(std::int64_t max_m) const {
  if (Status s = check_max_m(max_m, std::max(state_->whole.n, state_->whole.k)); !s) return s;
  return state_->bytes(max_m);
}

Status ColumnParallelPlan::run(Stream stream, std::int64_t m, const Operands& local,
                               Workspace workspace, RunInfo* info) const {
  const State& s = *state_;
  Communicator::State& group = s.ranks.state();
  // A job that is broken refuses before it multiplies, and before it waits for another rank.
  if (Status broken = group.health(); !broken) return broken;
  const auto checked = [&]() -> Status {
    if (Status bad = s.check(stream, m, local); !bad) return bad;
    return check_workspace(workspace, s.bytes(m));
  };
  const Status mine = checked();
  if (!group.options.check_calls) {
    if (!mine) return mine;
  } else if (Status all = agree(group, mine, facts_of_call(s.number, m)); !all) {
    return all;
  }
  if (m == 0 || s.whole.n == 0) {
    if (info != nullptr) info->kernel = "none (no outputs)";
    return {};
  }
  Device& device = s.own.backend().device();
  Operands whole = local;
  if (s.gathers_a()) {
    void* const memory = take(workspace, s.a_bytes(m)).data;
    whole.a = row_major(static_cast<const void*>(memory), m, s.whole.k, s.input());
  }
  // In one chunk the messages are before and after the product, and share its workspace.
  Workspace of_product = workspace;
  const int count = s.chunk_count_of(m);
  if (count > 1) of_product = take(workspace, s.product_bytes(m));
  Chunks chunks;
  chunks.count = count;
  if (s.gathers_a()) {
    chunks.arrive = [&](int chunk, Stream on) -> Status {
      const Range rows = chunk_rows(m, chunk, count);
      const auto block = [&](int r) {
        const Block all = s.block_of_a(m, r);
        return Block{common(all.rows, rows), all.cols};
      };
      // This rank's rows of the chunk, counted from its first row of A.
      const Block own = s.block_of_a(m, s.rank());
      const Range mine = common(own.rows, rows);
      const std::int64_t first = mine.size() == 0 ? 0 : mine.begin - own.rows.begin;
      const Block there{{first, first + mine.size()}, {0, own.cols.size()}};
      Matrix to = row_major(const_cast<void*>(whole.a.data), m, s.whole.k, s.input());
      return Gather{group, device, on, block, workspace}.run(
          block_of(logical(local.a, s.whole.op_a), there), to);
    };
  }
  chunks.compute = [&](int chunk, Stream on) -> Status {
    const Range rows = chunk_rows(m, chunk, count);
    Operands part = whole;
    if (count > 1) {
      const bool by_rows = s.gathers_a() || s.whole.op_a == Op::none;
      part.a =
          block_of(whole.a, by_rows ? Block{rows, {0, s.whole.k}} : Block{{0, s.whole.k}, rows});
    }
    const Range columns =
        s.gathers_d() ? s.block_of_d(m, s.rank()).cols : Range{0, s.columns.size()};
    part.d = block_of(local.d, {rows, columns});
    if (s.whole.reads_c()) part.c = block_of(local.c, {rows, columns});
    return s.own.run(on, part, of_product, info);
  };
  if (s.gathers_d()) {
    chunks.leave = [&](int chunk, Stream on) -> Status {
      const Range rows = chunk_rows(m, chunk, count);
      const auto block = [&](int r) { return Block{rows, s.block_of_d(m, r).cols}; };
      return Gather{group, device, on, block, workspace}.run(block_of(local.d, block(s.rank())),
                                                             local.d);
    };
  }
  return run_chunks(chunks, stream, device, group);
}

std::string ColumnParallelPlan::describe(std::int64_t m) const {
  const State& s = *state_;
  m = std::max<std::int64_t>(m, 0);
  const auto received = [&s](std::int64_t rows) {
    std::size_t bytes = 0;
    for (int r = 0; r < s.size(); ++r) {
      if (r == s.rank()) continue;
      if (s.gathers_a()) bytes += gather_bytes(s.block_of_a(rows, r).size(), 1, s.input());
      if (s.gathers_d()) {
        bytes += gather_bytes(s.block_of_d(rows, r).size(), 1, s.whole.contract.output);
      }
    }
    return bytes;
  };
  return "contract   " + s.whole.contract.text() + "\ncolumns    [" +
         std::to_string(s.columns.begin) + ", " + std::to_string(s.columns.end) + ") of " +
         std::to_string(s.whole.n) + ", input " + std::string(name(s.options.input)) + ", output " +
         std::string(name(s.options.output)) + "\n" +
         describe_received(m, std::max(s.whole.n, s.whole.k), received) + "chunks     " +
         std::to_string(s.chunk_count_of(m)) + "\nranks      " + s.ranks.describe() + "\n";
}

}  // namespace detgemm::cluster

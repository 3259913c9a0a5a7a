// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cluster/api/overlap.hpp"
#include "cluster/join/join.hpp"

namespace detgemm::cluster {

/// This rank's plan for each node of its cover: fp32 roots without an epilogue.
struct RowParallelPlan::State {
  std::unique_ptr<Join> join;
  std::vector<Plan> nodes;
  std::vector<KRange> products;  ///< of each node, in the products of this rank's share
  KRange share;
  Device* device;
  std::int32_t chunks;
  bool serial;  ///< serial_launch: no join begins before its product has ended

  int chunk_count_of(std::int64_t m) const {
    return chunk_count(m, join->ranks(), join->chunks(m, chunks));
  }
  std::size_t product_bytes(std::int64_t max_m) const {
    std::size_t bytes = 0;
    for (const Plan& plan : nodes) bytes = std::max(bytes, padded(*plan.workspace_bytes(max_m)));
    return bytes;
  }
};

namespace {

struct Nodes {
  std::vector<Plan> plans;
  std::vector<KRange> products;
};

Result<Nodes> plan_nodes(const Backend& backend, const GemmSpec& whole, const Shares& shares,
                         int rank, const PlanOptions& options) {
  Nodes nodes;
  const std::int64_t first = shares.k_range(rank).begin;
  for (const LeafRange& node : shares.cover(rank)) {
    const auto products = k_of(whole.contract, whole.k, node);
    if (!products) return products.status();
    GemmSpec part;
    part.n = whole.n;
    part.k = products->end - products->begin;
    part.op_a = whole.op_a;
    part.op_b = whole.op_b;
    part.contract = whole.contract;
    part.contract.output = DType::fp32;
    auto plan = Plan::create(backend, part, options);
    if (!plan) return plan.status();
    nodes.plans.push_back(*std::move(plan));
    nodes.products.push_back({products->begin - first, products->end - first});
  }
  return nodes;
}

/// Products [range.begin, range.end) of an operand, whose k runs along its columns or its rows.
ConstMatrix products_of(ConstMatrix view, bool along_columns, KRange range) {
  const std::int64_t stride = along_columns ? view.col_stride : view.row_stride;
  const auto offset = range.begin * stride * static_cast<std::int64_t>(size_of(view.dtype));
  if (view.data != nullptr) view.data = static_cast<const std::byte*>(view.data) + offset;
  (along_columns ? view.cols : view.rows) = range.end - range.begin;
  return view;
}

/// A and B of this rank, whose product goes to `root`.
Status check_inputs(const GemmSpec& whole, KRange share, std::int64_t m, const Operands& local,
                    void* root) {
  if (share.begin == share.end) return {};  // they are not looked at
  GemmSpec part;
  part.n = whole.n;
  part.k = share.end - share.begin;
  part.op_a = whole.op_a;
  part.op_b = whole.op_b;
  part.contract = whole.contract;
  part.contract.output = DType::fp32;
  return validate(part, {local.a, local.b, row_major(root, m, whole.n, DType::fp32)});
}

}  // namespace

Result<RowParallelPlan> RowParallelPlan::create(const Communicator& communicator,
                                                const Backend& backend, const GemmSpec& whole,
                                                const RowParallelOptions& options) {
  Facts facts{{"plan", "row parallel"}};
  const auto make = [&]() -> Result<State> {
    if (Status s = validate(whole); !s) return s;
    if (Status s = check_chunks(options.chunks); !s) return s;
    Result<Shares> shares = options.shares
                                ? Result<Shares>(*options.shares)
                                : Shares::even(whole.contract, whole.k, communicator.size());
    if (!shares) return shares.status();
    auto join = Join::create(communicator, backend, whole, *shares, options.output,
                             options.algorithm, facts);
    if (!join) return join.status();
    auto nodes = plan_nodes(backend, whole, *shares, communicator.rank(), options.plan);
    if (!nodes) return nodes.status();
    facts.push_back({"chunks", std::to_string(options.chunks)});
    facts.push_back({"serial_launch", options.plan.serial_launch ? "true" : "false"});
    if (Status s = prepare_side(communicator.state(), backend.device(), options.chunks); !s) {
      return s;
    }
    return State{*std::move(join),           std::move(nodes->plans),
                 std::move(nodes->products), shares->k_range(communicator.rank()),
                 &backend.device(),          options.chunks,
                 options.plan.serial_launch};
  };
  auto state = make();
  if (Status s = agree(communicator.state(), state.status(), facts); !s) return s;
  state->join->be_plan(++communicator.state().plans);
  return RowParallelPlan(std::make_shared<const State>(*std::move(state)));
}

KRange RowParallelPlan::k_range() const noexcept { return state_->share; }
const Shares& RowParallelPlan::shares() const noexcept { return state_->join->shares(); }

Result<std::size_t> RowParallelPlan::workspace_bytes(std::int64_t max_m) const {
  if (Status s = check_max_m(max_m, state_->join->spec().n); !s) return s;
  const auto n = static_cast<std::size_t>(state_->join->spec().n);
  const std::size_t of_join = state_->join->workspace_bytes(max_m);
  const std::size_t of_products = state_->product_bytes(max_m);
  // The products of one chunk run beside the join of another.
  const bool apart = state_->chunk_count_of(max_m) > 1;
  const auto rows = static_cast<std::size_t>(state_->join->rows_in_workspace(max_m));
  const std::size_t root = padded(rows * n * sizeof(float));
  return state_->nodes.size() * root +
         (apart ? of_join + of_products : std::max(of_join, of_products));
}

Status RowParallelPlan::run(Stream stream, std::int64_t m, const Operands& local,
                            Workspace workspace, RunInfo* info) const {
  const Join& join = *state_->join;
  const GemmSpec& whole = join.spec();
  // A job that is broken refuses before it multiplies, and before it waits for another rank.
  if (Status broken = join.state().health(); !broken) return broken;
  const RootPlace place = join.root_place(m);
  const bool in_window = place == RootPlace::window;
  const auto checked = [&]() -> Status {
    if (Status s = join.check(stream, m, local); !s) return s;
    const auto needed = workspace_bytes(m);
    if (!needed) return needed.status();
    if (Status s = check_workspace(workspace, *needed); !s) return s;
    void* const root = place == RootPlace::workspace ? workspace.data : join.root_in_window(0);
    return check_inputs(whole, state_->share, m, local, root);
  };
  if (Status s = join.agree_on_call(m, checked()); !s) return s;
  const auto product = [&](std::size_t node, Range rows, void* root, Stream on,
                           const Workspace& scratch) -> Status {
    const bool by_rows = whole.op_a == Op::none;
    const Range all{0, state_->share.end - state_->share.begin};
    const ConstMatrix a = block_of(local.a, by_rows ? Block{rows, all} : Block{all, rows});
    const KRange& range = state_->products[node];
    const Operands operands{products_of(a, by_rows, range),
                            products_of(local.b, whole.op_b == Op::transpose, range),
                            row_major(root, rows.size(), whole.n, DType::fp32)};
    return state_->nodes[node].run(on, operands, scratch);
  };
  if (place == RootPlace::other_windows) {
    const Produce produce = [&](std::size_t node, Range rows, void* root) {
      return product(node, rows, root, stream, workspace);
    };
    return join.or_nan(join.run({stream, m, {}, local, {}, info, -1, &produce}), local.d);
  }
  const std::size_t root_bytes =
      static_cast<std::size_t>(m) * static_cast<std::size_t>(whole.n) * sizeof(float);
  const int count = state_->chunk_count_of(m);
  const bool late = in_window || count > 1 || state_->serial;
  std::byte* const blank = late ? nullptr : join.take_blank_roots(m);
  std::vector<std::byte*> roots;
  for (std::size_t i = 0; i < state_->nodes.size(); ++i) {
    roots.push_back(in_window          ? join.root_in_window(i)
                    : blank != nullptr ? blank + i * root_bytes
                                       : static_cast<std::byte*>(take(workspace, root_bytes).data));
  }
  // In one chunk the products are before the join, so they may share what it uses after them.
  Workspace of_products = workspace;
  if (count > 1) of_products = take(workspace, state_->product_bytes(m));
  const auto root_of = [&](std::size_t node, Range rows) {
    return roots[node] + static_cast<std::size_t>(rows.begin * whole.n) * sizeof(float);
  };
  Chunks chunks;
  chunks.count = count;
  chunks.compute = [&](int chunk, Stream on) -> Status {
    const Range rows = chunk_rows(m, chunk, count);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      if (Status s = product(i, rows, root_of(i, rows), on, of_products); !s) return s;
    }
    return {};
  };
  chunks.leave = [&](int chunk, Stream on) -> Status {
    const Range rows = chunk_rows(m, chunk, count);
    Operands part = local;
    if (count > 1) {
      part.d = block_of(local.d, {rows, {0, whole.n}});
      if (whole.reads_c()) part.c = block_of(local.c, {rows, {0, whole.n}});
    }
    std::vector<const void*> of_rows;
    for (std::size_t i = 0; i < roots.size(); ++i) of_rows.push_back(root_of(i, rows));
    return join.run({on, rows.size(), of_rows, part, workspace, info, in_window ? rows.begin : -1});
  };
  return join.or_nan(run_chunks(chunks, stream, *state_->device, join.state()), local.d);
}

std::string RowParallelPlan::describe(std::int64_t m) const {
  const KRange share = state_->share;
  return "contract   " + state_->join->spec().contract.text() + "\nshare      products [" +
         std::to_string(share.begin) + ", " + std::to_string(share.end) + ") of " +
         std::to_string(state_->join->spec().k) + "\nchunks     " +
         std::to_string(state_->chunk_count_of(std::max<std::int64_t>(m, 0))) + "\n" +
         state_->join->describe(m);
}

}  // namespace detgemm::cluster

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/conformance/ways.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "cluster/common/state.hpp"
#include "cluster/conformance/job_backend.hpp"
#include "cluster/conformance/lines.hpp"

namespace detgemm::cluster {
namespace {

using Made = Result<std::shared_ptr<const PlanImpl>>;

/// Even shares in every third plan; otherwise cuts at random leaves, where a rank may own none.
Result<Shares> draw_shares(const GemmSpec& spec, int ranks, std::uint64_t turn) {
  if (turn % 3 == 0 || spec.contract.reduction.kind != ReductionKind::tree) {
    return Shares::even(spec.contract, spec.k, ranks);
  }
  conformance::Random random(turn);
  const std::int64_t leaves = spec.contract.leaves(spec.k);
  std::vector<std::int64_t> cuts{0, leaves};
  for (int r = 1; r < ranks; ++r) cuts.push_back(random.below(leaves + 1));
  std::sort(cuts.begin(), cuts.end());
  std::vector<KRange> ranges;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    auto range = k_of(spec.contract, spec.k, {cuts[i], cuts[i + 1]});
    if (!range) return range.status();
    ranges.push_back(*range);
  }
  return Shares::of(spec.contract, spec.k, ranges);
}

/// Rows [range.begin, range.end) of an array of m rows.
template <class View>
View rows_in(View view, Range range) {
  const auto offset =
      range.begin * view.row_stride * static_cast<std::int64_t>(size_of(view.dtype));
  using Byte = std::conditional_t<std::is_same_v<View, Matrix>, std::byte, const std::byte>;
  if (view.data != nullptr) view.data = static_cast<Byte*>(view.data) + offset;
  view.rows = range.size();
  return view;
}

/// Every rank has its own rows of D; afterwards all have all of them. Through the host.
Status bring_rows_together(const Communicator& ranks, Device& device, Stream stream,
                           const Matrix& d) {
  if (Status s = device.synchronize(stream); !s) return s;
  const auto rows = [&](int r) { return rows_in(d, rows_of(d.rows, r, ranks.size())); };
  auto mine = read_packed(device, rows(ranks.rank()));
  if (!mine) return mine.status();
  std::vector<Send> sends;
  std::vector<Receive> receives;
  std::vector<std::vector<std::byte>> theirs(static_cast<std::size_t>(ranks.size()));
  for (int r = 0; r < ranks.size(); ++r) {
    if (r == ranks.rank()) continue;
    auto& room = theirs[static_cast<std::size_t>(r)];
    room.resize(packed_bytes(rows(r)));
    if (!mine->empty()) sends.push_back({r, mine->data(), mine->size()});
    if (!room.empty()) receives.push_back({r, room.data(), room.size()});
  }
  auto& state = ranks.state();
  if (Status s =
          state.after(state.transport->exchange({}, sends, receives, state.options.patience));
      !s) {
    return s;
  }
  for (int r = 0; r < ranks.size(); ++r) {
    if (r == ranks.rank()) continue;
    if (Status s = write_packed(device, rows(r), theirs[static_cast<std::size_t>(r)]); !s) return s;
  }
  return {};
}

Made row_parallel(const Communicator& ranks, const Backend& inner, const GemmSpec& spec, Way way,
                  std::uint64_t turn) {
  RowParallelOptions options;
  if (auto shares = draw_shares(spec, ranks.size(), turn)) options.shares = *std::move(shares);
  options.output = way == Way::rows ? Placement::rows : Placement::replicated;
  options.chunks = static_cast<std::int32_t>(turn % 4);
  if (way == Way::gather) options.algorithm = Algorithm::gather;
  if (way == Way::scatter) options.algorithm = Algorithm::scatter;
  if (way == Way::peers) {
    options.algorithm =
        std::array{Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}[turn % 3];
  }
  auto plan = RowParallelPlan::create(ranks, inner, spec, options);
  if (!plan) return plan.status();
  return std::shared_ptr<const PlanImpl>(std::make_shared<JobPlan>(
      "row_parallel " + std::string(name(way)),
      [plan = *plan](std::int64_t max_m) { return *plan.workspace_bytes(max_m); },
      [plan = *plan, ranks, spec, way, &device = inner.device()](
          Stream stream, const Operands& whole, Workspace workspace) -> Status {
        Operands local = share_of(spec, whole, plan.k_range());
        const std::int64_t m = whole.d.rows;
        if (way != Way::rows) return plan.run(stream, m, local, workspace);
        const Range own = rows_of(m, ranks.rank(), ranks.size());
        local.d = rows_in(local.d, own);
        if (spec.reads_c()) local.c = rows_in(local.c, own);
        if (Status s = plan.run(stream, m, local, workspace); !s) return s;
        return bring_rows_together(ranks, device, stream, whole.d);
      }));
}

/// This rank's plans for the nodes of its cover, and what adds their roots to those of others.
struct Summed {
  TreeSum sum;
  std::vector<Plan> nodes;
  std::vector<KRange> products;

  std::size_t root_bytes(std::int64_t m) const {
    const auto n = static_cast<std::size_t>(nodes.empty() ? 0 : nodes.front().spec().n);
    const std::size_t bytes = static_cast<std::size_t>(m) * n * sizeof(float);
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  }
  std::size_t bytes(std::int64_t m) const {
    std::size_t most = *sum.workspace_bytes(m);
    for (const Plan& plan : nodes) most = std::max(most, *plan.workspace_bytes(m));
    return nodes.size() * root_bytes(m) + most;
  }
  Status run(Stream stream, const GemmSpec& spec, const Operands& whole,
             Workspace workspace) const {
    const std::int64_t m = whole.d.rows;
    std::vector<ConstMatrix> roots;
    auto* const memory = static_cast<std::byte*>(workspace.data);
    const std::size_t of_roots = nodes.size() * root_bytes(m);
    const Workspace rest{memory == nullptr ? nullptr : memory + of_roots,
                         workspace.bytes - of_roots};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Operands part = share_of(spec, whole, products[i]);
      part.d = row_major(static_cast<void*>(memory + i * root_bytes(m)), m, spec.n, DType::fp32);
      part.c = {};
      part.bias = {};
      if (Status s = nodes[i].run(stream, part, rest); !s) return s;
      roots.push_back(part.d);
    }
    return sum.run(stream, m, roots, whole, rest);
  }
};

Made summed(const Communicator& ranks, const Backend& inner, const GemmSpec& spec,
            std::uint64_t turn) {
  const auto make = [&]() -> Result<std::pair<Shares, Summed>> {
    auto shares = draw_shares(spec, ranks.size(), turn);
    if (!shares) return shares.status();
    std::vector<Plan> nodes;
    std::vector<KRange> products;
    for (const LeafRange& node : shares->cover(ranks.rank())) {
      products.push_back(*k_of(spec.contract, spec.k, node));
      auto plan = Plan::create(inner, root_spec(spec, products.back().end - products.back().begin));
      if (!plan) return plan.status();
      nodes.push_back(*std::move(plan));
    }
    auto sum = TreeSum::create(ranks, inner, spec, *shares);
    if (!sum) return sum.status();
    return std::pair{*shares, Summed{*std::move(sum), std::move(nodes), std::move(products)}};
  };
  // A rank whose products are refused would not call TreeSum::create.
  auto shares = draw_shares(spec, ranks.size(), turn);
  Status mine = shares.status();
  if (shares && mine.ok()) mine = Plan::create(inner, root_spec(spec, spec.k)).status();
  if (Status s = agree(ranks.state(), mine, {{"plan", "roots"}}); !s) return s;
  auto made = make();
  if (!made) return made.status();
  const auto one = std::make_shared<const Summed>(std::move(made->second));
  return std::shared_ptr<const PlanImpl>(std::make_shared<JobPlan>(
      "tree_sum", [one](std::int64_t max_m) { return one->bytes(max_m); },
      [one, spec](Stream stream, const Operands& whole, Workspace workspace) {
        return one->run(stream, spec, whole, workspace);
      }));
}

Range part_range(bool whole, std::int64_t extent, const Communicator& ranks) {
  return whole ? Range{0, extent} : rows_of(extent, ranks.rank(), ranks.size());
}

Made column_parallel(const Communicator& ranks, const Backend& inner, const GemmSpec& spec, Way way,
                     std::uint64_t turn) {
  ColumnParallelOptions options;
  options.chunks = static_cast<std::int32_t>(turn % 4);
  options.output = Placement::replicated;
  if (way == Way::rows_in) options.input = Placement::rows;
  if (way == Way::k_in) options.input = Placement::columns;
  auto plan = ColumnParallelPlan::create(ranks, inner, spec, options);
  if (!plan) return plan.status();
  return std::shared_ptr<const PlanImpl>(std::make_shared<JobPlan>(
      "column_parallel " + std::string(name(way)),
      [plan = *plan](std::int64_t max_m) { return *plan.workspace_bytes(max_m); },
      [plan = *plan, ranks, spec, way](Stream stream, const Operands& whole, Workspace workspace) {
        Operands local = whole;
        const std::int64_t m = whole.d.rows;
        const Range rows = part_range(way != Way::rows_in, m, ranks);
        const Range products = part_range(way != Way::k_in, spec.k, ranks);
        const Range columns = plan.columns();
        // Rows and products of op(A), columns of op(B): whichever dimension they are stored along.
        const bool plain_a = spec.op_a == Op::none;
        local.a = part_of(local.a, !plain_a, {rows.begin, rows.end});
        local.a = part_of(local.a, plain_a, {products.begin, products.end});
        local.b = part_of(local.b, spec.op_b == Op::none, {columns.begin, columns.end});
        if (spec.bias) {
          const auto at = columns.begin * static_cast<std::int64_t>(size_of(*spec.bias));
          if (local.bias.data != nullptr) {
            local.bias.data = static_cast<const std::byte*>(local.bias.data) + at;
          }
          local.bias.size = columns.size();
        }
        return plan.run(stream, m, local, workspace);
      }));
}

}  // namespace

std::string_view name(Way way) {
  switch (way) {
    case Way::gather:
      return "gather";
    case Way::scatter:
      return "scatter";
    case Way::rows:
      return "rows";
    case Way::peers:
      return "peers";
    case Way::tree_sum:
      return "tree_sum";
    case Way::columns:
      return "columns";
    case Way::rows_in:
      return "rows_in";
    case Way::k_in:
      return "k_in";
  }
  return "unknown";
}

std::unique_ptr<Backend> make_job_backend(const Communicator& communicator, const Backend& inner,
                                          Way way) {
  return std::make_unique<JobBackend>(
      std::string(name(way)), communicator.describe(), inner.device(),
      [communicator, &inner, way](const GemmSpec& spec, const PlanOptions&, std::uint64_t turn) {
        if (!needs_tree(way)) return column_parallel(communicator, inner, spec, way, turn);
        return way == Way::tree_sum ? summed(communicator, inner, spec, turn)
                                    : row_parallel(communicator, inner, spec, way, turn);
      });
}

}  // namespace detgemm::cluster

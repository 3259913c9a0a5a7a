// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/api/join.hpp"

#include <algorithm>
#include <bit>

#include "cluster/common/gather.hpp"
#include "detgemm/digest.hpp"

namespace detgemm::cluster {
namespace {

std::string bits_of(float value) { return hex(std::bit_cast<std::uint32_t>(value)); }

std::string text(const Shares& shares) {
  std::string all;
  for (int r = 0; r < shares.ranks(); ++r) {
    const KRange range = shares.k_range(r);
    all += (r == 0 ? "" : "|") + std::to_string(range.begin) + "-" + std::to_string(range.end);
  }
  return all.size() <= 1024 ? all : hex(digest_bytes(all.data(), all.size()));
}

/// Rows [range.begin, range.end) of an array of all m rows.
template <class View>
View rows_of_view(View view, Range range) {
  const auto offset =
      range.begin * view.row_stride * static_cast<std::int64_t>(size_of(view.dtype));
  if (view.data != nullptr) {
    using Byte = std::conditional_t<std::is_same_v<View, Matrix>, std::byte, const std::byte>;
    view.data = static_cast<Byte*>(view.data) + offset;
  }
  view.rows = range.size();
  return view;
}

}  // namespace

void add_facts(const GemmSpec& whole, Facts& facts) {
  facts.insert(facts.end(),
               {{"contract", whole.contract.text() + "@" + std::to_string(whole.contract.version)},
                {"n", std::to_string(whole.n)},
                {"k", std::to_string(whole.k)},
                {"alpha", bits_of(whole.alpha)},
                {"beta", bits_of(whole.beta)},
                {"bias", whole.bias ? std::string(name(*whole.bias)) : "none"},
                {"activation", std::string(name(whole.activation))}});
}

Result<Join> Join::create(const Communicator& communicator, const Backend& backend,
                          const GemmSpec& whole, const Shares& shares, Placement output,
                          Algorithm algorithm, Facts& facts) {
  if (output != Placement::replicated && output != Placement::rows) {
    return invalid("output is " + std::string(name(output)) + " (" +
                   std::to_string(static_cast<int>(output)) +
                   "): it must be replicated (0) or rows (1)");
  }
  if (name(algorithm) == "unknown") {
    return invalid(
        "algorithm is unknown (" + std::to_string(static_cast<int>(algorithm)) +
        "): it must be automatic (0), gather (1), scatter (2), one_shot (3), two_shot (4) "
        "or push (5)");
  }
  if (output == Placement::rows &&
      (algorithm == Algorithm::gather || algorithm == Algorithm::one_shot)) {
    return invalid("algorithm is " + std::string(name(algorithm)) +
                   ": with output rows it must be automatic, scatter, two_shot or push");
  }
  if (shares.ranks() != communicator.size() || shares.k() != whole.k) {
    return invalid("shares are of k = " + std::to_string(shares.k()) + " between " +
                   std::to_string(shares.ranks()) + " ranks: they must be of k = " +
                   std::to_string(whole.k) + " between " + std::to_string(communicator.size()));
  }
  auto plan = Plan::create(backend, whole);
  if (!plan) return plan.status();
  add_facts(whole, facts);
  facts.push_back({"shares", text(shares)});
  facts.push_back({"output", std::string(name(output))});
  facts.push_back({"algorithm", std::string(name(algorithm))});
  Join join(communicator, *std::move(plan), shares, output, algorithm);
  if (communicator.size() == 1 || whole.k == 0) return join;
  if (Status s = join.plan_peers(backend); !s) return s;
  return join;
}

/// Decides whether windows are used; refused where they are asked for and cannot be.
Status Join::plan_peers(const Backend& backend) {
  const bool asked = uses_peers(algorithm_);
  const std::string what = "algorithm is " + std::string(name(algorithm_)) + ": ";
  const DeviceKind kind = backend.device().kind();
  const DeviceKind memory = window_kind(state().options);
  const PeerWindow* const on_device = state().device_window.get();
  if (state().window == nullptr && on_device == nullptr) {
    return asked ? unsupported(what + "these ranks have no windows: " + state().no_window)
                 : Status{};
  }
  if (kind != memory) {
    return asked ? unsupported(
                       what + "windows are memory of the " +
                       (memory == DeviceKind::host ? "host" : "kind " + std::string(name(memory))) +
                       ", and backend " + std::string(backend.name()) +
                       " computes in memory of the kind " + std::string(name(kind)))
                 : Status{};
  }
  const std::size_t bytes = on_device != nullptr ? on_device->bytes() : state().window->bytes();
  if (on_device == nullptr) {
    if (!asked) return {};
    auto layout =
        PeerLayout::of(algorithm_, output_, shares_, spec().n, spec().contract.output, bytes);
    if (layout) layout_ = *std::move(layout);
    return layout.status();
  }
  if (!asked && algorithm_ != Algorithm::automatic) return {};
  auto layout = DeviceLayout::of(shares_, output_, spec().n, spec().contract.output, bytes);
  Status fits = on_device->supports(spec(), layout.nodes);
  const Algorithm way = asked ? algorithm_ : Algorithm::two_shot;
  if (fits && layout.rows(way) < 1) {
    fits = invalid("window_bytes leaves " + std::to_string(bytes) + " bytes: not one row of n = " +
                   std::to_string(spec().n) + " and " + std::to_string(layout.nodes.size()) +
                   " nodes has room with " + std::string(name(way)));
  }
  if (fits) device_layout_ = std::move(layout);
  return asked ? fits : Status{};  // automatic sends messages then
}

Algorithm Join::by_device(std::int64_t m) const {
  if (algorithm_ != Algorithm::automatic) return algorithm_;
  if (output_ == Placement::rows || !state().one_shot_by_default) return Algorithm::two_shot;
  const Algorithm chosen = choose_by_peers(m, spec().n, ranks(), device_layout_->nodes.size());
  return m <= device_layout_->rows(chosen) ? chosen : Algorithm::two_shot;
}

std::int64_t Join::rows_in_workspace(std::int64_t max_m) const {
  if (!by_device()) return max_m;
  const auto outside = [&](std::int64_t m) { return !pushes(m) && !roots_in_window(m); };
  if (outside(max_m)) return max_m;
  if (algorithm_ != Algorithm::automatic || output_ == Placement::rows) return 0;
  const std::int64_t few = device_layout_->rows(Algorithm::one_shot);
  std::int64_t below = 0, above = std::min(max_m, few) + 1;  // few rows are outside, many are not
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (outside(middle) ? below : above) = middle;
  }
  return below;
}

bool Join::scatters(std::int64_t m) const {
  if (output_ == Placement::rows) return true;
  if (spec().k == 0) return false;  // there is nothing to add: every rank writes all of its D
  if (by_peers()) return algorithm_ != Algorithm::one_shot;
  if (by_device()) return by_device(m) != Algorithm::one_shot;
  // Where a rank has no rows, it would wait for two steps in place of one.
  if (rows_of(m, ranks() - 1, ranks()).size() == 0) return false;
  if (algorithm_ == Algorithm::gather) return false;
  if (algorithm_ == Algorithm::scatter) return true;
  return m >= std::int64_t{8} * ranks();
}

Range Join::rows(std::int64_t m) const {
  return output_ == Placement::rows ? rows_of(m, rank(), ranks()) : Range{0, m};
}

std::size_t Join::root_bytes(std::int64_t rows) const {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(spec().n) * sizeof(float);
}

std::size_t Join::d_bytes(std::int64_t rows) const {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(spec().n) *
         size_of(spec().contract.output);
}

std::size_t Join::foreign_nodes() const {
  std::size_t nodes = 0;
  for (int r = 0; r < ranks(); ++r) nodes += r == rank() ? 0 : shares_.cover(r).size();
  return nodes;
}

std::size_t Join::workspace_bytes(std::int64_t max_m) const {
  const auto received_bytes = [&](std::int64_t rows) {
    return foreign_nodes() * padded(root_bytes(rows));
  };
  if (by_device()) return 0;
  if (by_peers()) return padded(*plan_.workspace_bytes(max_m));
  // The algorithm may be another one for fewer rows.
  std::size_t bytes = received_bytes(rows_of(max_m, 0, ranks()).size());
  const std::int64_t most_gathered = output_ == Placement::rows         ? 0
                                     : algorithm_ == Algorithm::gather  ? max_m
                                     : algorithm_ == Algorithm::scatter ? 8 * (ranks() - 1)
                                                                        : 8 * ranks() - 1;
  const std::int64_t gathered = std::min(max_m, most_gathered);
  bytes = std::max(bytes, received_bytes(gathered));
  // Rows of a D with gaps lie packed while they travel, where the roots were.
  const bool shares_rows = output_ == Placement::replicated && ranks() > 1;
  if (shares_rows && algorithm_ != Algorithm::gather)
    bytes = std::max(bytes, padded(d_bytes(max_m)));
  return bytes + padded(*plan_.workspace_bytes(max_m));
}

std::size_t Join::received(std::int64_t m) const {
  if (!scatters(m)) return foreign_nodes() * root_bytes(m);
  const Range mine = rows_of(m, rank(), ranks());
  const std::size_t roots = foreign_nodes() * root_bytes(mine.size());
  const auto row = static_cast<std::size_t>(spec().n) * size_of(spec().contract.output);
  return output_ == Placement::rows ? roots
                                    : roots + static_cast<std::size_t>(m - mine.size()) * row;
}

Status Join::check(Stream stream, std::int64_t m, const Operands& local) const {
  if (m < 0) return invalid("m is " + std::to_string(m) + ": it must not be negative");
  const DeviceKind kind = plan_.backend().device().kind();
  if (stream.kind != kind) {
    return invalid("stream.kind is " + std::string(name(stream.kind)) + ": backend " +
                   std::string(plan_.backend().name()) + " needs " + std::string(name(kind)));
  }
  const Range own = rows(m);
  if (local.d.rows != own.size()) {
    return invalid("d has " + std::to_string(local.d.rows) + " rows: this rank has " +
                   std::to_string(own.size()) + " of m = " + std::to_string(m));
  }
  // With k = 0 only C, the bias and D are left to check.
  GemmSpec outputs = spec();
  outputs.k = 0;
  Operands arrays = local;
  arrays.a = empty_input(spec().op_a == Op::none, own.size());
  arrays.b = empty_input(spec().op_b == Op::transpose, spec().n);
  return validate(outputs, arrays);
}

ConstMatrix Join::empty_input(bool by_columns, std::int64_t extent) const {
  const void* const none = nullptr;
  const DType type = spec().contract.input == DType::tf32 ? DType::fp32 : spec().contract.input;
  return by_columns ? row_major(none, extent, 0, type) : row_major(none, 0, extent, type);
}

Status Join::agree_on_call(std::int64_t m, const Status& mine) const {
  if (!state().options.check_calls) return mine;
  return agree(state(), mine, facts_of_call(number_, m));
}

Status Join::join_rows(Stream stream, Range rows, std::span<const void* const> mine,
                       const std::byte* received, const Operands& of_rows, Workspace workspace,
                       RunInfo* info) const {
  if (spec().k == 0) {  // no leaves: the epilogue of +0
    Operands empty = of_rows;
    empty.a = empty_input(spec().op_a == Op::none, rows.size());
    empty.b = empty_input(spec().op_b == Op::transpose, spec().n);
    return plan_.run(stream, empty, workspace, info);
  }
  std::vector<NodeRoot> roots;
  std::size_t next = 0;
  for (int r = 0; r < ranks(); ++r) {
    const auto cover = shares_.cover(r);
    for (std::size_t i = 0; i < cover.size(); ++i) {
      const void* data = nullptr;
      if (r == rank()) {
        data = static_cast<const std::byte*>(mine[i]) + root_bytes(rows.begin);
      } else {
        data = received + next++ * padded(root_bytes(rows.size()));
      }
      roots.push_back({row_major(data, rows.size(), spec().n, DType::fp32), cover[i]});
    }
  }
  return plan_.combine(stream, roots, of_rows, workspace, info);
}

/// Every rank has its rows of D and sends them to all others.
Status Join::share_rows(Stream stream, std::int64_t m, const Matrix& d, Workspace staging) const {
  const Gather gather{state(), plan_.backend().device(), stream,
                      [&](int r) {
                        return Block{rows_of(m, r, ranks()), {0, spec().n}};
                      },
                      staging};
  return gather.run(rows_of_view(d, rows_of(m, rank(), ranks())), d);
}

Status Join::run(Stream stream, std::int64_t m, std::span<const void* const> roots,
                 const Operands& local, Workspace workspace, RunInfo* info, std::int64_t window_row,
                 const Produce* produce) const {
  if (m == 0 || spec().n == 0) {
    if (info != nullptr) info->kernel = "none (no outputs)";
    return {};
  }
  if (by_peers()) {
    return PeerCall{state(), plan_, shares_, layout_, output_,   algorithm_, number_,
                    stream,  m,     roots,   local,   workspace, info}
        .run();
  }
  if (by_device()) {
    return DeviceCall{state(),
                      spec(),
                      *device_layout_,
                      output_,
                      window_row >= 0 ? Algorithm::two_shot : by_device(m),
                      number_,
                      plan_.backend().device(),
                      stream,
                      m,
                      roots,
                      window_row,
                      local,
                      info,
                      produce}
        .run();
  }
  const bool scatter = scatters(m);
  const auto slice_of = [&](int r) { return scatter ? rows_of(m, r, ranks()) : Range{0, m}; };
  const Range slice = slice_of(rank());
  const Workspace staging = workspace;  // once the roots are joined
  const Workspace for_roots = take(workspace, foreign_nodes() * padded(root_bytes(slice.size())));
  std::vector<Send> sends;
  std::vector<Receive> receives;
  std::size_t next = 0;
  for (int r = 0; r < ranks(); ++r) {
    if (r == rank()) continue;
    const Range theirs = slice_of(r);
    for (const void* root : roots) {
      if (theirs.size() == 0) continue;
      sends.push_back({r, static_cast<const std::byte*>(root) + root_bytes(theirs.begin),
                       root_bytes(theirs.size())});
    }
    for (std::size_t i = 0; i < shares_.cover(r).size(); ++i) {
      auto* to =
          static_cast<std::byte*>(for_roots.data) + next++ * padded(root_bytes(slice.size()));
      if (slice.size() > 0) receives.push_back({r, to, root_bytes(slice.size())});
    }
  }
  auto& transport = *state().transport;
  const auto patience = state().options.patience;
  if (ranks() > 1 && spec().k > 0) {
    Status s = state().after(transport.exchange(stream, sends, receives, patience));
    if (!s) return s;
  }
  Operands of_rows = local;
  if (scatter && output_ == Placement::replicated) {
    of_rows.d = rows_of_view(local.d, slice);
    if (spec().reads_c()) of_rows.c = rows_of_view(local.c, slice);
  }
  if (Status s = join_rows(stream, slice, roots, static_cast<const std::byte*>(for_roots.data),
                           of_rows, workspace, info);
      !s) {
    return s;
  }
  if (!scatter || output_ == Placement::rows || ranks() == 1) return {};
  return share_rows(stream, m, local.d, staging);
}

Status Join::or_nan(Status status, const Matrix& d) const {
  if (by_peers() && status.code() == Errc::peer) fill_with_nan(d);
  return status;
}

std::string Join::describe(std::int64_t m) const {
  std::string how{scatters(m) ? "scatter" : "gather"};
  if (by_peers()) {
    how = std::string(name(algorithm_)) + " in pieces of " + std::to_string(layout_.rows) +
          " rows" + (scatters(m) ? " of each rank" : "") + ", windows of " +
          std::to_string(state().window->bytes()) + " bytes";
  } else if (by_device()) {
    const Algorithm chosen = by_device(m);
    how = std::string(name(chosen)) + " in pieces of " +
          std::to_string(device_layout_->rows(chosen)) + " rows, windows of " +
          std::to_string(state().device_window->bytes()) + " bytes on each device";
  }
  return "join       " + how + ", output " + std::string(name(output_)) + ", " +
         std::to_string(shares_.cover(rank()).size()) + " nodes here, " +
         std::to_string(foreign_nodes()) + " elsewhere\n" +
         describe_received(m, spec().n, [this](std::int64_t rows) { return received(rows); }) +
         "ranks      " + communicator_.describe() + "\n";
}

}  // namespace detgemm::cluster

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/join/join.hpp"

namespace detgemm::cluster {

struct TreeSum::State {
  std::unique_ptr<Join> join;
};

namespace {

/// The roots as the caller gave them: packed, or refused.
Status check_roots(const Join& join, std::int64_t m, std::span<const ConstMatrix> roots) {
  const std::size_t nodes = join.shares().cover(join.rank()).size();
  if (roots.size() != nodes) {
    return invalid("roots.size() is " + std::to_string(roots.size()) + ": this rank's share has " +
                   std::to_string(nodes) + " nodes");
  }
  const std::int64_t n = join.spec().n;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const ConstMatrix& root = roots[i];
    const std::string what = "roots[" + std::to_string(i) + "]";
    if (root.rows != m || root.cols != n || root.dtype != DType::fp32) {
      return invalid(what + " is " + std::to_string(root.rows) + " x " + std::to_string(root.cols) +
                     " of " + std::string(name(root.dtype)) + ": it must be " + std::to_string(m) +
                     " x " + std::to_string(n) + " of fp32");
    }
    if (m == 0 || n == 0) continue;
    if ((n > 1 && root.col_stride != 1) || (m > 1 && root.row_stride != n)) {
      return invalid(what + " has strides (" + std::to_string(root.row_stride) + ", " +
                     std::to_string(root.col_stride) + "): it must be row-major and packed, (" +
                     std::to_string(n) + ", 1)");
    }
    if (root.data == nullptr) return invalid(what + ".data is null");
    // Other ranks read the window, and would take what is there for other rows.
    for (std::size_t node = 0; node < nodes; ++node) {
      if (root.data != join.root_in_window(node)) continue;
      if (node == i && join.takes_roots_in_window(m)) continue;
      return invalid(what + ".data is place(m, " + std::to_string(node) +
                     ") of the window: a call of " + std::to_string(m) +
                     " rows reads it from what its own place(m, " + std::to_string(i) +
                     ") says, or from memory outside of the window");
    }
  }
  return {};
}

}  // namespace

Result<TreeSum> TreeSum::create(const Communicator& communicator, const Backend& backend,
                                const GemmSpec& whole, const Shares& shares, Placement output,
                                Algorithm algorithm) {
  Facts facts{{"plan", "tree sum"}};
  auto join = Join::create(communicator, backend, whole, shares, output, algorithm, facts);
  if (Status s = agree(communicator.state(), join.status(), facts); !s) return s;
  (*join)->be_plan(++communicator.state().plans);
  return TreeSum(std::make_shared<const State>(State{*std::move(join)}));
}

Result<std::size_t> TreeSum::workspace_bytes(std::int64_t max_m) const {
  if (Status s = check_max_m(max_m, state_->join->spec().n); !s) return s;
  return state_->join->workspace_bytes(max_m);
}

Status TreeSum::run(Stream stream, std::int64_t m, std::span<const ConstMatrix> roots,
                    const Operands& local, Workspace workspace, RunInfo* info) const {
  const Join& join = *state_->join;
  if (Status broken = join.state().health(); !broken) return broken;  // before it waits
  const auto checked = [&]() -> Status {
    if (Status s = join.check(stream, m, local); !s) return s;
    if (Status s = check_roots(join, m, roots); !s) return s;
    return check_workspace(workspace, join.workspace_bytes(m));
  };
  if (Status s = join.agree_on_call(m, checked()); !s) return s;
  std::vector<const void*> data;
  for (const ConstMatrix& root : roots) data.push_back(root.data);
  return join.or_nan(join.run({stream, m, data, local, workspace, info}), local.d);
}

void* TreeSum::place(std::int64_t m, std::size_t node) const {
  const Join& join = *state_->join;
  const bool there =
      m >= 0 && node < join.shares().cover(join.rank()).size() && join.takes_roots_in_window(m);
  return there ? join.root_in_window(node) : nullptr;
}

std::string TreeSum::describe(std::int64_t m) const { return state_->join->describe(m); }

}  // namespace detgemm::cluster

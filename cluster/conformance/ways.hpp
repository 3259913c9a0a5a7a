// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "detgemm/cluster.hpp"

namespace detgemm::cluster {

/// How the ranks of a job compute a product together. The bits must not depend on it.
enum class Way {
  gather,    ///< RowParallelPlan: every rank receives all roots
  scatter,   ///< RowParallelPlan: every rank joins its rows and sends them to all
  rows,      ///< RowParallelPlan with rows out, which are then brought together
  peers,     ///< RowParallelPlan through windows: one_shot, two_shot and push in turn
  tree_sum,  ///< every rank computes its roots with plans of its own, and TreeSum adds them
  columns,   ///< ColumnParallelPlan, whose columns of D are gathered
  rows_in,   ///< the same, where A's rows are gathered first
  k_in,      ///< the same, where A's products are
};
inline constexpr std::array kWays{Way::gather,   Way::scatter, Way::rows,    Way::peers,
                                  Way::tree_sum, Way::columns, Way::rows_in, Way::k_in};

/// Whether this way computes only contracts with a tree.
constexpr bool needs_tree(Way way) { return way <= Way::tree_sum; }

/// For example "scatter".
std::string_view name(Way way);

/// All ranks of a communicator as one backend: its plans are made and run by every rank in the same
/// order, each rank has all of A, B, C and D in its own memory, uses its share, and gets the whole
/// D. Shares of K are even or drawn at random, another draw for each plan, and so is the number of
/// chunks. `inner` computes this rank's products.
std::unique_ptr<Backend> make_job_backend(const Communicator& communicator, const Backend& inner,
                                          Way way);

}  // namespace detgemm::cluster

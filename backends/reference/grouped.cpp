// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/grouped.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "backends/reference/element_kernel.hpp"
#include "backends/reference/plan.hpp"
#include "backends/reference/started.hpp"
#include "backends/reference/tile_grid.hpp"
#include "backends/reference/tile_queue.hpp"
#include "core/contract/group_arguments.hpp"

namespace detgemm::reference {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

/// A group with outputs, and where its tiles begin among those of all groups.
struct Member {
  GemmArguments gemm;
  ScalePair scales;
  Grid grid{};
  std::int64_t first = 0;
};

/// The groups that have outputs. The offsets are read here, each group's once.
std::vector<Member> members_of(const GroupedArguments& p, const ScalePair& scales) {
  std::vector<Member> members;
  for (std::int64_t group = 0; group < p.groups; ++group) {
    const Segment part = part_of_group(p, group);
    const GemmArguments g = arguments_of_group(p, group, part);
    if (g.m > 0) members.push_back({g, scales_of_group(scales, p.distance, group, part)});
  }
  return members;
}

double products_of(const GemmArguments& g) {
  return static_cast<double>(g.m) * static_cast<double>(g.n) * (static_cast<double>(g.k) + 1);
}

/// Every group is the problem that a Plan computes, with the same tiles or the same scalar
/// definition; the walk over tiles alone is different:
///
///   group     0           2     3               group 1 is empty
///   tiles     0 1 2 3     4 5   6 7 8           workers take the next one from a counter
class GroupedReferencePlan final : public GroupedPlanImpl {
 public:
  GroupedReferencePlan(const GroupedSpec& spec, const TileSet* set, int workers)
      : spec_(spec), set_(set), workers_(workers) {
    const Contract& contract = spec.gemm.contract;
    if (set_ != nullptr) kernel_ = set_->kernel(contract.arithmetic, contract.input);
  }

  std::size_t workspace_bytes(std::int64_t max_m, std::int64_t max_k) const override {
    if (set_ == nullptr || max_m == 0) return 0;
    return bytes_per_worker(max_k) * static_cast<std::size_t>(workers_);
  }

  Status run(Stream, const GroupedOperands& operands, Workspace workspace,
             RunInfo* info) const override {
    if (Status s = started("reference"); !s) return s;
    const GroupedArguments p = flatten(spec_, operands);
    std::vector<Member> members = members_of(p, flatten_scales(spec_.gemm, operands.arrays));
    if (set_ != nullptr) {
      run_all(members, static_cast<std::byte*>(workspace.data), bytes_per_worker(p.all.k));
    } else {
      const Space space;
      for (const Member& member : members) {
        arithmetic::for_step(spec_.gemm.contract.arithmetic, spec_.gemm.contract.input,
                             [&]<Arithmetic A, DType T>() {
                               launch_elements<Space, A, T>(space, member.gemm, member.scales,
                                                            workers_);
                             });
        space.fence();
      }
    }
    if (info != nullptr) info->kernel = kernel(p.all.m);
    return {};
  }

  std::string kernel(std::int64_t) const override { return set_ != nullptr ? set_->name : kScalar; }

 private:
  /// A group has at most all of k_grouped's products; a tree keeps a sum per level.
  std::size_t bytes_per_worker(std::int64_t max_k) const {
    const std::int64_t k = spec_.kind == GroupKind::k_grouped ? max_k : spec_.gemm.k;
    return kernel_.scratch(spec_.gemm.contract.leaves(k));
  }

  void run_all(std::vector<Member>& members, std::byte* scratch, std::size_t bytes) const {
    double products = 0;
    for (const Member& member : members) products += products_of(member.gemm);
    const std::int64_t max_workers = std::min(workers_for(products), std::int64_t{workers_});
    std::int64_t tiles = 0;
    const auto count = static_cast<std::int64_t>(members.size());
    for (Member& member : members) {
      member.grid = make_grid(kernel_, member.gemm.m, member.gemm.n,
                              std::max<std::int64_t>(1, max_workers / count));
      member.first = tiles;
      tiles += member.grid.tiles();
    }
    const Member* const first = members.data();
    run_tiles(kernel_, tiles, max_workers, scratch, bytes, "detgemm::reference::groups",
              [=](TileJob& job, std::int64_t t) {
                const Member* const after = std::upper_bound(
                    first, first + count, t,
                    [](std::int64_t tile, const Member& each) { return tile < each.first; });
                const Member& member = *(after - 1);
                member.grid.place(job, member.gemm, member.scales, t - member.first);
              });
  }

  GroupedSpec spec_;
  const TileSet* set_;  // null: the scalar definition
  TileKernel kernel_;
  int workers_;
};

}  // namespace

std::shared_ptr<const GroupedPlanImpl> make_grouped_reference_plan(const GroupedSpec& spec,
                                                                   const PlanOptions& options) {
  return std::make_shared<GroupedReferencePlan>(spec, tile_set_of(options.variant),
                                                workers_of(options));
}

}  // namespace detgemm::reference

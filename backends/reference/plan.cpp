// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/reference/plan.hpp"

#include <algorithm>
#include <limits>

#include "backends/reference/element_kernel.hpp"
#include "backends/reference/snap3.hpp"
#include "backends/reference/started.hpp"
#include "backends/reference/tile_grid.hpp"
#include "backends/reference/tile_queue.hpp"

namespace detgemm::reference {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

/// A product takes the scalar definition as long as this many products take the tile kernels.
constexpr double kScalarCost = 64;
/// A root of a combine takes as long as this many of them.
constexpr double kRootCost = 8;

/// `depth`: products per output.
std::int64_t workers_for(const GemmArguments& g, double depth) {
  return reference::workers_for(static_cast<double>(g.m) * static_cast<double>(g.n) * (depth + 1));
}

class ReferencePlan final : public PlanImpl {
 public:
  ReferencePlan(const GemmSpec& spec, const TileSet* set, int workers)
      : spec_(spec), set_(set), workers_(workers) {
    if (set_ != nullptr) {
      kernel_ = set_->kernel(spec.contract.arithmetic, spec.contract.input);
      scratch_ = kernel_.scratch(spec.contract.leaves(spec.k) *
                                 arithmetic::sums_per_leaf(spec.contract.arithmetic));
    }
  }

  /// Scratch of the workers, then the snapped copies of A (M x K) and B (N x K), where they are
  /// made; under snap3 with three times the leaves.
  std::size_t workspace_bytes(std::int64_t max_m) const override {
    std::size_t bytes = max_m == 0 ? 0 : all_scratch();
    const Contract& contract = spec_.contract;
    if (max_m == 0 || bytes == 0 || !arithmetic::is_snap(contract.arithmetic)) return bytes;
    const bool snap3 = contract.arithmetic == Arithmetic::snap3;
    const std::int64_t k = snap3 ? snap3_copies(spec_.k, contract.reduction.leaf_k).k : spec_.k;
    const std::size_t a = spec_.a_snapped ? 0 : copy_bytes(max_m, k);
    const std::size_t b = spec_.b_snapped ? 0 : copy_bytes(spec_.n, k);
    if (__builtin_add_overflow(bytes, a, &bytes) || __builtin_add_overflow(bytes, b, &bytes)) {
      return std::numeric_limits<std::size_t>::max();
    }
    return bytes;
  }

  Status run(Stream, const Operands& operands, Workspace workspace, RunInfo* info) const override {
    if (Status s = started("reference"); !s) return s;
    GemmArguments g = flatten(spec_, operands);
    const ScalePair scales = flatten_scales(spec_, operands);
    if (set_ != nullptr) {
      if (spec_.contract.arithmetic == Arithmetic::snap) {
        snap_operands(g, static_cast<std::byte*>(workspace.data) + all_scratch());
      } else if (spec_.contract.arithmetic == Arithmetic::snap3) {
        split_operands(g, static_cast<std::byte*>(workspace.data) + all_scratch());
      }
      run_all(g, scales, static_cast<std::byte*>(workspace.data));
    } else {
      const Space space;
      const std::int64_t workers = workers_at_most(g, kScalarCost * static_cast<double>(g.k));
      arithmetic::for_step(spec_.contract.arithmetic, spec_.contract.input,
                           [&]<Arithmetic A, DType T>() {
                             launch_elements<Space, A, T>(space, g, scales, workers);
                           });
      space.fence();
    }
    if (info != nullptr) info->kernel = kernel(g.m);
    return {};
  }

  Status combine(Stream, std::span<const TreeRoot> roots, const Operands& operands, Workspace,
                 RunInfo* info) const override {
    if (Status s = started("reference"); !s) return s;
    std::vector<Root> list;
    for (const auto& [root, closes] : roots) {
      list.push_back({static_cast<const float*>(root.data), strides_of(root, Op::none), closes});
    }
    const GemmArguments g = flatten(spec_, operands);
    const auto count = static_cast<std::int64_t>(list.size());
    const Space space;
    launch_combine(space, g, RootsInMemory{list.data()}, count,
                   workers_at_most(g, kRootCost * static_cast<double>(count)));
    space.fence();
    if (info != nullptr) info->kernel = kernel(g.m);
    return {};
  }

  std::string kernel(std::int64_t) const override { return set_ != nullptr ? set_->name : kScalar; }

 private:
  std::int64_t workers_at_most(const GemmArguments& g, double depth) const {
    return std::min(workers_for(g, depth), std::int64_t{workers_});
  }

  std::size_t all_scratch() const { return scratch_ * static_cast<std::size_t>(workers_); }

  /// Puts snapped copies, K contiguous, in the place of operands that are not promised to be
  /// snapped.
  void snap_operands(GemmArguments& g, std::byte* copies) const {
    const auto copy = [&](const void*& data, std::int64_t lines, std::int64_t& line,
                          std::int64_t& step) {
      auto* to = reinterpret_cast<std::uint16_t*>(copies);
      snap_lines(*set_, {static_cast<const std::uint16_t*>(data), line, step, lines, g.k},
                 g.reduction.leaf_k, to, g.k, 1, workers_);
      copies += copy_bytes(lines, g.k);
      data = to;
      line = g.k;
      step = 1;
    };
    if (!spec_.a_snapped) copy(g.a, g.m, g.as.row, g.as.col);
    if (!spec_.b_snapped) copy(g.b, g.n, g.bs.col, g.bs.row);
  }

  /// Puts copies of three times the leaves in the place of both operands.
  void split_operands(GemmArguments& g, std::byte* copies) const {
    const Snap3Copies shape = snap3_copies(g.k, g.reduction.leaf_k);
    const DType type = spec_.contract.input;
    auto* a = reinterpret_cast<std::uint16_t*>(copies);
    auto* b = reinterpret_cast<std::uint16_t*>(copies + copy_bytes(g.m, shape.k));
    snap3_lines(*set_, {g.a, type, g.as.row, g.as.col, g.m, g.k}, true, shape, a, workers_);
    snap3_lines(*set_, {g.b, type, g.bs.col, g.bs.row, g.n, g.k}, false, shape, b, workers_);
    g.a = a;
    g.b = b;
    g.as = {shape.k, 1};
    g.bs = {1, shape.k};
    g.k = shape.k;
    g.reduction.leaf_k = shape.leaf_k;
  }

  void run_all(const GemmArguments& g, const ScalePair& scales, std::byte* scratch) const {
    const std::int64_t max_workers = workers_at_most(g, static_cast<double>(g.k));
    const Grid grid = make_grid(kernel_, g.m, g.n, max_workers);
    run_tiles(kernel_, grid.tiles(), max_workers, scratch, scratch_, "detgemm::reference::tiles",
              [&](TileJob& job, std::int64_t t) { grid.place(job, g, scales, t); });
  }

  GemmSpec spec_;
  const TileSet* set_;  // null: the scalar definition
  TileKernel kernel_;
  std::size_t scratch_ = 0;  // bytes per worker
  int workers_;
};

}  // namespace

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const TileSet* set : tile_sets()) names.emplace_back(set->name);
  names.emplace_back(kScalar);
  return names;
}

const TileSet* tile_set_of(const std::string& variant) {
  if (variant.empty()) return tile_sets().front();
  for (const TileSet* set : tile_sets()) {
    if (variant == set->name) return set;
  }
  return nullptr;
}

int workers_of(const PlanOptions& options) {
  const int all = std::max(1, static_cast<int>(Space().concurrency()));
  return options.max_workers > 0 ? std::min(options.max_workers, all) : all;
}

void snap_matrix(const SnapSpec& spec, const ConstMatrix& from, const Matrix& to) {
  const Op op = spec.k == KDimension::cols ? Op::none : Op::transpose;
  const Strides in = strides_of(from, op);
  const Strides out = strides_of(to, op);
  const bool along = op == Op::none;
  const Lines lines{static_cast<const std::uint16_t*>(from.data), in.row, in.col,
                    along ? from.rows : from.cols, along ? from.cols : from.rows};
  snap_lines(*tile_sets().front(), lines, spec.leaf_k, static_cast<std::uint16_t*>(to.data),
             out.row, out.col, workers_of({}));
}

std::shared_ptr<const PlanImpl> make_reference_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) {
  return std::make_shared<ReferencePlan>(spec, tile_set_of(options.variant), workers_of(options));
}

}  // namespace detgemm::reference

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/reference/plan.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "backends/reference/element_kernel.hpp"
#include "backends/reference/snap.hpp"
#include "backends/reference/started.hpp"

namespace detgemm::reference {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

constexpr const char* kScalar = "scalar";

std::span<const TileSet* const> sets() {
  const TileSet* const* first = nullptr;
  const std::size_t count = tile_sets(&first);
  return {first, count};
}

/// A tile shape for this M: bit-neutral, so it may follow the shape and the number of workers.
struct Grid {
  std::int64_t tile_rows, tile_cols;  // outputs per tile
  std::int64_t rows, cols;            // tiles
  std::int64_t tiles() const { return rows * cols; }
};

/// `extent` cut into `pieces` pieces of whole units.
std::int64_t piece(std::int64_t extent, std::int64_t pieces, std::int64_t unit) {
  return ceil_div(ceil_div(extent, unit), pieces) * unit;
}

/// Cuts D into equal tiles of whole units, and into smaller ones while there are too few for the
/// workers.
Grid make_grid(const TileKernel& kernel, std::int64_t m, std::int64_t n, std::int64_t workers) {
  const std::int64_t row_tiles = ceil_div(m, kernel.rows);
  const std::int64_t max_col_tiles = ceil_div(n, kernel.col_unit);
  std::int64_t col_tiles = ceil_div(n, kernel.cols);
  while (row_tiles * col_tiles < 3 * workers && col_tiles < max_col_tiles) ++col_tiles;
  Grid grid{};
  grid.tile_rows = std::min(kernel.rows, piece(m, row_tiles, kernel.row_unit));
  grid.tile_cols = std::min(kernel.cols, piece(n, col_tiles, kernel.col_unit));
  grid.rows = ceil_div(m, grid.tile_rows);
  grid.cols = ceil_div(n, grid.tile_cols);
  return grid;
}

/// Waking a worker costs more than this many products take.
constexpr double kProductsAWorker = 32768;

/// A product takes the scalar definition as long as this many products take the tile kernels.
constexpr double kScalarCost = 64;
/// A root of a combine takes as long as this many of them.
constexpr double kRootCost = 8;

/// `depth`: products per output.
std::int64_t workers_for(const GemmArguments& g, double depth) {
  const double products = static_cast<double>(g.m) * static_cast<double>(g.n) * (depth + 1);
  const double workers = products / kProductsAWorker;
  return workers < 1 ? 1 : (workers > 4096 ? 4096 : static_cast<std::int64_t>(workers));
}

class ReferencePlan final : public PlanImpl {
 public:
  ReferencePlan(const GemmSpec& spec, const TileSet* set, int workers)
      : spec_(spec), set_(set), workers_(workers) {
    if (set_ != nullptr) {
      kernel_ = set_->kernel(spec.contract.arithmetic, spec.contract.input);
      scratch_ = kernel_.scratch(spec.contract.leaves(spec.k));
    }
  }

  /// Scratch of the workers, then the snapped copies of A (M x K) and B (N x K), where they are
  /// made.
  std::size_t workspace_bytes(std::int64_t max_m) const override {
    std::size_t bytes = max_m == 0 ? 0 : all_scratch();
    if (max_m == 0 || bytes == 0 || spec_.contract.arithmetic != Arithmetic::snap) return bytes;
    const std::size_t a = spec_.a_snapped ? 0 : copy_bytes(max_m, spec_.k);
    const std::size_t b = spec_.b_snapped ? 0 : copy_bytes(spec_.n, spec_.k);
    if (__builtin_add_overflow(bytes, a, &bytes) || __builtin_add_overflow(bytes, b, &bytes)) {
      return std::numeric_limits<std::size_t>::max();
    }
    return bytes;
  }

  Status run(Stream, const Operands& operands, Workspace workspace, RunInfo* info) const override {
    if (Status s = started("reference"); !s) return s;
    GemmArguments g = flatten(spec_, operands);
    if (set_ != nullptr) {
      if (spec_.contract.arithmetic == Arithmetic::snap) {
        snap_operands(g, static_cast<std::byte*>(workspace.data) + all_scratch());
      }
      run_tiles(g, static_cast<std::byte*>(workspace.data));
    } else {
      const Space space;
      const std::int64_t workers = workers_at_most(g, kScalarCost * static_cast<double>(g.k));
      arithmetic::for_step(
          spec_.contract.arithmetic, spec_.contract.input,
          [&]<Arithmetic A, DType T>() { launch_elements<Space, A, T>(space, g, workers); });
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

  /// Workers take tiles from a counter; each has its own slice of the workspace. Only plain
  /// RangePolicy dispatch is used, which every Kokkos since 3.4 takes from any host thread.
  void run_tiles(const GemmArguments& g, std::byte* scratch) const {
    const std::int64_t max_workers = workers_at_most(g, static_cast<double>(g.k));
    const Grid grid = make_grid(kernel_, g.m, g.n, max_workers);
    const std::int64_t workers = std::min(max_workers, grid.tiles());
    std::atomic<std::int64_t> next{0};
    std::atomic<std::int64_t>* counter = &next;
    const TileKernel kernel = kernel_;
    const std::size_t bytes = scratch_;
    const auto work = [=, &g](std::int64_t worker) {
      TileJob job;
      job.gemm = &g;
      job.scratch = scratch + static_cast<std::size_t>(worker) * bytes;
      for (std::int64_t t = counter->fetch_add(1); t < grid.tiles(); t = counter->fetch_add(1)) {
        job.row = t / grid.cols * grid.tile_rows;
        job.rows = std::min(grid.tile_rows, g.m - job.row);
        job.col = t % grid.cols * grid.tile_cols;
        job.cols = std::min(grid.tile_cols, g.n - job.col);
        kernel.run(job);
      }
    };
    if (workers == 1) {
      work(0);
      return;
    }
    const Space space;
    Kokkos::parallel_for(
        "detgemm::reference::tiles",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, workers), work);
    space.fence();
  }

  GemmSpec spec_;
  const TileSet* set_;  // null: the scalar definition
  TileKernel kernel_;
  std::size_t scratch_ = 0;  // bytes per worker
  int workers_;
};

}  // namespace

std::vector<std::string> variant_names(const GemmSpec&) {
  std::vector<std::string> names;
  for (const TileSet* set : sets()) names.emplace_back(set->name);
  names.emplace_back(kScalar);
  return names;
}

void snap_matrix(const SnapSpec& spec, const ConstMatrix& from, const Matrix& to) {
  const Op op = spec.k == KDimension::cols ? Op::none : Op::transpose;
  const Strides in = strides_of(from, op);
  const Strides out = strides_of(to, op);
  const bool along = op == Op::none;
  const Lines lines{static_cast<const std::uint16_t*>(from.data), in.row, in.col,
                    along ? from.rows : from.cols, along ? from.cols : from.rows};
  snap_lines(*sets().front(), lines, spec.leaf_k, static_cast<std::uint16_t*>(to.data), out.row,
             out.col, std::max(1, static_cast<int>(Space().concurrency())));
}

std::shared_ptr<const PlanImpl> make_reference_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) {
  const int all = std::max(1, static_cast<int>(Space().concurrency()));
  const int workers = options.max_workers > 0 ? std::min(options.max_workers, all) : all;
  const TileSet* chosen = sets().front();
  if (!options.variant.empty()) {
    chosen = nullptr;
    for (const TileSet* set : sets()) {
      if (options.variant == set->name) chosen = set;
    }
  }
  return std::make_shared<ReferencePlan>(spec, chosen, workers);
}

}  // namespace detgemm::reference

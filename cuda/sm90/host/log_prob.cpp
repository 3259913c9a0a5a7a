// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/log_prob.hpp"

#include <algorithm>
#include <limits>

#include "cuda/sm90/host/boxes.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/operand_maps.hpp"
#include "cuda/sm90/log_prob/arguments.hpp"
#include "cuda/sm90/log_prob/kernels.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::int64_t kStripe = 8192;                    // rows whose nodes exist at a time
constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;  // TMA coordinates are 32-bit, signed

bool suits(const Operand& o) {
  return !o.mn_major && o.rows < kMaxRows && o.ld < kMaxStride && o.ld * 2 % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0;
}

/// Clocks of a multiprocessor for one tile: products, or bringing the operands, then the nodes, of
/// which 18 instructions per logit pass at 128 per clock.
double tile_clocks(const Geometry& t, std::int64_t k) {
  const double products = static_cast<double>(t.x()) * t.n * static_cast<double>(k) / 4096;
  const double fill = (t.x() + t.n) * 2.0 * static_cast<double>(k) / 50;
  return std::max(2 * products, fill) + t.x() * t.n * 18 / 128.0 + 700;
}

LaunchShape shape_of(const Geometry& t, const Sides& p, const GemmArguments& g, int sms) {
  LaunchShape s;
  s.raster = raster_of(t, p.x.rows, p.y.rows, sms);
  s.x_rows = static_cast<int>(p.x.rows);
  s.y_rows = static_cast<int>(p.y.rows);
  s.k_blocks = static_cast<int>(ceil_div(g.k, std::int64_t{kBlockK}));
  s.x_last = last_origin(p.x, t.x(), true);
  s.y_last = std::numeric_limits<int>::max();  // nodes are aligned by position
  const Boxes x = x_boxes(t, p);
  const Boxes y = y_boxes(t, p);
  s.x_stage_bytes = x.stage_bytes;
  s.y_stage_bytes = y.stage_bytes;
  s.x_stable = p.x_stable;
  s.y_stable = p.y_stable;
  s.output = g.output;
  s.finishes = g.epilogue.alpha != 1.0F || g.epilogue.has_bias;
  return s;
}

/// Rows first .. first + count - 1 of a layer.
LogLayer stripe_of(const LogLayer& layer, std::int64_t first, std::int64_t count) {
  LogLayer part = layer;
  const auto behind = [](auto* data, std::int64_t elements) {
    return data == nullptr ? nullptr : data + elements;
  };
  part.g.m = count;
  part.g.a = static_cast<const std::uint16_t*>(layer.g.a) + first * layer.g.as.row;
  if (count == 1) part.g.as.row = 0;
  TokenIds& ids = part.rows.targets;
  ids.rows = count;
  ids.data = behind(static_cast<const std::byte*>(ids.data),
                    first * ids.row_stride * (ids.type == OffsetType::i32 ? 4 : 8));
  part.rows.scale = behind(layer.rows.scale, first);
  part.out.logp = behind(layer.out.logp, first * ids.per_row);
  part.out.target_logit = behind(layer.out.target_logit, first * ids.per_row);
  part.out.lse = behind(layer.out.lse, first);
  part.out.entropy = behind(layer.out.entropy, first);
  part.out.saved_k = behind(layer.out.saved_k, first);
  part.out.saved_r = behind(layer.out.saved_r, first);
  return part;
}

/// The tiles of some rows, then their roots.
cudaError_t run_stripe(const LogLayer& layer, void* workspace, const LogLaunch& how) {
  const GemmArguments& g = layer.g;
  const int geometry = how.geometry >= 0 ? how.geometry : choose_log(g.m, g.n, g.k, how.sms);
  const Geometry& t = kLogGeometries[static_cast<std::size_t>(geometry)];
  const Kernel kernel = log_kernel_of<DType::bf16>(geometry);
  if (kernel.function == nullptr) return cudaErrorInvalidDeviceFunction;
  const Sides p = make_sides(g, false, false, layer.w_is_stable);
  LaunchShape shape = shape_of(t, p, g, how.sms);
  LaunchMaps maps{};
  const auto map = [&](const Operand& o, const Boxes& boxes, CUtensorMap* to) {
    return make_map(o, DType::bf16, g.k, boxes.rows, 1, to);
  };
  if (const auto e = map(p.x, x_boxes(t, p), &maps.x); e != cudaSuccess) return e;
  if (const auto e = map(p.y, y_boxes(t, p), &maps.y); e != cudaSuccess) return e;
  LogTiles tiles;
  tiles.targets = layer.rows.targets;
  tiles.scale = layer.rows.scale;
  tiles.target_logit = layer.out.target_logit != nullptr ? layer.out.target_logit : layer.out.logp;
  tiles.nodes = log_prob::planes_at(workspace, shape.raster.tiles_y, g.m, layer.entropy());
  GemmArguments copy = g;
  void* arguments[] = {&maps, &shape, &copy, &tiles};
  if (const auto e = cudaFuncSetAttribute(
          kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes);
      e != cudaSuccess) {
    return e;
  }
  const int grid = std::min(shape.raster.tiles(), how.sms);
  const auto error = launch(kernel, grid, {how.stream, how.overlap}, arguments);
  if (error != cudaSuccess) return error;
  return log_prob::root(tiles.nodes, g.n, layer.rows, tiles.target_logit, layer.out,
                        {how.stream, how.overlap});
}

}  // namespace

bool takes_log(const GemmArguments& g) {
  const Sides p = make_sides(g, false, false, false);
  return g.k > 0 && g.k < kMaxRows && g.n > 0 && suits(p.x) && suits(p.y) &&
         ceil_div(g.n, std::int64_t{128}) <= log_prob::kMaxRootSlots &&
         ceil_div(g.m, std::int64_t{64}) * ceil_div(g.n, std::int64_t{128}) < kMaxRows;
}

int choose_log(std::int64_t t, std::int64_t columns, std::int64_t k, int sms) {
  // Weights stream from memory then, and the smallest tiles end most evenly (docs/log/log-prob.md).
  if (t <= 64) return kLogSmallest;
  int best = 0;
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < kLogGeometries.size(); ++i) {
    const Geometry& tile = kLogGeometries[i];
    if (tile.groups > 2 && t > tile.x()) continue;
    const std::int64_t tiles =
        ceil_div(t, std::int64_t{tile.x()}) * ceil_div(columns, std::int64_t{tile.n});
    const double clocks =
        static_cast<double>(ceil_div(tiles, std::int64_t{sms})) * tile_clocks(tile, k);
    if (clocks < least) {
      least = clocks;
      best = static_cast<int>(i);
    }
  }
  return best;
}

std::size_t log_workspace(std::int64_t t, std::int64_t columns, bool entropy) {
  return log_prob::planes_bytes(ceil_div(columns, std::int64_t{128}), std::min(t, kStripe),
                                entropy);
}

cudaError_t run_log(const LogLayer& layer, void* workspace, const LogLaunch& how) {
  for (std::int64_t row = 0; row < layer.g.m; row += kStripe) {
    const auto error =
        run_stripe(stripe_of(layer, row, std::min(kStripe, layer.g.m - row)), workspace, how);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace detgemm::cuda::sm90

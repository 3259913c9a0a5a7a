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

constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;  // TMA coordinates are 32-bit, signed

bool suits(const Operand& o) {
  return !o.mn_major && o.rows < kMaxRows && o.ld < kMaxStride && o.ld * 2 % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0;
}

/// Clocks of a multiprocessor for one tile: products, or bringing the operands, then the nodes, of
/// which 18 instructions per logit pass at 128 per clock.
double tile_clocks(const Geometry& t, std::int64_t k) {
  const double products = static_cast<double>(t.x()) * t.n * static_cast<double>(k) / 4096;
  const double fill = (t.x() + t.n) * 2.0 * static_cast<double>(k) / 70;
  return std::max(2 * products, fill) + t.x() * t.n * 18 / 128.0 + 700;
}

Kernel kernel_of(DType input, int geometry) {
  return input == DType::bf16 ? log_kernel_of<DType::bf16>(geometry)
                              : log_kernel_of<DType::fp16>(geometry);
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

}  // namespace

bool takes_log(const GemmArguments& g) {
  const Sides p = make_sides(g, false, false, false);
  return g.k > 0 && g.k < kMaxRows && g.n > 0 && suits(p.x) && suits(p.y) &&
         ceil_div(g.n, std::int64_t{128}) <= log_prob::kMaxRootSlots &&
         ceil_div(g.m, std::int64_t{64}) * ceil_div(g.n, std::int64_t{128}) < kMaxRows;
}

int choose_log(std::int64_t t, std::int64_t columns, std::int64_t k, int sms) {
  int best = 0;
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < kLogGeometries.size(); ++i) {
    const Geometry& tile = kLogGeometries[i];
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
  return log_prob::planes_bytes(ceil_div(columns, std::int64_t{128}), t, entropy);
}

cudaError_t run_log(const LogLayer& layer, void* workspace, const LogLaunch& how) {
  const GemmArguments& g = layer.g;
  if (g.m == 0) return cudaSuccess;
  const int geometry = how.geometry >= 0 ? how.geometry : choose_log(g.m, g.n, g.k, how.sms);
  const Geometry& t = kLogGeometries[static_cast<std::size_t>(geometry)];
  const Kernel kernel = kernel_of(layer.input, geometry);
  if (kernel.function == nullptr) return cudaErrorInvalidDeviceFunction;
  const Sides p = make_sides(g, false, false, layer.w_is_stable);
  LaunchShape shape = shape_of(t, p, g, how.sms);
  LaunchMaps maps{};
  const auto map = [&](const Operand& o, const Boxes& boxes, CUtensorMap* to) {
    return make_map(o, layer.input, g.k, boxes.rows, 1, to);
  };
  if (const auto e = map(p.x, x_boxes(t, p), &maps.x); e != cudaSuccess) return e;
  if (const auto e = map(p.y, y_boxes(t, p), &maps.y); e != cudaSuccess) return e;
  const bool targets = layer.out.logp != nullptr || layer.out.target_logit != nullptr;
  LogTiles tiles;
  tiles.targets = layer.rows.targets;
  tiles.scale = layer.rows.scale;
  if (targets) {
    tiles.target_logit =
        layer.out.target_logit != nullptr ? layer.out.target_logit : layer.out.logp;
  }
  tiles.nodes = log_prob::planes_at(workspace, shape.raster.tiles_y, g.m, layer.entropy());
  GemmArguments copy = g;
  void* arguments[] = {&maps, &shape, &copy, &tiles};
  auto error = cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    kernel.shared_bytes);
  if (error != cudaSuccess) return error;
  const int grid = std::min(shape.raster.tiles(), how.sms);
  error = launch(kernel, grid, {how.stream, how.overlap}, arguments);
  if (error != cudaSuccess) return error;
  return log_prob::root(tiles.nodes, g.n, layer.rows, tiles.target_logit, layer.out, how.stream);
}

}  // namespace detgemm::cuda::sm90

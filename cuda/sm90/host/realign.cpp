// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/realign.hpp"

#include <algorithm>
#include <cmath>

namespace detgemm::cuda::sm90 {

bool suits_realign(const Operand& operand, std::int64_t k) {
  // The stride of a class is 16 * ld bytes, and strides of TMA end at 2^40. A class without rows
  // has no map; along k it would have to give zeros.
  return operand.ld < (std::int64_t{1} << 36) && (!operand.mn_major || k >= kClasses);
}

double predicted_realign_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows,
                              std::int64_t k, int sms) {
  const auto tiles_of = [](std::int64_t rows, int tile) {
    return static_cast<double>((rows + tile - 1) / tile);
  };
  const double tiles = tiles_of(x_rows, t.x()) * tiles_of(y_rows, t.n);
  const double waves = std::ceil(tiles / sms);
  const double k64 = 64.0 * t.depth;
  const double steps = std::ceil(static_cast<double>(k) / k64) * 4 * t.depth;
  // Clocks per k16 step: the tensor core, the floor of a chain, and the copies, which were measured
  // to take 1.85 clocks per row. Of an operand of few rows only those that exist are copied.
  const auto copied = [](std::int64_t rows, int tile) {
    return std::min<std::int64_t>((rows + kClasses - 1) / kClasses * kClasses, tile);
  };
  const double rows = static_cast<double>(copied(x_rows, t.x()) + copied(y_rows, t.n));
  const double step = std::max({t.groups * t.n / 2.0, 44.0, 1.85 * rows});
  // A stage has a box per class and operand, whose latency the ring does not hide: however few its
  // rows, it took 0.9 to 1.05 us with a few tokens on the x side (1 x 1535 x 5119, 3 x 2559 x 9727,
  // 1 x 12287 x 12287), and 0.9 with 64 weights there.
  const double least = (t.depth > 1 ? 1600.0 : 1100.0) * (x_rows < t.x() ? 1.15 : 1.0);
  const double stage = std::max(step * 4 * t.depth, least);
  const double clocks = waves * (steps / (4 * t.depth) * stage + 1500.0 + 12.0 * t.n) + 3000.0;
  const double bytes = static_cast<double>(x_rows + y_rows) * static_cast<double>(k) * 2.0;
  return std::max(clocks / 1750.0, bytes / 4.0e6 + 1.5) + 0.1 * clocks / 1750.0;
}

int class_box_rows(const Operand& operand, int rows) {
  if (operand.mn_major) return kBlockK / kClasses;
  const std::int64_t there = (operand.rows + kClasses - 1) / kClasses;
  return static_cast<int>(std::min<std::int64_t>(rows / kClasses, there));
}

cudaError_t make_class_maps(const Operand& operand, DType type, std::int64_t k, int rows, int depth,
                            CUtensorMap* maps, std::uint32_t* shifts) {
  const std::int64_t length = operand.mn_major ? operand.rows : k;
  const std::int64_t count = operand.mn_major ? k : operand.rows;
  *shifts = 0;
  for (int c = 0; c < kClasses; ++c) {
    // In a K-major operand of fewer than eight rows, class 0 stands in for classes without rows.
    // What it loads belongs to rows that do not exist and are never stored.
    const std::int64_t first = c < count ? c : 0;
    const auto start = reinterpret_cast<std::uintptr_t>(operand.data) +
                       static_cast<std::uintptr_t>(first * operand.ld) * 2;
    const auto late = static_cast<std::uint32_t>(start % 16 / 2);
    *shifts |= late << (4 * c);
    TensorShape s;
    s.data = reinterpret_cast<const void*>(start - late * 2);
    s.type = type;
    s.extent[0] = static_cast<std::uint64_t>(length) + late;
    s.extent[1] = static_cast<std::uint64_t>((count - first + kClasses - 1) / kClasses);
    s.stride[0] = static_cast<std::uint64_t>(operand.ld) * 2 * kClasses;
    const int spans = operand.mn_major ? (rows % 128 == 0 ? 2 : 1) : depth;
    s.box[0] = static_cast<std::uint32_t>(spans * kBlockK + 8);
    s.box[1] = static_cast<std::uint32_t>(class_box_rows(operand, rows));
    if (const auto e = encode(s, &maps[c]); e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

}  // namespace detgemm::cuda::sm90

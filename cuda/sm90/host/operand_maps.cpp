// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/operand_maps.hpp"

#include <algorithm>

#include "cuda/sm90/tile/c_slabs.hpp"

namespace detgemm::cuda::sm90 {

cudaError_t make_map(const Operand& operand, DType type, std::int64_t k, int box_rows, int depth,
                     CUtensorMap* map) {
  const auto rows = static_cast<std::uint64_t>(operand.rows);
  const auto length = static_cast<std::uint64_t>(k);
  const auto pitch = static_cast<std::uint64_t>(operand.ld) * 2;
  const auto box = static_cast<std::uint32_t>(box_rows);
  TensorShape s;
  s.data = operand.data;
  s.type = type;
  s.stride[0] = pitch;
  s.box[0] = kBlockK;
  if (operand.mn_major) {  // 64 mn x 64 k, one slab
    s.extent[0] = rows;
    s.extent[1] = length;
    s.box[1] = kBlockK;
  } else if (depth > 1 && k % kBlockK == 0) {
    s.rank = 3;
    s.extent[0] = kBlockK;
    s.extent[1] = rows;
    s.extent[2] = length / kBlockK;
    s.stride[1] = kBlockK * 2;
    s.box[1] = box;
    s.box[2] = static_cast<std::uint32_t>(depth);
  } else {
    s.extent[0] = length;
    s.extent[1] = rows;
    s.box[1] = box;
  }
  return encode(s, map);
}

namespace {

/// A map of D, or of a C that is laid out like D: rows along x or y, boxes of `columns` along y.
TensorShape slab_shape(const void* data, DType type, const Sides& p, bool along_x,
                       std::int64_t pitch, int columns) {
  const bool is_32 = type == DType::fp32;
  const auto slab = static_cast<std::uint32_t>(columns);
  const std::int64_t outer = along_x ? p.y.rows : p.x.rows;
  TensorShape s;
  s.data = data;
  s.type = type;
  s.extent[0] = static_cast<std::uint64_t>(along_x ? p.x.rows : p.y.rows);
  s.extent[1] = static_cast<std::uint64_t>(outer);
  s.stride[0] = static_cast<std::uint64_t>(outer > 1 ? pitch : 8) * (is_32 ? 4 : 2);
  s.box[0] = along_x ? (is_32 ? 32U : 64U) : slab;
  s.box[1] = along_x ? slab : 16U;
  return s;
}

}  // namespace

cudaError_t make_output_map(const GemmArguments& g, const Sides& p, const Geometry& t,
                            CUtensorMap* map, bool wide, std::int64_t groups,
                            std::int64_t distance) {
  const bool along_x = p.d_x_contiguous();
  const bool is_32 = g.output == DType::fp32;
  const int slab = is_32                                 ? (wide ? t.d_fp32_slab() : t.fp32_slab())
                   : takes_chunks(g.epilogue.activation) ? t.activated_slab()
                   : wide                                ? t.d_slab()
                                                         : t.slab();
  TensorShape s = slab_shape(g.d, g.output, p, along_x, along_x ? p.d_y : p.d_x, slab);
  if (groups > 0) {
    s.rank = 3;
    s.extent[2] = static_cast<std::uint64_t>(groups);
    if (groups > 1) s.stride[1] = static_cast<std::uint64_t>(distance) * (is_32 ? 4 : 2);
  }
  return encode(s, map);
}

bool lines_suit_tma(const void* data, const Strides& strides, std::int64_t m, std::int64_t n,
                    DType type) {
  const std::int64_t size = type == DType::fp32 ? 4 : 2;
  const bool along_n = n == 1 || strides.col == 1;
  const std::int64_t length = along_n ? n : m;
  const std::int64_t lines = along_n ? m : n;
  const std::int64_t pitch = along_n ? strides.row : strides.col;
  if (!along_n && m > 1 && strides.row != 1) return false;
  if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0 || length * size % 16 != 0) return false;
  return lines == 1 || (pitch >= length && pitch < kMaxStride && pitch * size % 16 == 0);
}

RingC ring_c(const GemmArguments& g, const Sides& p, const Geometry& t) {
  RingC c;
  if (!g.continue_from_c && g.epilogue.beta == 0.0F) return c;
  const std::int64_t c_x = p.swapped ? g.cs.col : g.cs.row;
  const std::int64_t c_y = p.swapped ? g.cs.row : g.cs.col;
  c.is_16 = g.c_type != DType::fp32;
  c.x_contiguous = c_x == 1 && p.x.rows > 1 && (c_y != 1 || p.y.rows == 1);
  const bool by_tma = lines_suit_tma(g.c, g.cs, g.m, g.n, g.c_type) && (c.is_16 || !c.x_contiguous);
  if (!by_tma && !g.continue_from_c) return {};
  c.copied = !by_tma;
  const CLayout layout(t, p.y.mn_major, c.is_16);
  c.stages = layout.stages;
  const auto rows = static_cast<int>(std::min<std::int64_t>(t.load, p.x.rows));
  c.slab_bytes = c.x_contiguous ? layout.bytes : rows * layout.slab * (c.is_16 ? 2 : 4);
  return c;
}

cudaError_t make_ring_map(const GemmArguments& g, const Sides& p, const Geometry& t, const RingC& c,
                          CUtensorMap* map) {
  const std::int64_t length = c.x_contiguous ? p.x.rows : p.y.rows;
  const std::int64_t lines = c.x_contiguous ? p.y.rows : p.x.rows;
  const std::int64_t pitch = c.x_contiguous == p.swapped ? g.cs.row : g.cs.col;  // across lines
  const auto slab = static_cast<std::uint32_t>(CLayout(t, p.y.mn_major, c.is_16).slab);
  TensorShape s;
  s.data = g.c;
  s.type = g.c_type;
  s.extent[0] = static_cast<std::uint64_t>(length);
  s.extent[1] = static_cast<std::uint64_t>(lines);
  s.stride[0] = static_cast<std::uint64_t>(lines > 1 ? pitch : 8) * (c.is_16 ? 2 : 4);
  s.box[0] = c.x_contiguous ? 64U : slab;
  s.box[1] =
      c.x_contiguous ? slab : static_cast<std::uint32_t>(std::min<std::int64_t>(t.load, lines));
  return encode(s, map);
}

bool c_suits_tma(const GemmArguments& g, const Sides& p) {
  const std::int64_t c_x = p.swapped ? g.cs.col : g.cs.row;
  const std::int64_t c_y = p.swapped ? g.cs.row : g.cs.col;
  const std::int64_t pitch = p.x.rows > 1 ? c_x : 8;
  return !p.d_x_contiguous() && (c_y == 1 || p.y.rows == 1) && pitch >= p.y.rows &&
         pitch < kMaxStride && pitch % 4 == 0 && reinterpret_cast<std::uintptr_t>(g.c) % 16 == 0;
}

cudaError_t make_c_map(const GemmArguments& g, const Sides& p, const Geometry& t,
                       CUtensorMap* map) {
  const std::int64_t pitch = p.swapped ? g.cs.col : g.cs.row;
  return encode(slab_shape(g.c, DType::fp32, p, false, pitch, t.fp32_slab()), map);
}

}  // namespace detgemm::cuda::sm90

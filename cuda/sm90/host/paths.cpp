// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/paths.hpp"

#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/realign/realign.hpp"
#include "cuda/sm90/tile/problem.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 30;  // TMA coordinates are 32-bit, signed

bool aligned16(const void* pointer, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0 && bytes % 16 == 0;
}

/// TMA takes the operand's rows as they are.
bool suits_tma(const Operand& o) { return aligned16(o.data, o.ld * 2); }

bool small_enough(const Operand& o, std::int64_t k) {
  return o.rows < kMostRows && k < kMostRows && o.ld < kMostStride;
}

/// D as TMA would store it: rows along its contiguous direction, of whole 16-byte chunks. (At a
/// ragged end TMA writes the rest of the last chunk too: seen on an H200.)
bool d_suits_tma(const GemmArguments& g) {
  const std::int64_t size = g.output == DType::fp32 ? 4 : 2;
  const bool along_n = g.n == 1 || g.ds.col == 1;
  const std::int64_t pitch = along_n ? (g.m > 1 ? g.ds.row : 8) : (g.n > 1 ? g.ds.col : 8);
  const std::int64_t length = along_n ? g.n : g.m;
  return aligned16(g.d, pitch * size) && length * size % 16 == 0 && pitch < kMostStride &&
         (along_n || g.m == 1 || g.ds.row == 1);
}

bool fits_tma(const GemmArguments& g, const Problem& p) {
  return small_enough(p.x, g.k) && small_enough(p.y, g.k) &&
         ((g.m + 63) / 64) * ((g.n + 7) / 8) < kMostRows;
}

}  // namespace

Path path_of(const GemmArguments& g) {
  const Problem p = make_problem(g, false, false, false);
  if (!fits_tma(g, p)) return Path::gather;
  if (!suits_tma(p.x) || !suits_tma(p.y)) {
    return suits_realign(p.x, g.k) && suits_realign(p.y, g.k) ? Path::realign : Path::gather;
  }
  return d_suits_tma(g) && only_rounds(g.epilogue) && !g.continue_from_c ? Path::plain
                                                                         : Path::general;
}

Path leaf_path_of(const GemmArguments& g) {
  const Problem p = make_problem(g, false, false, false);
  if (!fits_tma(g, p) || !suits_tma(p.x) || !suits_tma(p.y)) return Path::gather;
  if (g.reduction.leaf_k % kBlockK != 0) return Path::gather;
  return d_suits_tma(g) && only_rounds(g.epilogue) ? Path::plain : Path::general;
}

}  // namespace detgemm::cuda::sm90

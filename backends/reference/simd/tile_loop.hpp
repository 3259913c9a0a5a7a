// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Part of an instruction set's source: what all tile kernels share around their chains.

namespace detgemm::reference::DETGEMM_ISA {

/// Hands out aligned pieces of a worker's scratch memory; with a null base it only counts.
class Scratch {
 public:
  explicit Scratch(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

/// into[i] = left[i] + right[i] for a tile of `count` accumulators: one add per tree node.
DETGEMM_INLINE void add_tiles(float* into, const float* left, const float* right,
                              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) into[i] = left[i] + right[i];
}

/// sum[i] = fma(s, leaf[i], sum[i]) for a tile, with s the scale of the output's row, column and
/// leaf: sa[row] times sb[col], rounded once. `sb` is scratch for a row of scales. A product that
/// is rounded by a multiplication and added by an addition would be another function.
DETGEMM_INLINE void join_scaled(const TileJob& job, std::int64_t leaf_index, int pitch, float* sb,
                                const float* leaf, float* sum) {
  const ScalePair& scales = *job.scales;
  for (std::int64_t j = 0; j < job.cols; ++j) {
    sb[j] = load_scale(scales.b, job.col + j, leaf_index);
  }
  for (std::int64_t i = 0; i < job.rows; ++i) {
    const float sa = load_scale(scales.a, job.row + i, leaf_index);
    const float* from = leaf + i * pitch;
    float* into = sum + i * pitch;
    for (std::int64_t j = 0; j < job.cols; ++j) {
      into[j] = __builtin_fmaf(sa * sb[j], from[j], into[j]);
    }
  }
}

/// Epilogue and store of a tile; `acc` has `pitch` floats per row.
DETGEMM_INLINE void finish_tile(const TileJob& job, const float* acc, int pitch) {
  const GemmArguments& g = *job.gemm;
  const bool plain = only_rounds(g.epilogue) && !job.scales->of_lines;
  for (std::int64_t i = 0; i < job.rows; ++i) {
    const float* row = acc + i * pitch;
    const std::int64_t at = (job.row + i) * g.ds.row + job.col * g.ds.col;
    if (plain && (g.ds.col == 1 || job.cols == 1)) {
      if (g.output == DType::bf16) {
        auto* out = static_cast<std::uint16_t*>(g.d) + at;
        for (std::int64_t j = 0; j < job.cols; ++j) {
          const std::uint32_t bits = arithmetic::bits_of(row[j]);
          const std::uint32_t even = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
          out[j] = static_cast<std::uint16_t>(arithmetic::is_nan(bits) ? 0x7fffU : even);
        }
        continue;
      }
      if (g.output == DType::fp32) {
        auto* out = static_cast<float*>(g.d) + at;
        for (std::int64_t j = 0; j < job.cols; ++j) out[j] = arithmetic::canonical(row[j]);
        continue;
      }
    }
    for (std::int64_t j = 0; j < job.cols; ++j) {
      const float v = scaled_by_lines(*job.scales, job.row + i, job.col + j, row[j]);
      finish_element(g, job.row + i, job.col + j, v);
    }
  }
}

/// The reduction over leaves for a whole tile, the lane form of reduce_leaves. An Engine has
/// kRows, kCols, a constructor from (job, scratch) and `chain(begin, end, acc)`, which runs
/// products [begin, end) of every output of the tile through acc[kRows][kCols].
template <class Engine>
void run_tile(const TileJob& job) {
  constexpr std::int64_t tile = std::int64_t{Engine::kRows} * Engine::kCols;
  const GemmArguments& g = *job.gemm;
  Scratch scratch(job.scratch);
  Engine engine(job, scratch);
  float* acc = scratch.take<float>(tile);
  const std::int64_t used = job.rows * Engine::kCols;  // floats of the tile in use
  for (std::int64_t i = 0; i < job.rows; ++i) {
    for (std::int64_t j = 0; j < Engine::kCols; ++j) {
      acc[i * Engine::kCols + j] = j < job.cols ? start_value(g, job.row + i, job.col + j) : 0.0F;
    }
  }
  const ReductionKind kind = g.reduction.kind;
  if (g.k == 0) {
    finish_tile(job, acc, Engine::kCols);
    return;
  }
  if (kind == ReductionKind::chain) {
    engine.chain(0, g.k, acc);
    finish_tile(job, acc, Engine::kCols);
    return;
  }
  const std::int64_t step = g.reduction.leaf_k;
  const std::int64_t leaves = (g.k - 1) / step + 1;
  if (kind == ReductionKind::fold || kind == ReductionKind::scaled) {
    float* leaf = scratch.take<float>(tile);
    float* sb = scratch.take<float>(Engine::kCols);
    for (std::int64_t i = 0; i < leaves; ++i) {
      std::memset(leaf, 0, static_cast<std::size_t>(used) * sizeof(float));
      engine.chain(i * step, g.k - i * step < step ? g.k : (i + 1) * step, leaf);
      if (kind == ReductionKind::fold) {
        add_tiles(acc, acc, leaf, used);
      } else {
        join_scaled(job, i, Engine::kCols, sb, leaf, acc);
      }
    }
    finish_tile(job, acc, Engine::kCols);
    return;
  }
  float* stack = scratch.take<float>(tile * tree_stack_size(leaves));
  int top = 0;  // finished subtrees on the stack
  for (std::int64_t i = 0; i < leaves; ++i) {
    float* leaf = stack + top * tile;
    std::memset(leaf, 0, static_cast<std::size_t>(used) * sizeof(float));
    engine.chain(i * step, g.k - i * step < step ? g.k : (i + 1) * step, leaf);
    ++top;
    for (int closed = nodes_closed_by(i, leaves); closed > 0; --closed) {
      --top;
      float* left = stack + (top - 1) * tile;
      add_tiles(left, left, left + tile, used);
    }
  }
  finish_tile(job, stack, Engine::kCols);
}

/// Bytes of scratch run_tile takes; the chain's two tiles cover fold too.
template <class Engine>
std::size_t scratch_bytes(std::int64_t leaves) {
  constexpr std::int64_t tile = std::int64_t{Engine::kRows} * Engine::kCols;
  Scratch scratch(nullptr);
  Engine::reserve(scratch);
  scratch.take<float>(tile);
  scratch.take<float>(tile * tree_stack_size(leaves > 0 ? leaves : 1));
  scratch.take<float>(Engine::kCols);  // a row of scales
  return scratch.used();
}

template <class Engine>
constexpr TileKernel kernel_of() {
  return {Engine::kRows,    Engine::kCols,          Engine::kRowUnit,
          Engine::kColUnit, &scratch_bytes<Engine>, &run_tile<Engine>};
}

}  // namespace detgemm::reference::DETGEMM_ISA

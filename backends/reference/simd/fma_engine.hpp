// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Part of an instruction set's source: the chain of ieee_fma.

namespace detgemm::reference::DETGEMM_ISA {

/// acc = fma(a_k, b_k, acc) for k ascending, register-blocked: both operands are converted to
/// fp32 and packed for kDepth products at a time, and a block of kMr rows x kNv vectors stays in
/// registers for all of them. The accumulators go through memory between depths, bit for bit.
template <DType T>
class FmaEngine {
 public:
  static constexpr int kMr = 6;
  static constexpr int kNv = kLanes == 16 ? 4 : 2;  // 24 accumulators of 32 registers, 12 of 16
  static constexpr int kNr = kNv * kLanes;
  static constexpr int kRows = 192;
  static constexpr int kCols = 256;
  static constexpr int kRowUnit = kMr;
  static constexpr int kColUnit = kNr;
  static constexpr int kDepth = 128;
  using Raw = arithmetic::Storage<T>;
  static_assert(kRows % kMr == 0 && kCols % kNr == 0, "register blocks tile the tile");

  static void reserve(Scratch& scratch) {
    scratch.take<float>(kRows * kDepth);
    scratch.take<float>(kCols * kDepth);
  }

  FmaEngine(const TileJob& job, Scratch& scratch)
      : job_(job),
        a_(scratch.take<float>(kRows * kDepth)),
        b_(scratch.take<float>(kCols * kDepth)) {}

  void chain(std::int64_t begin, std::int64_t end, float* acc) {
    const GemmArguments& g = *job_.gemm;
    for (std::int64_t k = begin; k < end; k += kDepth) {
      const int depth = end - k < kDepth ? static_cast<int>(end - k) : kDepth;
      const auto* a = static_cast<const Raw*>(g.a) + job_.row * g.as.row + k * g.as.col;
      const auto* b = static_cast<const Raw*>(g.b) + k * g.bs.row + job_.col * g.bs.col;
      pack<kMr>(a, g.as.row, g.as.col, job_.rows, depth, a_);
      pack<kNr>(b, g.bs.col, g.bs.row, job_.cols, depth, b_);
      for (std::int64_t j = 0; j < job_.cols; j += kNr) {
        for (std::int64_t i = 0; i < job_.rows; i += kMr) {
          block(a_ + i * depth, b_ + j * depth, depth, acc + i * kCols + j);
        }
      }
    }
  }

 private:
  /// Panels of `Width` along the outer extent: panel p holds [depth][Width], zero-padded.
  template <int Width>
  static void pack(const Raw* from, std::int64_t outer_stride, std::int64_t k_stride,
                   std::int64_t outer, int depth, float* to) {
    for (std::int64_t p = 0; p < outer; p += Width, to += Width * depth) {
      const int width = outer - p < Width ? static_cast<int>(outer - p) : Width;
      const Raw* panel = from + p * outer_stride;
      if (width < Width) std::memset(to, 0, sizeof(float) * Width * depth);
      if (k_stride == 1) {
        int w = 0;
        for (; w + 4 <= width; w += 4) {  // four lines at once: stores of four neighbours
          const Raw* line = panel + w * outer_stride;
          for (int k = 0; k < depth; ++k) {
            for (int q = 0; q < 4; ++q) {
              to[k * Width + w + q] = arithmetic::to_float<T>(line[q * outer_stride + k]);
            }
          }
        }
        for (; w < width; ++w) {
          const Raw* line = panel + w * outer_stride;
          for (int k = 0; k < depth; ++k) to[k * Width + w] = arithmetic::to_float<T>(line[k]);
        }
      } else if (outer_stride == 1 && width == Width) {
        for (int k = 0; k < depth; ++k) {
          for (int w = 0; w < Width; ++w) {
            to[k * Width + w] = arithmetic::to_float<T>(panel[k * k_stride + w]);
          }
        }
      } else {
        for (int k = 0; k < depth; ++k) {
          for (int w = 0; w < width; ++w) {
            to[k * Width + w] = arithmetic::to_float<T>(panel[w * outer_stride + k * k_stride]);
          }
        }
      }
    }
  }

  /// kMr x kNr accumulators (rows kCols apart) through `depth` products.
  static void block(const float* a, const float* b, int depth, float* acc) {
    VF c[kMr][kNv];
    for (int i = 0; i < kMr; ++i) {
      for (int v = 0; v < kNv; ++v) c[i][v] = load(acc + i * kCols + v * kLanes);
    }
    for (int k = 0; k < depth; ++k, a += kMr, b += kNr) {
      VF y[kNv];
#pragma GCC unroll 8
      for (int v = 0; v < kNv; ++v) y[v] = load(b + v * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kNv; ++v) c[i][v] = fma_lanes(splat(a[i]), y[v], c[i][v]);
      }
    }
    for (int i = 0; i < kMr; ++i) {
      for (int v = 0; v < kNv; ++v) store(acc + i * kCols + v * kLanes, c[i][v]);
    }
  }

  const TileJob& job_;
  float* a_;
  float* b_;
};

}  // namespace detgemm::reference::DETGEMM_ISA

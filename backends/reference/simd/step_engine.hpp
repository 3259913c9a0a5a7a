// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Part of an instruction set's source: the chain for arithmetics with k-blocks.

namespace detgemm::reference::DETGEMM_ISA {

/// How one arithmetic uses decoded operands: `prepare` decodes raw elements, `apply` is one step
/// of kLanes outputs. `covers_specials` says whether `apply` also covers Inf and NaN.
template <Arithmetic A, DType T>
struct LaneStep {  // hopper, blackwell, ampere
  static constexpr arithmetic::TensorUnit unit = arithmetic::tensor_unit<A, T>();
  static constexpr bool covers_specials = true;
  static bool prepare(const arithmetic::Storage<T>* raw, int count, float* value,
                      std::int32_t* exponent) {
    return decode<T>(raw, count, value, exponent);
  }
  DETGEMM_INLINE static VF apply(const float* a, const std::int32_t* ae, const float* b,
                                 const std::int32_t* be, int pitch, bool special, VF acc) {
    return tensor_step_lanes<unit.products, unit.fraction_bits, unit.kept_bits, unit.min_exponent>(
        a, ae, b, be, pitch, special, acc);
  }
};

template <DType T>
struct LaneStep<Arithmetic::cdna3, T> {
  static constexpr bool covers_specials = false;
  static bool prepare(const arithmetic::Storage<T>* raw, int count, float* value,
                      std::int32_t* exponent) {
    bool special = decode<T>(raw, count, value, exponent);
    // Products of 2^128 and more are Inf: leave blocks that could hold one to the scalar step.
    for (int i = 0; i < count; ++i) special |= exponent[i] >= 63;
    return special;
  }
  DETGEMM_INLINE static VF apply(const float* a, const std::int32_t* ae, const float* b,
                                 const std::int32_t* be, int pitch, bool, VF acc) {
    return cdna3_step_lanes(a, ae, b, be, pitch, acc);
  }
};

template <DType T>
struct LaneStep<Arithmetic::cdna2, T> {
  static constexpr bool covers_specials = true;
  static bool prepare(const arithmetic::Storage<T>* raw, int count, float* value, std::int32_t*) {
    constexpr std::uint32_t hidden = 1U << arithmetic::Format<T>::fraction_bits;
    for (int i = 0; i < count; ++i) {
      const arithmetic::Unpacked u = arithmetic::unpack<T>(raw[i]);
      const bool small = !u.inf && !u.nan && u.significand < hidden;
      value[i] = small ? 0.0F : arithmetic::to_float<T>(raw[i]);
    }
    return false;
  }
  DETGEMM_INLINE static VF apply(const float* a, const std::int32_t*, const float* b,
                                 const std::int32_t*, int pitch, bool, VF acc) {
    return cdna2_step_lanes(a, b, pitch, acc);
  }
};

/// A tile of kRows x kCols outputs. For each k-block both operands are decoded once and every
/// row of lanes takes one step:
///
///   k-block 0       k-block 1       ...      each arrow one fused step of L products,
///   acc --step--> acc --step--> acc          for all kRows x kCols outputs of the tile
template <Arithmetic A, DType T>
class StepEngine {
 public:
  static constexpr int kRows = 64;
  static constexpr int kCols = 64;
  static constexpr int kRowUnit = 1;
  static constexpr int kColUnit = kLanes;
  static constexpr int L = arithmetic::Step<A, T>::products;
  using Raw = arithmetic::Storage<T>;
  using Lane = LaneStep<A, T>;

  static void reserve(Scratch& scratch) {
    scratch.take<Raw>(kRows * L);
    scratch.take<float>(kRows * L);
    scratch.take<std::int32_t>(kRows * L);
    scratch.take<Raw>(kCols * L);
    scratch.take<float>(kCols * L);
    scratch.take<std::int32_t>(kCols * L);
  }

  StepEngine(const TileJob& job, Scratch& scratch)
      : job_(job),
        a_raw_(scratch.take<Raw>(kRows * L)),
        a_(scratch.take<float>(kRows * L)),
        a_exponent_(scratch.take<std::int32_t>(kRows * L)),
        b_raw_(scratch.take<Raw>(kCols * L)),
        b_(scratch.take<float>(kCols * L)),
        b_exponent_(scratch.take<std::int32_t>(kCols * L)) {}

  void chain(std::int64_t begin, std::int64_t end, float* acc) {
    for (std::int64_t k = begin; k < end; k += L) {
      load_blocks(k, end - k < L ? static_cast<int>(end - k) : L);
      const bool b_special = Lane::prepare(b_raw_, kCols * L, b_, b_exponent_);
      for (std::int64_t i = 0; i < job_.rows; ++i) {
        float* a = a_ + i * L;                           // L
        std::int32_t* a_exponent = a_exponent_ + i * L;  // L
        const bool special = Lane::prepare(a_raw_ + i * L, L, a, a_exponent) || b_special;
        float* row = acc + i * kCols;  // kCols
        if (special && !Lane::covers_specials) {
          scalar_row(i, row);
          continue;
        }
        for (int j = 0; j < job_.cols; j += kLanes) {
          store(row + j,
                Lane::apply(a, a_exponent, b_ + j, b_exponent_ + j, kCols, special, load(row + j)));
        }
      }
    }
  }

 private:
  /// Copies k-block [k, k + count) of both operands, zero-padded to L, kRows and kCols.
  void load_blocks(std::int64_t k, int count) {
    const GemmArguments& g = *job_.gemm;
    const auto* a = static_cast<const Raw*>(g.a) + job_.row * g.as.row + k * g.as.col;
    const auto* b = static_cast<const Raw*>(g.b) + k * g.bs.row + job_.col * g.bs.col;
    if (count < L || job_.cols < kCols) {
      std::memset(a_raw_, 0, sizeof(Raw) * kRows * L);
      std::memset(b_raw_, 0, sizeof(Raw) * kCols * L);
    }
    for (std::int64_t i = 0; i < job_.rows; ++i) {  // a_raw_: kRows x L
      for (int p = 0; p < count; ++p) a_raw_[i * L + p] = a[i * g.as.row + p * g.as.col];
    }
    if (g.bs.row == 1) {  // b_raw_: L x kCols, read along k
      for (std::int64_t j = 0; j < job_.cols; ++j) {
        for (int p = 0; p < count; ++p) b_raw_[p * kCols + j] = b[p + j * g.bs.col];
      }
    } else {
      for (int p = 0; p < count; ++p) {
        for (std::int64_t j = 0; j < job_.cols; ++j) {
          b_raw_[p * kCols + j] = b[p * g.bs.row + j * g.bs.col];
        }
      }
    }
  }

  /// The scalar step for one row, where the lane form does not cover the operands.
  void scalar_row(std::int64_t i, float* row) {
    Raw y[L];
    for (int j = 0; j < kCols; ++j) {
      for (int p = 0; p < L; ++p) y[p] = b_raw_[p * kCols + j];
      row[j] = arithmetic::Step<A, T>::apply(a_raw_ + i * L, y, row[j]);
    }
  }

  const TileJob& job_;
  Raw* a_raw_;
  float* a_;
  std::int32_t* a_exponent_;
  Raw* b_raw_;
  float* b_;
  std::int32_t* b_exponent_;
};

}  // namespace detgemm::reference::DETGEMM_ISA

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Part of an instruction set's source: snapping, in loops over a leaf that compilers turn into
// lanes. A second definition on purpose, in fp32 where core/arithmetic/snap.hpp has integers.

namespace detgemm::reference::DETGEMM_ISA {

/// A leaf of one line: its numbers side by side, and what becomes of them.
class LeafOfLine {
 public:
  static constexpr int kCapacity = 4096;
  static constexpr int kBlock = 32;  // 32 squares of at most 2^26 fit 32 bits

  void gather(const std::uint16_t* from, std::int64_t stride, int count) {
    count_ = count;
    padded_ = (count + kBlock - 1) / kBlock * kBlock;
    if (stride == 1) {
      std::memcpy(bits_, from, sizeof(std::uint16_t) * static_cast<std::size_t>(count));
    } else {
      for (int i = 0; i < count; ++i) bits_[i] = from[i * stride];
    }
    for (int i = count; i < padded_; ++i) bits_[i] = 0;
  }

  void snap() {
    std::uint16_t most = 0;
    for (int i = 0; i < padded_; ++i) {
      const std::uint16_t magnitude = finite_magnitude(bits_[i]);
      most = magnitude > most ? magnitude : most;
    }
    int t = arithmetic::snap_first_grid(arithmetic::snap_exponent(most));
    while (t <= arithmetic::kSnapMost && squares(t) > arithmetic::kSnapLimit) ++t;
    if (t > arithmetic::kSnapMost) {
      for (int i = 0; i < padded_; ++i) bits_[i] = 0x7fff;
      return;
    }
    const float fine = power(-t);
    const float grid = power(t);
    for (int i = 0; i < padded_; ++i) {
      const std::uint16_t bits = bits_[i];
      const std::uint16_t magnitude = bits & 0x7fffU;
      const float units = rounded(finite_magnitude(bits), fine);
      const auto sign = static_cast<std::uint16_t>(units == 0.0F ? 0U : bits & 0x8000U);
      const auto finite =
          static_cast<std::uint16_t>((arithmetic::bits_of(units * grid) >> 16) | sign);
      const auto other = static_cast<std::uint16_t>(magnitude > 0x7f80U ? 0x7fffU : bits);
      bits_[i] = magnitude < 0x7f80U ? finite : other;
    }
  }

  void scatter(std::uint16_t* to, std::int64_t stride) const {
    if (stride == 1) {
      std::memcpy(to, bits_, sizeof(std::uint16_t) * static_cast<std::size_t>(count_));
    } else {
      for (int i = 0; i < count_; ++i) to[i * stride] = bits_[i];
    }
  }

 private:
  static float power(int exponent) {
    return arithmetic::float_of(static_cast<std::uint32_t>(exponent + 127) << 23);
  }
  static std::uint16_t finite_magnitude(std::uint16_t bits) {
    const std::uint16_t magnitude = bits & 0x7fffU;
    return magnitude < 0x7f80U ? magnitude : std::uint16_t{0};
  }
  /// |a| * fine to the nearest integer, ties to even: the sum with 2^23 has no fraction bits. What
  /// underflows in the product is less than half.
  static float rounded(std::uint16_t magnitude, float fine) {
    const float value = arithmetic::float_of(static_cast<std::uint32_t>(magnitude) << 16) * fine;
    return (value + 0x1p23F) - 0x1p23F;
  }
  std::uint64_t squares(int t) const {
    const float fine = power(-t);
    std::uint64_t sum = 0;
    for (int begin = 0; begin < padded_; begin += kBlock) {
      std::uint32_t part = 0;
      for (int i = begin; i < begin + kBlock; ++i) {
        const auto units = static_cast<std::int32_t>(rounded(finite_magnitude(bits_[i]), fine));
        part += static_cast<std::uint32_t>(units * units);
      }
      sum += part;
    }
    return sum;
  }

  std::uint16_t bits_[kCapacity];
  int count_ = 0;
  int padded_ = 0;
};

/// One leaf of `job.lines` lines.
void snap_lines(const SnapJob& job) {
  if (job.count > LeafOfLine::kCapacity) {
    for (std::int64_t line = 0; line < job.lines; ++line) {
      const std::uint16_t* from = job.from + line * job.from_line;
      std::uint16_t* to = job.to + line * job.to_line;
      arithmetic::snap_leaf(
          job.count, [&](std::int64_t i) { return from[i * job.from_k]; },
          [&](std::int64_t i, std::uint16_t bits) { to[i * job.to_k] = bits; });
    }
    return;
  }
  LeafOfLine leaf;
  for (std::int64_t line = 0; line < job.lines; ++line) {
    leaf.gather(job.from + line * job.from_line, job.from_k, static_cast<int>(job.count));
    leaf.snap();
    leaf.scatter(job.to + line * job.to_line, job.to_k);
  }
}

}  // namespace detgemm::reference::DETGEMM_ISA

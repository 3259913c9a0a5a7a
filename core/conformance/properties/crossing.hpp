// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/conformance/case.hpp"
#include "core/conformance/covering.hpp"

namespace detgemm::conformance {

/// What is crossed with what: every pair of levels of two of these factors occurs in a case.
enum class Factor : std::size_t {
  shape,         ///< few rows, few columns, neither, extents in whole tiles
  length,        ///< of K: about a leaf, several leaves, long
  op_a,          ///< none, transpose
  op_b,          ///< none, transpose
  order_a,       ///< by rows, by columns
  order_b,       ///< by rows, by columns
  order_c,       ///< by rows, by columns
  order_d,       ///< by rows, by columns
  padding_a,     ///< leading dimension: packed, odd, in whole 16 bytes, 4096 and more
  padding_b,     ///< as A's
  padding_c,     ///< packed, odd, in whole 16 bytes
  padding_d,     ///< as A's
  address_a,     ///< modulo 256 bytes; see crossing.cpp
  address_b,     ///< as A's
  address_c,     ///< as A's
  address_d,     ///< as A's
  address_bias,  ///< as A's
  alpha,  ///< 1, 0.3 or -1.7, or in place of these a special scalar; now and then a zero, which
          ///< hides all else
  c_use,  ///< CUse
  bias,   ///< none, bf16, fp16, fp32
  activation,  ///< in the order of Activation
  stable,      ///< in the order of Stable
  data,        ///< residues, another finite distribution
  at_front,    ///< which guard of host memory the arrays lie beside
};
inline constexpr std::size_t kFactors = static_cast<std::size_t>(Factor::at_front) + 1;

/// What C is for.
enum class CUse { absent, unread, beta_one, beta, beta_in_place, start, start_in_place };

/// The rows of the design at a level; the same for every contract.
const std::vector<LevelRow>& crossing(Level level);

/// A row of it, with the levels that the engine refuses by themselves replaced by the first, plain
/// ones. A contract relabels the levels, so that different contracts have different rows.
class Crossed {
 public:
  Crossed(Case& c, const LevelRow& row);

  int level(Factor factor) const { return levels_[static_cast<std::size_t>(factor)]; }
  CUse c_use() const { return static_cast<CUse>(level(Factor::c_use)); }
  float alpha() const { return alpha_; }
  float beta() const;
  bool reads_c() const { return c_use() >= CUse::beta_one; }
  bool starts_from_c() const { return c_use() >= CUse::start; }
  bool in_place() const {
    return c_use() == CUse::beta_in_place || c_use() == CUse::start_in_place;
  }
  /// Sets everything but the data: operations, epilogue, layouts and options.
  void apply(Case& c, Request& request) const;
  Shape draw_shape(Case& c) const;

 private:
  GemmSpec alone(const Contract& contract, Factor factor) const;
  void set_spec(GemmSpec& spec) const;
  Layout layout(Case& c, Factor order, Factor padding, Factor address, std::int64_t extent,
                std::int64_t lines, std::size_t size) const;

  std::array<int, kFactors> levels_{};
  Level depth_;
  float alpha_ = 1.0F;
  float beta_ = -0.7F;
};

/// Scalars that kernels take for special, that leave other formats, or that change nothing but the
/// sign or the exponent.
inline constexpr std::array kSpecialScalars{
    -1.0F, 2.0F, 4.0F, 0.5F, -1.7F, 0x1p-110F, -0x1p-130F, 0x1.8p-140F, 70'000.0F, -2.0F, 0x1p20F};

/// The same product with everything that may not matter taken away.
Request plain(const Request& request);
/// For people: operations, layouts and epilogue in one line.
std::string describe(const Request& request);

}  // namespace detgemm::conformance

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/contract/log_results.hpp"

namespace detgemm::cuda::log_prob {

/// Nodes of one level of the tree, `slots` of them for each of `rows` rows: three planes of
/// slots x rows, so that neighbouring threads have neighbouring rows.
struct Planes {
  std::int32_t* k = nullptr;
  float* s = nullptr;
  float* a = nullptr;  ///< null: no entropy
  std::int64_t slots = 0, rows = 0;

  DETGEMM_HD void put(std::int64_t slot, std::int64_t row, const arithmetic::LogNode& node) const {
    const std::int64_t at = slot * rows + row;
    k[at] = node.k;
    s[at] = node.s;
    if (a != nullptr) a[at] = node.a;
  }
  DETGEMM_HD arithmetic::LogNode get(std::int64_t slot, std::int64_t row) const {
    const std::int64_t at = slot * rows + row;
    return {k[at], s[at], a != nullptr ? a[at] : -0.0F};
  }
};

inline std::size_t planes_bytes(std::int64_t slots, std::int64_t rows, bool entropy) {
  return static_cast<std::size_t>(slots * rows) * (entropy ? 12 : 8);
}
DETGEMM_HD Planes planes_at(void* memory, std::int64_t slots, std::int64_t rows, bool entropy) {
  auto* const words = static_cast<float*>(memory);
  const std::int64_t plane = slots * rows;
  return {static_cast<std::int32_t*>(memory), words + plane, entropy ? words + 2 * plane : nullptr,
          slots, rows};
}

/// The scale of a row: NaN where it is not finite and positive, so that all of the row is NaN.
DETGEMM_HD float usable_scale(const float* scale, std::int64_t row) {
  if (scale == nullptr) return 1.0F;
  const float s = scale[row];
  return s > 0.0F && s <= 0x1.fffffep+127F ? s : arithmetic::float_of(arithmetic::kNaNBits);
}

}  // namespace detgemm::cuda::log_prob

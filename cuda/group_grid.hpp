// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <limits>

#include "core/contract/group_arguments.hpp"

namespace detgemm::cuda {

/// CTAs of a kernel that computes groups of m x n outputs in tiles of `tile` x `tile`, at most
/// `ctas` per multiprocessor. It never falls when m grows.
inline int group_grid(GroupKind kind, std::int64_t m, std::int64_t n, std::int64_t groups,
                      std::int64_t tile, int ctas, int sms) {
  std::int64_t rows = m;  // of D of all groups together
  if (kind != GroupKind::m_grouped && __builtin_mul_overflow(m, groups, &rows)) {
    rows = std::numeric_limits<std::int64_t>::max() / 2;
  }
  const std::int64_t most = std::int64_t{sms} * ctas;
  const std::int64_t down = rows / tile + groups;
  const std::int64_t across = ceil_div(n, tile);
  if (down >= most || across >= most) return static_cast<int>(most);
  return static_cast<int>(std::min(most, down * across));
}

}  // namespace detgemm::cuda

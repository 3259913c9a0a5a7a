// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::soak {

/// What the process holds at this moment.
struct Held {
  std::int64_t allocations = 0;   ///< by operator new and not deleted yet
  std::int64_t made = 0;          ///< by operator new since the start
  std::int64_t malloc_bytes = 0;  ///< in use, as glibc counts them; 0 elsewhere
  std::int64_t resident = 0;      ///< bytes in memory; 0 where /proc is not
  std::int64_t threads = 0;       ///< of the process; 0 where /proc is not
};

Held held();

}  // namespace detgemm::soak

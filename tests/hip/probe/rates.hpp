// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

/// What the kernels of rates.hip and the program that launches them share.
namespace detgemm::test {

inline constexpr std::uint32_t kReads = 64;      ///< per pass
inline constexpr int kPasses = 3;                ///< of which the last is counted
inline constexpr std::uint32_t kShared = 16384;  ///< bytes of the table that are in shared memory
inline constexpr std::uint32_t kIdle = ~0U;      ///< the offset of a lane that does not read

struct RateArguments {
  const char* from;              ///< the table
  const std::uint32_t* offsets;  ///< 64 bytes' numbers in it, one per lane
  std::uint32_t* sums;           ///< one per thread
  std::uint32_t* clocks;         ///< likewise
  std::uint32_t step;            ///< 0; a compiler does not know that, and reads each time
};

}  // namespace detgemm::test

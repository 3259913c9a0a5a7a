// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hip/qualifiers.hpp"

namespace detgemm::hip::gcn {

// Register vectors, of the types that the compiler's builtins take.
typedef std::uint32_t u32x2 __attribute__((ext_vector_type(2)));
typedef std::uint32_t u32x4 __attribute__((ext_vector_type(4)));
typedef short s16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));

/// 4 consecutive k of one row: what a lane supplies to an MFMA of 16-bit elements.
using Packet = u32x2;

inline constexpr int kWave = 64;

}  // namespace detgemm::hip::gcn

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "core/api/checks.hpp"
#include "detgemm/gemm_spec.hpp"

namespace detgemm {

/// ok, or the rule that the scales of both operands break: that they are there under `scaled` and
/// with line_scales and nowhere else, sizes, strides, type, pointer, alignment, overflow. `m` is
/// D's number of rows.
Status check_scales(const GemmSpec& spec, const Operands& operands, std::int64_t m);

/// Where scales that passed the check lie; empty where there are none.
Extent extent_of(const BlockScales& scales);

/// ok, or the rule that an array of blocks x leaves scales of this type breaks.
Status check_scale_array(std::string_view what, const BlockScales& scales, std::int64_t blocks,
                         std::int64_t leaves);

}  // namespace detgemm

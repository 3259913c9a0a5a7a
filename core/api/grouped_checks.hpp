// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "core/api/checks.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm {

/// Where the arrays of all groups lie; empty where a problem has none.
struct GroupExtents {
  Extent a, b, c, d, bias, offsets, scale_a, scale_b;
};

/// `validate(spec, operands)`, which also says where everything lies.
Status check_groups(const GroupedSpec& spec, const GroupedOperands& operands, GroupExtents& at);

/// ok, or why the workspace cannot serve.
Status check_grouped_workspace(const Workspace& workspace, std::size_t needed,
                               const GroupExtents& at);

/// ok, or the first of these values of the offsets that breaks its rule.
Status check_offset_values(const GroupedSpec& spec, const GroupedOperands& operands,
                           std::span<const std::int64_t> values);

}  // namespace detgemm

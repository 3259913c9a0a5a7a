// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>

namespace detgemm::cli {

/// Bytes this process can still use: what the system calls available, or its control group's
/// limit where that is less; nothing where neither can be read.
std::optional<std::uint64_t> available_memory();

/// Throws a Refusal where `bytes` are more than that. Asked before anything is allocated, because
/// a system that overcommits grants the memory and ends the process later.
void need_memory(std::uint64_t bytes);

}  // namespace detgemm::cli

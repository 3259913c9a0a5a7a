// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// Adds to every case an arm NAME@KERNEL for each kernel that can be forced under each of its
/// contracts. B is stable where it is so in an arm of that contract. `patterns`: "all", or names in
/// which an asterisk stands for anything. Throws std::invalid_argument where a pattern fits no
/// kernel of any case.
void add_forced_arms(const Backend& backend, const std::vector<std::string>& patterns,
                     std::vector<Case>& cases);

/// Throws std::invalid_argument with the backend's sentence where a contract of a case that was put
/// together on the command line cannot be computed.
void refuse_unsupported(const Backend& backend, const std::vector<Case>& cases);

}  // namespace detgemm::bench

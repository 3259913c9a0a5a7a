// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "detgemm/contract.hpp"

namespace detgemm::cli {

/// `text` on one line without control characters, for terminals.
std::string printable(std::string_view text);
/// `text` in quotes, printable and shortened where it is very long.
std::string in_quotes(std::string_view text);

/// Numbers as the command line gives them. Each throws a Refusal that names the argument, what
/// was given and the rule.
std::int64_t parse_integer(std::string_view what, std::string_view text);
/// An integer that is not negative.
std::int64_t parse_size(std::string_view what, std::string_view text);
std::uint64_t parse_seed(std::string_view what, std::string_view text);
/// A finite number that fp32 holds.
float parse_float(std::string_view what, std::string_view text);
/// A number of host threads: 0 for all, at most 1024.
int parse_threads(std::string_view text);
/// A contract; where the '>' of its "->" is what a shell took away, the sentence says so.
Contract parse_contract(std::string_view text);
/// The name of an arithmetic alone, for example "hopper".
Arithmetic parse_arithmetic(std::string_view what, std::string_view text);

}  // namespace detgemm::cli

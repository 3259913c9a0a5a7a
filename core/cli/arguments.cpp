// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/arguments.hpp"

#include <charconv>
#include <cmath>

#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

constexpr std::size_t kMaxShown = 200;
constexpr int kMaxThreads = 1024;

[[noreturn]] void refuse_text(std::string_view what, std::string_view text, std::string_view rule) {
  refuse(std::string(what) + " is " + in_quotes(text) + ": it must be " + std::string(rule));
}

/// The whole of `text` as a number, or a Refusal.
template <class Number>
Number parse(std::string_view what, std::string_view text, std::string_view rule,
             std::string_view range) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) refuse_text(what, text, range);
  if (error != std::errc{} || end != text.data() + text.size()) refuse_text(what, text, rule);
  return value;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return shown;
}

std::string in_quotes(std::string_view text) {
  const bool cut = text.size() > kMaxShown;
  return "\"" + printable(text.substr(0, kMaxShown)) + (cut ? "...\"" : "\"");
}

std::int64_t parse_integer(std::string_view what, std::string_view text) {
  return parse<std::int64_t>(what, text, "an integer", "an integer below 2^63");
}

std::int64_t parse_size(std::string_view what, std::string_view text) {
  const std::int64_t value = parse_integer(what, text);
  if (value < 0) {
    refuse(std::string(what) + " is " + std::to_string(value) + ": it must not be negative");
  }
  return value;
}

std::uint64_t parse_seed(std::string_view what, std::string_view text) {
  constexpr std::string_view rule = "an integer between 0 and 2^64 - 1";
  return parse<std::uint64_t>(what, text, rule, rule);
}

float parse_float(std::string_view what, std::string_view text) {
  constexpr std::string_view rule = "a finite number that fp32 can hold";
  const auto value = parse<float>(what, text, rule, rule);
  if (!std::isfinite(value)) refuse_text(what, text, rule);
  return value;
}

int parse_threads(std::string_view text) {
  const std::int64_t threads = parse_integer("threads", text);
  if (threads < 0 || threads > kMaxThreads) {
    refuse("threads is " + std::to_string(threads) + ": it must be 0 (all) or between 1 and " +
           std::to_string(kMaxThreads));
  }
  return static_cast<int>(threads);
}

Contract parse_contract(std::string_view text) {
  auto contract = Contract::parse(text);
  if (contract || !text.ends_with('-')) return need(std::move(contract));
  throw Refusal(
      Status{contract.status().code(),
             contract.status().message() +
                 " (quote it: a shell writes the output to a file after a '>' that is not "
                 "quoted)"});
}

Arithmetic parse_arithmetic(std::string_view what, std::string_view text) {
  std::string known;
  for (Arithmetic arithmetic : arithmetics()) {
    if (text == name(arithmetic)) return arithmetic;
    known += (known.empty() ? "" : ", ") + std::string(name(arithmetic));
  }
  throw Refusal(Status{Errc::not_found, std::string(what) + " is " + in_quotes(text) +
                                            ": it must be one of " + known});
}

}  // namespace detgemm::cli

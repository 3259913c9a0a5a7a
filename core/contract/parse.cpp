// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "core/contract/near_miss.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/contract.hpp"

namespace detgemm {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Cuts `text` at the first `mark`; the rest is empty if there is none.
std::string_view cut(std::string_view& text, std::string_view mark, bool& found) {
  const std::size_t at = text.find(mark);
  found = at != std::string_view::npos;
  const std::string_view rest = found ? text.substr(at + mark.size()) : std::string_view{};
  text = text.substr(0, at);
  return rest;
}

template <class Int>
bool parse_int(std::string_view text, Int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

Result<Arithmetic> parse_arithmetic(std::string_view text) {
  std::string known;
  std::vector<std::string_view> names;
  for (Arithmetic arithmetic : arithmetics()) {
    if (text == name(arithmetic)) return arithmetic;
    known += (known.empty() ? "" : ", ") + std::string(name(arithmetic));
    names.push_back(name(arithmetic));
  }
  return Status{Errc::not_found, "contract arithmetic is " + quoted(text) + ": it must be one of " +
                                     known + did_you_mean(text, names)};
}

/// The three types that a contract may round to; parse_dtype knows all that it may read.
Result<DType> parse_output(std::string_view text) {
  if (auto type = parse_dtype(text)) return type;
  const std::array outputs{name(DType::bf16), name(DType::fp16), name(DType::fp32)};
  return Status{Errc::not_found, "contract output is " + quoted(text) +
                                     ": it must be bf16, fp16 or fp32" +
                                     did_you_mean(text, outputs)};
}

Result<Reduction> parse_reduction(std::string_view text) {
  bool has_leaf = false;
  std::string_view kind = text;
  const std::string_view leaf = cut(kind, ":", has_leaf);
  Reduction reduction;
  if (kind == "chain" && !has_leaf) return reduction;
  for (const ReductionKind leaves :
       {ReductionKind::fold, ReductionKind::tree, ReductionKind::scaled}) {
    if (kind != name(leaves) || !has_leaf || !parse_int(leaf, reduction.leaf_k)) continue;
    reduction.kind = leaves;
    return reduction;
  }
  constexpr std::array kinds{ReductionKind::chain, ReductionKind::fold, ReductionKind::tree,
                             ReductionKind::scaled};
  std::vector<std::string_view> names;
  for (const ReductionKind one : kinds) names.push_back(name(one));
  // A kind that is spelt as it should be has a wrong LEAF, which the rule explains.
  const bool spelt = std::find(names.begin(), names.end(), kind) != names.end();
  return invalid("contract reduction is " + quoted(text) +
                 ": it must be chain, fold:LEAF, tree:LEAF or scaled:LEAF with LEAF an integer up "
                 "to 2^31" +
                 (spelt ? "" : did_you_mean(kind, names)));
}

}  // namespace

std::string hex(std::uint64_t digest) {
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, digest >>= 4) text[i] = "0123456789abcdef"[digest & 15];
  return text;
}

std::string Contract::text() const {
  std::string line = std::string(name(arithmetic)) + "/" + std::string(name(input)) + "/" +
                     std::string(name(reduction.kind));
  if (reduction.kind != ReductionKind::chain) line += ":" + std::to_string(reduction.leaf_k);
  return line + "->" + std::string(name(output));
}

Result<Contract> Contract::parse(std::string_view text) {
  const std::string_view whole = text;
  bool has_version = false;
  bool has_output = false;
  bool has_input = false;
  bool has_reduction = false;
  const std::string_view version = cut(text, "@", has_version);
  const std::string_view output = trimmed(cut(text, "->", has_output));
  std::string_view head = trimmed(text);
  std::string_view input = cut(head, "/", has_input);
  const std::string_view reduction = cut(input, "/", has_reduction);
  if (!has_input || !has_reduction) {
    return invalid("contract is " + quoted(whole) +
                   ": it must read ARITHMETIC/INPUT/REDUCTION->OUTPUT, for example "
                   "hopper/bf16/tree:512->bf16");
  }
  auto arithmetic = parse_arithmetic(head);
  if (!arithmetic) return arithmetic.status();
  auto input_type = parse_dtype_of("contract input", input);
  if (!input_type) return input_type.status();
  auto parsed_reduction = parse_reduction(reduction);
  if (!parsed_reduction) return parsed_reduction.status();
  DType output_type =
      *input_type == DType::bf16 || *input_type == DType::fp16 ? *input_type : DType::fp32;
  if (has_output) {
    auto named = parse_output(output);
    if (!named) return named.status();
    output_type = *named;
  }
  auto contract = make(*arithmetic, *input_type, *parsed_reduction, output_type);
  if (contract && has_version &&
      (!parse_int(version, contract->version) || contract->version != 1)) {
    return invalid("contract version is " + quoted(version) + ": this library has version 1");
  }
  return contract;
}

}  // namespace detgemm

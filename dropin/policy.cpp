// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/policy.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace detgemm::dropin {
namespace {

constexpr std::array<std::string_view, kKinds> kKindNames{"bf16", "fp16", "fp32", "tf32"};
constexpr std::array<std::string_view, kDirections> kDirectionNames{"NN", "NT", "TN", "TT"};
constexpr std::string_view kKeys =
    "bf16, fp16, fp32, tf32 (each also with .NN, .NT, .TN or .TT), others, backend, device_reads, "
    "table, signal, log, cublas and cublaslt";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// In quotes; a control character of the file is a '?', so that no sentence steers a terminal.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    out += code < 0x20 || code == 0x7f ? '?' : c;
  }
  return out + "\"";
}

template <std::size_t N>
int index_of(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto at = std::find(names.begin(), names.end(), text);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

/// One of two words, or a fault.
std::string either(std::string_view key, std::string_view value, std::string_view no,
                   std::string_view yes, bool& out) {
  if (value != no && value != yes) {
    return std::string(key) + " is " + quoted(value) + ": it must be " + std::string(no) + " or " +
           std::string(yes);
  }
  out = value == yes;
  return {};
}

/// The choice that a value of a kind names, or a fault.
std::string parse_choice(std::string_view key, Kind kind, std::string_view value, Choice& out) {
  if (value == "pass") {
    out = {};
    out.pass = true;
    return {};
  }
  if (value.find("->") != std::string_view::npos) {
    return std::string(key) + " is " + quoted(value) +
           ": the output type is the call's, so leave out what follows the contract's reduction";
  }
  const auto contract = Contract::parse(value);
  if (!contract) return std::string(key) + ": " + contract.status().message();
  if (contract->reduction.kind == ReductionKind::scaled) {
    return std::string(key) + " is " + quoted(value) + ": calls of a BLAS bring no scales";
  }
  const DType input = contract->input;
  const bool fits = kind == Kind::bf16   ? input == DType::bf16
                    : kind == Kind::fp16 ? input == DType::fp16
                    : kind == Kind::fp32 ? input == DType::fp32
                                         : input == DType::fp32 || input == DType::tf32;
  if (!fits) {
    return std::string(key) + " is " + quoted(value) + ": the input of the contract is " +
           std::string(detgemm::name(input)) + ", and the calls' is " + std::string(name(kind));
  }
  out = {false, contract->arithmetic, input, contract->reduction};
  return {};
}

/// The file as it is read: what is said of a kind as a whole yields to what is said of a direction,
/// whichever comes first, and tf32 follows fp32 unless something is said of it.
struct Reading {
  Policy policy = default_policy();
  std::array<std::optional<Choice>, kKinds> whole;
  std::array<std::array<std::optional<Choice>, kDirections>, kKinds> single;
  std::set<std::string, std::less<>> seen;

  std::string set(std::string_view key, std::string_view value);
  std::string set_kind(std::string_view key, std::string_view value);
  Policy finished();
};

std::string Reading::set_kind(std::string_view key, std::string_view value) {
  const auto dot = key.find('.');
  const int kind = index_of(kKindNames, key.substr(0, dot));
  if (kind < 0) {
    return quoted(key) + " is not a key: the keys are " + std::string(kKeys);
  }
  Choice choice;
  if (auto fault = parse_choice(key, static_cast<Kind>(kind), value, choice); !fault.empty()) {
    return fault;
  }
  if (dot == std::string_view::npos) {
    whole[kind] = choice;
    return {};
  }
  const std::string letters = upper(key.substr(dot + 1));
  const int direction = index_of(kDirectionNames, letters);
  if (direction < 0) {
    return quoted(key) + " is not a key: a direction is NN, NT, TN or TT";
  }
  single[kind][direction] = choice;
  return {};
}

std::string Reading::set(std::string_view key, std::string_view value) {
  const auto dot = key.find('.');
  std::string once(key.substr(0, dot));
  if (dot != std::string_view::npos) once += upper(key.substr(dot));
  if (!seen.insert(once).second) return quoted(key) + " is set twice";
  if (value.empty()) return quoted(key) + " has no value";
  if (key == "others") return either(key, value, "pass", "refuse", policy.refuse_others);
  if (key == "device_reads") return either(key, value, "pass", "wait", policy.wait_for_reads);
  if (key == "table") return either(key, value, "none", "exit", policy.table);
  if (key == "signal") return either(key, value, "none", "USR1", policy.signal);
  if (key == "backend") {
    if (value != "cuda" && value != "hip" && value != "reference") {
      return "backend is " + quoted(value) + ": it must be cuda, hip or reference";
    }
    policy.backend = value;
    return {};
  }
  if (key == "log") return policy.log = value, std::string();
  if (key == "cublas") return policy.vendor = value, std::string();
  if (key == "cublaslt") return policy.vendor_lt = value, std::string();
  return set_kind(key, value);
}

Policy Reading::finished() {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int direction = 0; direction < kDirections; ++direction) {
      Choice& choice = policy.choices[kind][direction];
      if (kind == static_cast<int>(Kind::tf32)) {
        choice = policy.choices[static_cast<int>(Kind::fp32)][direction];
      }
      if (whole[kind]) choice = *whole[kind];
      if (single[kind][direction]) choice = *single[kind][direction];
    }
  }
  return policy;
}

}  // namespace

std::string_view name(Kind kind) noexcept { return kKindNames[static_cast<std::size_t>(kind)]; }
std::string_view name(Direction direction) noexcept {
  return kDirectionNames[static_cast<std::size_t>(direction)];
}

std::optional<Contract> Policy::contract(Kind kind, Direction direction, DType output) const {
  const Choice& choice =
      choices[static_cast<std::size_t>(kind)][static_cast<std::size_t>(direction)];
  if (choice.pass) return {};
  const auto made = Contract::make(choice.arithmetic, choice.input, choice.reduction, output);
  if (!made) return {};
  return *made;
}

Policy default_policy() {
  Policy policy;
  for (int direction = 0; direction < kDirections; ++direction) {
    policy.choices[0][direction] = {false, Arithmetic::hopper, DType::bf16, {}};
    policy.choices[1][direction] = {false, Arithmetic::hopper, DType::fp16, {}};
    policy.choices[2][direction] = {false, Arithmetic::ieee_fma, DType::fp32, {}};
    policy.choices[3][direction] = {false, Arithmetic::ieee_fma, DType::fp32, {}};
  }
  return policy;
}

Policy parse_policy(std::string_view text, std::string_view where,
                    std::vector<std::string>& faults) {
  Reading reading;
  int number = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto equals = line.find('=');
    std::string fault =
        equals == std::string_view::npos
            ? quoted(line) + " has no '=': a line reads KEY = VALUE, and # begins a comment"
            : reading.set(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    if (!fault.empty()) {
      faults.push_back(std::string(where) + ":" + std::to_string(number) + ": " + fault);
    }
  }
  return reading.finished();
}

}  // namespace detgemm::dropin

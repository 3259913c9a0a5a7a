// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <string>

#include "core/contract/near_miss.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/contract.hpp"

namespace detgemm {
namespace {

template <class E, std::size_t N>
constexpr std::string_view pick(const std::array<std::string_view, N>& names, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : std::string_view("unknown");
}

constexpr std::array<std::string_view, 6> kTypes{"bf16", "fp16", "fp32", "tf32", "e4m3", "e5m2"};
constexpr std::array<std::string_view, 5> kActivations{"none", "relu", "gelu", "gelu_tanh", "silu"};
constexpr std::array<std::string_view, 3> kStable{"none", "a", "b"};
constexpr std::array<std::string_view, 8> kArithmeticNames{
    "ieee_fma", "hopper", "ampere", "blackwell", "cdna3", "cdna2", "snap", "snap3"};
constexpr std::array<std::string_view, 8> kEvidence{
    "IEEE 754 fp32 fused multiply-add, k ascending",
    "measured on an NVIDIA H200",
    "published model of NVIDIA A100, not run on that hardware here",
    "published model of NVIDIA Blackwell (tcgen05), equal to hopper for bf16, fp16 and tf32, not "
    "run "
    "on that hardware here",
    "published model, not run on AMD hardware",
    "published model, not run on AMD hardware",
    "exact sums of operands rounded to a grid, which every unit that accumulates in fp32 returns",
    "three sums of snap per leaf, for operands in two parts: the same on every unit, near fp32"};
constexpr std::array<std::string_view, 8> kCodes{
    "ok", "invalid_argument", "unsupported", "not_found", "unavailable", "io", "internal", "peer"};

/// Finds `text` among the names; the index is the enumeration's value.
template <class E, std::size_t N>
Result<E> find(std::string_view what, const std::array<std::string_view, N>& names,
               std::string_view text) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<E>(i);
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return Status{Errc::not_found, std::string(what) + " is " + quoted(text) +
                                     ": it must be one of " + known + did_you_mean(text, names)};
}

}  // namespace

std::string_view name(DType type) noexcept { return pick(kTypes, type); }
std::string_view name(Activation activation) noexcept { return pick(kActivations, activation); }
std::string_view name(Stable stable) noexcept { return pick(kStable, stable); }
std::string_view name(Arithmetic arithmetic) noexcept { return pick(kArithmeticNames, arithmetic); }
std::string_view name(Errc code) noexcept { return pick(kCodes, code); }
std::string_view name(Op op) noexcept {
  return pick(std::array<std::string_view, 2>{"none", "transpose"}, op);
}
std::string_view name(DeviceKind kind) noexcept {
  return pick(std::array<std::string_view, 3>{"host", "cuda", "hip"}, kind);
}
std::string_view name(ReductionKind kind) noexcept {
  return pick(std::array<std::string_view, 4>{"chain", "fold", "tree", "scaled"}, kind);
}
std::string_view evidence(Arithmetic arithmetic) noexcept { return pick(kEvidence, arithmetic); }

std::size_t size_of(DType type) noexcept {
  constexpr std::array<std::size_t, 6> sizes{2, 2, 4, 4, 1, 1};
  const auto index = static_cast<std::size_t>(type);
  return index < sizes.size() ? sizes[index] : 0;
}

Result<DType> parse_dtype_of(std::string_view what, std::string_view text) {
  return find<DType>(what, kTypes, text);
}
Result<DType> parse_dtype(std::string_view text) { return parse_dtype_of("dtype", text); }
Result<Activation> parse_activation(std::string_view text) {
  return find<Activation>("activation", kActivations, text);
}
Result<Stable> parse_stable(std::string_view text) { return find<Stable>("stable", kStable, text); }

}  // namespace detgemm

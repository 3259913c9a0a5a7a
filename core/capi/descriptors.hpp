// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string_view>

#include "detgemm/detgemm.h"
#include "detgemm/status.hpp"

namespace detgemm::capi {

/// What this library knows about a struct of the C interface. `min_size` bytes hold the fields
/// without which it says nothing; a caller's struct may end anywhere from there on.
template <class T>
struct Descriptor {
  static constexpr std::size_t min_size = sizeof(T);
};
template <>
struct Descriptor<detgemm_gemm_spec_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_gemm_spec_t, op_b);
};
template <>
struct Descriptor<detgemm_gemm_options_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_gemm_options_t, op_b);
};
template <>
struct Descriptor<detgemm_plan_options_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_plan_options_t, variant);
};
template <>
struct Descriptor<detgemm_operands_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_operands_t, c);
};

/// Every field at its documented default.
template <class T>
T defaults();

/// ok, or the rule that a struct_size breaks.
Status check_size(std::string_view what, std::size_t size, std::size_t min_size,
                  std::size_t alignment);
/// The caller's struct_size, or the rule it or the struct's tail breaks.
Result<std::size_t> struct_size(std::string_view what, const void* from, std::size_t known,
                                std::size_t min_size, std::size_t alignment);
/// Copies what the caller's struct and ours share, struct_size apart.
void copy_fields(void* to, const void* from, std::size_t bytes);

/// The caller's struct, with defaults for the fields it lacks.
template <class T>
Result<T> read(std::string_view what, const T* given) {
  auto size = struct_size(what, given, sizeof(T), Descriptor<T>::min_size, alignof(T));
  if (!size) return size.status();
  T ours = defaults<T>();
  copy_fields(&ours, given, *size < sizeof(T) ? *size : sizeof(T));
  return ours;
}

/// Fills the fields that the caller's struct has.
template <class T>
Status write(std::string_view what, const T& ours, T* given) {
  auto size = struct_size(what, given, sizeof(T), Descriptor<T>::min_size, alignof(T));
  if (!size) return size.status();
  copy_fields(given, &ours, *size < sizeof(T) ? *size : sizeof(T));
  return {};
}

}  // namespace detgemm::capi

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "core/capi/error.hpp"
#include "detgemm/detgemm.h"
#include "detgemm/status.hpp"

namespace detgemm::capi {

// Marked with DETGEMM_API: what the C interface of clusters, a library of its own, shares.

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
template <>
DETGEMM_API detgemm_stream_t defaults();
template <>
DETGEMM_API detgemm_run_info_t defaults();

/// ok, or the rule that a struct_size breaks.
DETGEMM_API Status check_size(std::string_view what, std::size_t size, std::size_t min_size,
                              std::size_t alignment);
/// The caller's struct_size, or the rule it or the struct's tail breaks.
DETGEMM_API Result<std::size_t> struct_size(std::string_view what, const void* from,
                                            std::size_t known, std::size_t min_size,
                                            std::size_t alignment);
/// Copies what the caller's struct and ours share, struct_size apart.
DETGEMM_API void copy_fields(void* to, const void* from, std::size_t bytes);

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

/// The body of an init function: writes `given` bytes and no more, since the caller's header
/// decides how long its struct is.
template <class T>
detgemm_status_t init(const char* what, T* to, std::size_t given) {
  return guarded([&]() -> Status {
    if (to == nullptr) return null_argument(what, "a struct to fill");
    if (Status s = check_size("", given, Descriptor<T>::min_size, alignof(T)); !s) return s;
    const T ours = defaults<T>();
    std::memset(static_cast<void*>(to), 0, given);
    copy_fields(to, &ours, given < sizeof(T) ? given : sizeof(T));
    to->struct_size = static_cast<std::uint32_t>(given);
    return {};
  });
}

}  // namespace detgemm::capi

/// Defines detgemm_NAME_init(ARGUMENT, struct_size) and the defaults behind it: zeros, and what the
/// statements that follow ARGUMENT set in `ours`. Used outside of namespaces, before the struct is
/// read.
#define DETGEMM_STRUCT(NAME, ARGUMENT, ...)                                                  \
  template <>                                                                                \
  detgemm_##NAME##_t detgemm::capi::defaults() {                                             \
    detgemm_##NAME##_t ours{};                                                               \
    ours.struct_size = sizeof ours;                                                          \
    __VA_ARGS__;                                                                             \
    return ours;                                                                             \
  }                                                                                          \
  detgemm_status_t detgemm_##NAME##_init(detgemm_##NAME##_t* ARGUMENT, size_t struct_size) { \
    return detgemm::capi::init(#ARGUMENT, ARGUMENT, struct_size);                            \
  }

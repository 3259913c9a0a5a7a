// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/descriptors.hpp"

#include <cstring>
#include <string>

#include "core/capi/error.hpp"

namespace detgemm::capi {
namespace {

/// No struct of a later library is longer; a larger number is memory that was never initialised,
/// and a search for zeros that far out would leave the caller's memory.
constexpr std::size_t kMaxStructSize = 4096;

std::uint32_t size_field(const void* given) {
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  return size;
}

}  // namespace

Status check_size(std::string_view what, std::size_t size, std::size_t min_size,
                  std::size_t alignment) {
  if (size >= min_size && size <= kMaxStructSize && size % alignment == 0) return {};
  return invalid(std::string(what) + "struct_size is " + std::to_string(size) +
                 ": it must be the size of the struct, a multiple of " + std::to_string(alignment) +
                 " from " + std::to_string(min_size) + " to " + std::to_string(kMaxStructSize));
}

Result<std::size_t> struct_size(std::string_view what, const void* from, std::size_t known,
                                std::size_t min_size, std::size_t alignment) {
  if (from == nullptr) return null_argument(what, "an initialised struct");
  const std::size_t size = size_field(from);
  if (Status s = check_size(std::string(what) + ".", size, min_size, alignment); !s) return s;
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (std::size_t i = known; i < size; ++i) {
    if (bytes[i] != 0) {
      return invalid(std::string(what) + ".struct_size is " + std::to_string(size) +
                     ": this library's struct has " + std::to_string(known) + " bytes, and byte " +
                     std::to_string(i) + " beyond them is not 0");
    }
  }
  return size;
}

void copy_fields(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t first = sizeof(std::uint32_t);
  std::memcpy(static_cast<unsigned char*>(to) + first,
              static_cast<const unsigned char*>(from) + first, bytes - first);
}

}  // namespace detgemm::capi

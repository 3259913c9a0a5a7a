// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/text.hpp"

#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "core/capi/error.hpp"

namespace detgemm::capi {

Status give_text(std::string_view text, char* buffer, size_t size, size_t* needed) {
  const std::size_t bytes = text.size() + 1;
  if (buffer == nullptr && size != 0) {
    return invalid("buffer is null: size is " + std::to_string(size) +
                   ", and only size 0 may have no buffer");
  }
  if (buffer == nullptr && needed == nullptr) {
    return invalid("buffer and needed are null: one of them must not be");
  }
  if (needed != nullptr) *needed = bytes;
  if (buffer == nullptr) return {};
  if (size < bytes) {
    return invalid("size is " + std::to_string(size) + ": the text needs " + std::to_string(bytes) +
                   " bytes, the final 0 included");
  }
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = 0;
  return {};
}

const char* interned(std::string_view text) noexcept {
  try {
    static std::mutex mutex;
    // Never destroyed, so that a name outlives every static that holds it.
    static auto* pool = new std::set<std::string, std::less<>>;
    const std::lock_guard lock(mutex);
    const auto known = pool->find(text);
    return (known != pool->end() ? known : pool->emplace(text).first)->c_str();
  } catch (...) {
    return "out of memory";
  }
}

}  // namespace detgemm::capi

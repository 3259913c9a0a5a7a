// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cstring>

#include "detgemm/export.hpp"
#include "dropin/counts.hpp"
#include "dropin/state.hpp"

extern "C" {

/// Takes a configuration file's text in place of the one that was read at the start, and forgets
/// what was counted. 0 if it is well formed; otherwise 1, nothing has changed, and the first fault
/// is in `sentence`, cut at `size` bytes. No product may run meanwhile.
DETGEMM_API int detgemm_preload_configure(const char* text, char* sentence, std::size_t size) {
  std::vector<std::string> faults;
  if (detgemm::dropin::set_policy(text, faults)) return 0;
  if (size > 0) {
    std::strncpy(sentence, faults.front().c_str(), size - 1);
    sentence[size - 1] = '\0';
  }
  return 1;
}

/// Writes the table of calls to a file descriptor.
DETGEMM_API void detgemm_preload_table(int descriptor) { detgemm::dropin::write_table(descriptor); }

}  // extern "C"

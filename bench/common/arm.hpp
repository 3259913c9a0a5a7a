// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm::bench {

/// One way to compute a problem. `enqueue` puts call number `call` on the stream, on the buffers
/// Buffers::at gives for that number; on a GPU it must be capturable.
struct Arm {
  std::string name;
  std::function<Status(Stream, int call)> enqueue;
  std::string detail{};   ///< what runs, in one line
  std::int64_t d_size{};  ///< bytes per element of D; 0: the problem's
};

/// A benchmark that met an error has no result: it ends, or leaves the arm out with a note.
inline void check(const Status& status, const std::string& what) {
  if (!status) throw std::runtime_error(what + ": " + status.message());
}

}  // namespace detgemm::bench

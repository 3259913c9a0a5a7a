// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace detgemm::dropin {

/// What became of a call.
enum class Fate : int {
  taken = 0,    ///< computed under a contract
  passed = 1,   ///< computed by the vendor
  refused = 2,  ///< not computed: the configuration says so
  invalid = 3,  ///< not computed: an argument breaks a rule of the vendor's
  failed = 4,   ///< begun and not finished
};

/// One call as the table and the log see it. M, N and K are those of the row-major product: M rows
/// that may ride in any batch.
struct Event {
  const char* function = "";   ///< a literal; its address serves as its name
  const char* direction = "";  ///< "TN" or the like; "" where it is not known
  std::int64_t m = -1;         ///< -1 where it is not known
  std::int64_t n = -1;
  std::int64_t k = -1;
  std::int64_t batch = 1;
  std::string_view contract;  ///< its text; empty unless taken
  std::string_view kernel;    ///< what ran; empty unless taken
  std::string_view why;       ///< a sentence; empty if taken
  Fate fate = Fate::taken;
};

/// Adds one call to its row of the table, and to the log if there is one. Callable from any thread.
/// True where this is the first call of its row.
bool count(const Event& event);

/// Writes the table to a file descriptor if there is a call in it. Uses nothing that a signal
/// handler may not use.
void write_table(int descriptor) noexcept;

/// Opens the log, appending; false where it cannot be opened (errno says why).
bool open_log(const std::string& path);

/// In a child process: nothing has been counted yet. Locks are the caller's.
void forget_counts() noexcept;
/// Around a fork: nobody is in the middle of adding a row.
void lock_counts() noexcept;
void unlock_counts() noexcept;

/// "M=1", "M 2-16", "M 17-128", "M 129-1024", "M >1024", "M=0"; "" for -1.
const char* shape_class(std::int64_t m) noexcept;

}  // namespace detgemm::dropin

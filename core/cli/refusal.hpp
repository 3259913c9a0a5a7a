// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "detgemm/status.hpp"

namespace detgemm::cli {

/// What the command's exit code says, in every subcommand.
enum Exit : int {
  kOk = 0,          ///< done, and what was checked holds
  kFailed = 1,      ///< tried and failed: a mismatch, an exhausted resource, a defect, lost output
  kUsage = 2,       ///< a wrong argument, name or file
  kNothingRan = 3,  ///< nothing to do, or no backend here does it
  kInterrupted = 130,  ///< ended by Ctrl-C, as a shell counts it
};

/// The exit code that belongs to a refusal of the library.
inline Exit exit_of(Errc code) {
  switch (code) {
    case Errc::ok:
      return kOk;
    case Errc::invalid_argument:
    case Errc::not_found:
    case Errc::io:
      return kUsage;
    case Errc::unsupported:
    case Errc::unavailable:
      return kNothingRan;
    case Errc::internal:
    case Errc::peer:
      return kFailed;
  }
  return kFailed;
}

/// Thrown where a subcommand cannot go on; becomes one sentence and an exit code.
class Refusal : public std::runtime_error {
 public:
  explicit Refusal(const Status& status) : Refusal(status, exit_of(status.code())) {}
  Refusal(const Status& status, Exit exit)
      : std::runtime_error(status.message()), code_(status.code()), exit_(exit) {}

  Errc code() const noexcept { return code_; }
  Exit exit() const noexcept { return exit_; }
  Status status() const { return {code_, what()}; }

 private:
  Errc code_;
  Exit exit_;
};

/// The value, or a Refusal with the library's sentence.
template <class T>
T need(Result<T> result) {
  if (!result) throw Refusal(result.status());
  return std::move(result).value();
}
inline void need(const Status& status) {
  if (!status) throw Refusal(status);
}

[[noreturn]] inline void refuse(std::string sentence) {
  throw Refusal(invalid(std::move(sentence)));
}

}  // namespace detgemm::cli

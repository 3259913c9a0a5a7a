// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#if __cplusplus < 202002L
#error \
    "detgemm's C++ headers need C++20: compile with -std=c++20, or use the C interface, detgemm.h"
#endif

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "detgemm/export.hpp"

namespace detgemm {

/// Why a call was refused. Every refusal also carries a sentence; see `Status::message`.
enum class Errc : std::int32_t {
  ok = 0,
  invalid_argument = 1,  ///< an argument breaks a rule that holds for every backend
  unsupported = 2,       ///< valid, but this backend does not compute it
  not_found = 3,         ///< an unknown name
  unavailable = 4,       ///< the backend cannot run here or now (no device, not initialised)
  io = 5,                ///< a file could not be read or written
  internal = 6,          ///< a defect or an exhausted resource; nothing was promised
  peer = 7,              ///< another rank failed, disagrees or is late (detgemm/cluster.hpp)
};

/// The lower-case name of a code, for example "invalid_argument".
DETGEMM_API std::string_view name(Errc code) noexcept;

/// Success, or a code and a sentence that names the argument, its value and the rule.
/// A call that returns anything but ok has written nothing and enqueued nothing, unless its code is
/// `internal` or `peer`.
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// A refusal and its sentence.
  Status(Errc code, std::string message) : code_(code), message_(std::move(message)) {}

  /// Whether the call succeeded.
  bool ok() const noexcept { return code_ == Errc::ok; }
  /// The same, for conditions.
  explicit operator bool() const noexcept { return ok(); }
  /// Why not; `ok` after a success.
  Errc code() const noexcept { return code_; }
  /// The sentence: the argument, its value and the rule. Empty after a success.
  const std::string& message() const noexcept { return message_; }

 private:
  Errc code_ = Errc::ok;
  std::string message_;
};

/// A refusal with the code `invalid_argument`.
inline Status invalid(std::string sentence) {
  return {Errc::invalid_argument, std::move(sentence)};
}
/// A refusal with the code `unsupported`.
inline Status unsupported(std::string sentence) { return {Errc::unsupported, std::move(sentence)}; }

/// A value, or the Status with the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  /// A success.
  Result(T value) : state_(std::move(value)) {}  // NOLINT: implicit by design
  /// A refusal; `status` must not be ok.
  Result(Status status) : state_(std::move(status)) {}  // NOLINT: implicit by design

  /// Whether there is a value.
  bool ok() const noexcept { return state_.index() == 0; }
  /// The same, for conditions.
  explicit operator bool() const noexcept { return ok(); }
  /// The reason for the refusal; ok when there is a value.
  Status status() const { return ok() ? Status{} : std::get<1>(state_); }
  /// The value. Without one this throws std::bad_variant_access: check `ok` first.
  T& value() & { return std::get<0>(state_); }
  /// The same, read-only.
  const T& value() const& { return std::get<0>(state_); }
  /// The value, moved out of a temporary.
  T&& value() && { return std::get<0>(std::move(state_)); }
  /// The same of a constant one.
  const T&& value() const&& { return std::get<0>(std::move(state_)); }
  /// The value, as by `value`.
  T& operator*() & { return value(); }
  /// The value, as by `value`.
  const T& operator*() const& { return value(); }
  /// The value, moved out of a temporary, as by `value`.
  T&& operator*() && { return std::move(*this).value(); }
  /// The same of a constant one.
  const T&& operator*() const&& { return std::move(*this).value(); }
  /// The value's members, as by `value`.
  T* operator->() { return &value(); }
  /// The value's members, as by `value`.
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace detgemm

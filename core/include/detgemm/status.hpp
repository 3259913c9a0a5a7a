// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

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
};

/// The lower-case name of a code, for example "invalid_argument".
DETGEMM_API std::string_view name(Errc code) noexcept;

/// Success, or a code and a sentence that names the argument, its value and the rule.
/// A call that returns anything but ok has written nothing and enqueued nothing, unless its code is
/// `internal`.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Errc code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == Errc::ok; }
  explicit operator bool() const noexcept { return ok(); }
  Errc code() const noexcept { return code_; }
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

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : state_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// The reason for the refusal; ok when there is a value.
  Status status() const { return ok() ? Status{} : std::get<1>(state_); }
  /// The value. Without one this throws std::bad_variant_access: check `ok` first.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace detgemm

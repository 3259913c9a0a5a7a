// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/error.hpp"

#include <string>

namespace detgemm::capi {
namespace {

struct LastError {
  std::string text;
  const char* shown = "";
};
thread_local LastError last_error;

}  // namespace

detgemm_status_t remember(Errc code, std::string_view sentence) noexcept {
  if (code == Errc::ok) return DETGEMM_OK;
  try {
    last_error.text = sentence;
    last_error.shown = last_error.text.c_str();
  } catch (...) {
    last_error.shown = "out of memory";
  }
  return static_cast<detgemm_status_t>(code);
}

detgemm_status_t remember(const Status& status) noexcept {
  return remember(status.code(), status.message());
}

Status null_argument(std::string_view what, std::string_view rule) {
  return invalid(std::string(what) + " is null: it must point to " + std::string(rule));
}

}  // namespace detgemm::capi

const char* detgemm_last_error(void) { return detgemm::capi::last_error.shown; }

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "detgemm/detgemm.h"
#include "detgemm/status.hpp"

namespace detgemm::capi {

/// Keeps a refusal's sentence for detgemm_last_error and returns the code. Never throws: where
/// memory for the sentence is short, a shorter one stands in.
DETGEMM_API detgemm_status_t remember(const Status& status) noexcept;
DETGEMM_API detgemm_status_t remember(Errc code, std::string_view sentence) noexcept;

/// Runs the body of an entry point; whatever it throws becomes a code and a sentence.
template <class Body>
detgemm_status_t guarded(Body&& body) noexcept {
  try {
    return remember(body());
  } catch (const std::bad_alloc&) {
    return remember(Errc::internal, "out of memory");
  } catch (const std::exception& error) {
    return remember(Errc::internal, error.what());
  } catch (...) {
    return remember(Errc::internal, "an exception of unknown type was thrown");
  }
}

/// The sentence for a NULL argument; `rule` says what it is for.
DETGEMM_API Status null_argument(std::string_view what, std::string_view rule);

}  // namespace detgemm::capi

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/tuning.hpp"

#include "core/capi/error.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/text.hpp"
#include "detgemm/detgemm_tuning.h"

using namespace detgemm;
using namespace detgemm::capi;

namespace {

/// The part that parse and load share.
template <class Read>
detgemm_status_t give(const detgemm_backend_t* backend, const char* what, const char* text,
                      detgemm_tuning_t** tuning, const Read& read) {
  return guarded([&]() -> Status {
    if (tuning == nullptr) return null_argument("tuning", "a place for the answer");
    *tuning = nullptr;
    if (Status s = check(backend); !s) return s;
    if (text == nullptr) return null_argument(what, "text that ends in 0");
    auto made = read(backend_of(backend), text);
    if (!made) return made.status();
    *tuning = new detgemm_tuning_t{std::move(*made)};
    return {};
  });
}

}  // namespace

detgemm_status_t detgemm_tuning_parse(const detgemm_backend_t* backend, const char* text,
                                      detgemm_tuning_t** tuning) {
  return give(backend, "text", text, tuning,
              [](const Backend& b, const char* t) { return Tuning::parse(b, t); });
}

detgemm_status_t detgemm_tuning_load(const detgemm_backend_t* backend, const char* path,
                                     detgemm_tuning_t** tuning) {
  return give(backend, "path", path, tuning,
              [](const Backend& b, const char* t) { return Tuning::load(b, t); });
}

void detgemm_tuning_destroy(detgemm_tuning_t* tuning) {
  if (tuning == nullptr) return;
  if (guarded([&] { return check(tuning); }) == DETGEMM_OK) delete tuning;
}

detgemm_status_t detgemm_tuning_use(const detgemm_tuning_t* tuning) {
  return guarded([&]() -> Status {
    if (tuning == nullptr) {
      use_tuning(nullptr);
      return {};
    }
    if (Status s = check(tuning); !s) return s;
    use_tuning(tuning->tuning);
    return {};
  });
}

detgemm_status_t detgemm_tuning_text(const detgemm_tuning_t* tuning, char* buffer, size_t size,
                                     size_t* needed) {
  return guarded([&]() -> Status {
    if (Status s = check(tuning); !s) return s;
    return give_text(tuning->tuning->text(), buffer, size, needed);
  });
}

// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/c_backend.h"

#include "backends/skeleton/skeleton.hpp"
#include "core/capi/handles.hpp"
#include "tests/support/scratch_backend.hpp"

const detgemm_backend_t* skeleton_for_c(void) {
  return detgemm::capi::handle_of(&detgemm::skeleton_backend());
}

const detgemm_backend_t* scratch_for_c(void) {
  return detgemm::capi::handle_of(&detgemm::scratch_backend());
}

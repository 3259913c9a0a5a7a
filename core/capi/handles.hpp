// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"
#include "detgemm/detgemm.h"
#include "detgemm/plan.hpp"

/// What is behind the C interface's opaque plan; the C structs are what its accessors point to.
struct detgemm_plan_t {
  detgemm::Plan plan;
  detgemm_contract_t contract;
};

namespace detgemm::capi {

/// A backend's handle is its address.
inline const Backend& backend_of(const detgemm_backend_t* handle) {
  return *reinterpret_cast<const Backend*>(handle);
}
inline const detgemm_backend_t* handle_of(const Backend* backend) {
  return reinterpret_cast<const detgemm_backend_t*>(backend);
}

}  // namespace detgemm::capi

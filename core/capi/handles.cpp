// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/handles.hpp"

#include "core/capi/error.hpp"

namespace detgemm::capi {

Status check(const detgemm_backend_t* handle) {
  if (handle == nullptr) return null_argument("backend", "a backend");
  if (Backend::is_at(handle)) return {};
  return invalid(
      "backend is not a backend's handle: it must be a result of detgemm_backend_at, "
      "detgemm_backend_find or detgemm_plan_backend");
}

Status check(const detgemm_plan_t* handle) {
  if (handle == nullptr) return null_argument("plan", "a plan");
  if (handle->magic == detgemm_plan_t::kMagic) return {};
  return invalid(
      "plan is not a plan's handle: it must be a result of detgemm_plan_create that "
      "detgemm_plan_destroy has not destroyed");
}

Status check(const detgemm_tuning_t* handle) {
  if (handle == nullptr) return null_argument("tuning", "a tuning");
  if (handle->magic == detgemm_tuning_t::kMagic) return {};
  return invalid(
      "tuning is not a tuning's handle: it must be a result of detgemm_tuning_load or "
      "detgemm_tuning_parse that detgemm_tuning_destroy has not destroyed");
}

}  // namespace detgemm::capi

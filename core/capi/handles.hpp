// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "detgemm/backend.hpp"
#include "detgemm/detgemm.h"
#include "detgemm/detgemm_tuning.h"
#include "detgemm/plan.hpp"
#include "detgemm/status.hpp"
#include "detgemm/tuning.hpp"

/// What is behind the C interface's opaque tuning.
struct detgemm_tuning_t {
  static constexpr std::uint64_t kMagic = 0x656e75746d676564;  // "degmtune" as bytes

  explicit detgemm_tuning_t(std::shared_ptr<const detgemm::Tuning> of) : tuning(std::move(of)) {}
  detgemm_tuning_t(const detgemm_tuning_t&) = delete;
  detgemm_tuning_t& operator=(const detgemm_tuning_t&) = delete;
  ~detgemm_tuning_t() { magic = 0; }

  volatile std::uint64_t magic = kMagic;  // as in a plan
  std::shared_ptr<const detgemm::Tuning> tuning;
};

/// What is behind the C interface's opaque plan; the C structs are what its accessors point to.
struct detgemm_plan_t {
  static constexpr std::uint64_t kMagic = 0x6e616c706d676564;  // "degmplan" as bytes

  detgemm_plan_t(detgemm::Plan made, const detgemm_contract_t& of)
      : plan(std::move(made)), contract(of) {
    if (plan.options().tuning != nullptr) tuning.emplace(plan.options().tuning);
  }
  detgemm_plan_t(const detgemm_plan_t&) = delete;
  detgemm_plan_t& operator=(const detgemm_plan_t&) = delete;
  ~detgemm_plan_t() { magic = 0; }

  volatile std::uint64_t magic = kMagic;  // first; volatile, so that its last write stays
  detgemm::Plan plan;
  detgemm_contract_t contract;
  std::optional<detgemm_tuning_t> tuning{};  // for detgemm_plan_options
};

namespace detgemm::capi {

/// ok, or why a handle cannot be one that this interface gave out: null, garbage, destroyed. The
/// memory behind a plan is read, so a pointer to nowhere still faults.
DETGEMM_API Status check(const detgemm_backend_t* handle);
Status check(const detgemm_plan_t* handle);
Status check(const detgemm_tuning_t* handle);

/// A backend's handle is its address.
inline const Backend& backend_of(const detgemm_backend_t* handle) {
  return *reinterpret_cast<const Backend*>(handle);
}
inline const detgemm_backend_t* handle_of(const Backend* backend) {
  return reinterpret_cast<const detgemm_backend_t*>(backend);
}

}  // namespace detgemm::capi
